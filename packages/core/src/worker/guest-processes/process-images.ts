/**
 * The images in which processes of other runtimes than that of the call start, and their files in the file tree of the call.
 * The main thread chooses an image that has packages. A process of the same runtime as one that it descends from starts in the
 * same image, whose files it shares.
 */
import type { HostProgram, ResolvedProgram } from '../../engine/child-program.ts';
import type { Guest } from '../../engine/guest.ts';
import type { MemoryAccount } from '../../engine/memory-account.ts';
import { sha256Hex } from '../../framing/digest.ts';
import type { BaseDirectory } from '../../fs/resolve-path.ts';
import type { Volume } from '../../fs/volume.ts';
import type { DescriptorTable } from '../../kernel/descriptors.ts';
import type { ExecRequest } from '../../kernel/processes.ts';
import type { Kernel } from '../../kernel/syscalls.ts';
import { findAssets, type GuestAssets } from '../../runtimes/artifacts/guest-artifacts.ts';
import type { Runtime } from '../../runtimes/runtime.ts';
import type { HostAnswer, ImageAnswer, ImageQuestion } from '../protocol/messages.ts';
import { GuestPool } from '../thread/guest-pool.ts';
import { type LoadedImage, loadImage } from '../thread/load-image.ts';
import { commandFiles } from './command-files.ts';

/** Asks the main thread for images; absent if processes have no added packages. */
export interface ImageFinder {
  /** Undefined if a limit of the call ends the wait. */
  ask(question: ImageQuestion): HostAnswer['image'];
  /** The assets of an image that was loaded for the thread. */
  assetsOf(id: string): GuestAssets;
  /** Ends the call, which starts again. */
  stop(): never;
  /** The answers of this call, by the digest of the question, which contains a program. */
  readonly answers: Map<string, Exclude<ImageAnswer<string>, 'restart'>>;
}

/** What is needed to find an image. */
export interface ImageContext {
  /** The image of the program of the call. */
  readonly loaded: LoadedImage;
  /** The images that the thread has loaded for calls, by id. */
  readonly loadedImages: ReadonlyMap<string, LoadedImage>;
  readonly images?: ImageFinder | undefined;
  /** The file tree of the call. */
  volume(): Volume;
}

/** The image of a process, and the packages that it does not have but that others have. */
export interface FoundImage {
  readonly image: LoadedImage;
  readonly others: readonly string[];
}

/** Layer number of the first layer of other runtimes. */
const FIRST_OTHER_LAYER = 16;

// ---- images ----

/** The images that the thread has loaded for processes, by id. */
const processImages = new Map<string, LoadedImage>();
/** Guests for processes, apart from those for calls, because they have other memory limits. */
const pools = new WeakMap<LoadedImage, GuestPool>();

/** Called when an image is not used any more. */
export const forgetProcessImage = (id: string) => void processImages.delete(id);

export function poolOf(image: LoadedImage): GuestPool {
  const pool = pools.get(image) ?? new GuestPool(image);
  pools.set(image, pool);
  return pool;
}

function processImage(id: string, context: ImageContext, find: () => GuestAssets): LoadedImage {
  const image = processImages.get(id) ?? loadImage(find(), context.loadedImages.values(), FIRST_OTHER_LAYER);
  processImages.set(id, image);
  return image;
}

/** The image of a runtime that is already in use: by the call, or by a running process. */
function imageInUse(runtime: Runtime, { loaded, volume }: ImageContext): LoadedImage | undefined {
  if (loaded.runtime === runtime) return loaded;
  return (runningImages.get(volume()) ?? []).findLast((image) => image.runtime === runtime);
}

const bootImage = (runtime: Runtime, context: ImageContext) =>
  processImage(runtime.name, context, () => findAssets(runtime.name));

/** A program that starts in an image which is found when the process starts. */
export function inImage(
  runtime: Runtime,
  context: ImageContext & { readonly cwd: BaseDirectory },
  request: ExecRequest,
  start: (found: FoundImage, memory: MemoryAccount) => ReturnType<ResolvedProgram<Guest>['start']>,
): HostProgram<Guest> {
  return {
    isNested: true,
    perform: (_, fds) => {
      const found = findImage(runtime, context, request, fds);
      return 'problem' in found
        ? { exitCode: 1, message: `${runtime.name}: ${found.problem}\n` }
        : { isNested: true, start: (memory) => start(found, memory) };
    },
  };
}

function findImage(
  runtime: Runtime,
  context: ImageContext & { readonly cwd: BaseDirectory },
  { argv }: ExecRequest,
  fds: DescriptorTable,
): FoundImage | { readonly problem: string } {
  const used = imageInUse(runtime, context);
  if (used !== undefined) return { image: used, others: [] };
  const { images } = context;
  const files = commandFiles(context.volume(), context.cwd, fds);
  const source = images && runtime.commandSource?.(argv, files);
  if (source === undefined) return { image: bootImage(runtime, context), others: [] };
  const { code, names } = source;
  const answer = askOnce(images!, { code, names });
  if (answer === undefined) return { image: bootImage(runtime, context), others: [] };
  if ('problem' in answer) return answer;
  const { image: id } = answer;
  const image =
    id === undefined ? bootImage(runtime, context) : processImage(id, context, () => images!.assetsOf(id));
  return { image, others: source.listsPackages ? answer.others : [] };
}

function askOnce(images: ImageFinder, question: ImageQuestion) {
  const key = sha256Hex(JSON.stringify(question));
  const known = images.answers.get(key);
  if (known !== undefined) return known;
  const answer = images.ask(question);
  if (answer === 'restart') return images.stop();
  if (answer !== undefined) images.answers.set(key, answer);
  return answer;
}

// ---- files ----

/** By file tree: the images whose layers it has only during a call, by runtime, and the paths that they add. */
const mountedImages = new WeakMap<Volume, Map<Runtime, { image: LoadedImage; added: readonly string[] }>>();
/** By file tree: the images of the processes that run. */
const runningImages = new WeakMap<Volume, LoadedImage[]>();

/** Makes the files of another runtime visible in the file tree of the call, in place of those of another image. */
export function mountLayers(volume: Volume, image: LoadedImage): void {
  const mounted = mountedImages.get(volume) ?? new Map();
  mountedImages.set(volume, mounted);
  const other = mounted.get(image.runtime);
  if (other?.image === image) return;
  for (const at of other?.added ?? []) volume.unmount(at);
  const added = image.layers.map(({ at }) => at).filter((at) => !volume.exists(at));
  mounted.set(image.runtime, { image, added });
  for (const { at, tree } of image.layers) volume.mount(at, tree);
}

/** Runs a process in an image. */
export function whileRunning<T>(volume: Volume, image: LoadedImage, run: () => T): T {
  const running = runningImages.get(volume) ?? [];
  runningImages.set(volume, running);
  running.push(image);
  try {
    return run();
  } finally {
    running.pop();
  }
}

/**
 * Removes the files of other runtimes from the file tree when the call has ended: the tree of a session that is restored does not
 * have them.
 */
export function unmountLayers(kernel: Kernel): void {
  const { volume } = kernel;
  for (const at of [...(mountedImages.get(volume)?.values() ?? [])].flatMap(({ added }) => added)) {
    volume.unmount(at);
    if (typeof kernel.cwd === 'string' && `${kernel.cwd}/`.startsWith(`${at}/`)) kernel.cwd = volume.home;
  }
  mountedImages.delete(volume);
}
