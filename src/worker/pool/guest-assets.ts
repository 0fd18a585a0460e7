/**
 * The built guests of this process: the memory of each is shared by all threads. Images with preloaded modules or user
 * packages are built on first use and cached on disk.
 */
import { undefinedIfAborted } from '../../concurrency/until-aborted.ts';
import { IMAGE_FORMAT } from '../../engine/image-identity.ts';
import { SandboxError } from '../../errors.ts';
import { sha256Hex } from '../../framing/digest.ts';
import type { Entry } from '../../fs/flat-entries.ts';
import type { PackageFiles, UserPackages } from '../../packages/read-user-packages.ts';
import type { LibraryFile } from '../../packages/unpack-wheel.ts';
import { findAssets, type GuestAssets, type PreparedLibrary } from '../../runtimes/guest-artifacts.ts';
import type { Policy, RuntimeName } from '../../schema.ts';
import type { ExtendedImage, ExtendJob, UnsentJob } from '../protocol/messages.ts';
import { runAuxiliaryJob } from './auxiliary-jobs.ts';
import { extendAssets, readCachedImage, writeCachedImage } from './extended-image-cache.ts';
import { sharedPool, type WorkerPool } from './pool.ts';
import { adoptedAssets } from './prepare-first-job.ts';
import { cachedLibraries, preparedLibraries } from './prepared-libraries.ts';

/** Time limit of preparing libraries. */
const PREPARE_LIMIT_MS = 5 * 60_000;

const ready = new Map<RuntimeName, Promise<GuestAssets>>();

/** The assets of a runtime. Threads read and verify its files when they first run it. */
export function assetsOf(runtime: RuntimeName): Promise<GuestAssets> {
  let assets = ready.get(runtime);
  if (assets === undefined) {
    assets = (async () => adoptedAssets(runtime) ?? findAssets(runtime))();
    ready.set(runtime, assets);
    // A failure is not cached: the caller may repair the installation and try again.
    assets.catch(() => ready.delete(runtime));
  }
  return assets;
}

/** Additions to the boot image of a runtime. */
export interface ImageExtension {
  /** Modules to load into the image. */
  readonly preload: readonly string[];
  readonly packages: UserPackages | undefined;
  /** The packages of a session that has got more since its image was built. They include those of the image. */
  readonly grown?: UserPackages | undefined;
}

/** Upper bounds for the code that runs while an image is built; large enough for the largest packages. */
const EXTEND_LIMITS = { fuel_budget: 200_000_000_000, timeout_seconds: 300, memory_bytes: 2 ** 30 };
/** Extended images that the process holds; workers and sandboxes that use one hold it for longer. */
const MAX_EXTENDED = 8;

const extended = new Map<string, GuestAssets>();
const building = new Map<string, Promise<GuestAssets>>();
const CANCELLED = 'Building the image was cancelled.';

/** How to build an image that is not cached. */
interface ImageBuild {
  readonly pool: WorkerPool;
  readonly tenant: string;
  /** Limits of the preloaded modules: those of a call of the sandbox. */
  readonly limits: Pick<Policy, 'fuel_budget' | 'timeout_seconds' | 'memory_bytes'>;
  readonly signal: AbortSignal | undefined;
}

/** The assets of a runtime with additions to its image: from memory, from disk, or built now in a turn of `tenant`. */
export async function extendedAssets(
  runtime: RuntimeName,
  extension: ImageExtension | undefined,
  build: ImageBuild,
): Promise<GuestAssets> {
  const base = await assetsOf(runtime);
  if (extension === undefined) return base;
  const { grown, ...image } = extension;
  if (grown !== undefined) return withFilesOf(await extendedAssets(runtime, image, build), grown, build);
  const key = keyOf(base, extension);
  let assets = extended.get(key);
  // Sandboxes share a finished image, but not a failed build: one may have lower limits or be cancelled.
  for (let other = building.get(key); assets === undefined && other; other = building.get(key)) {
    await undefinedIfAborted(
      other.catch(() => {}),
      build.signal,
    );
    if (build.signal?.aborted) throw new SandboxError('build_failed', CANCELLED);
    assets = extended.get(key);
  }
  assets ??= await buildOnce(key, readOrExtend(base, key, extension, build));
  return hold(key, assets);
}

const keyOf = (base: GuestAssets, { preload, packages }: ImageExtension) =>
  sha256Hex(JSON.stringify([IMAGE_FORMAT, base.imageDigest, preload, packages?.sha256]));

function hold(key: string, assets: GuestAssets): GuestAssets {
  extended.delete(key);
  extended.set(key, assets);
  if (extended.size > MAX_EXTENDED) extended.delete(extended.keys().next().value!);
  return assets;
}

/** The same from memory or from disk; undefined if something has to be built. */
export async function readyAssets(
  runtime: RuntimeName,
  extension: ImageExtension | undefined,
): Promise<GuestAssets | undefined> {
  const base = await assetsOf(runtime);
  if (extension === undefined) return base;
  const key = keyOf(base, extension);
  const held = extended.get(key);
  if (held !== undefined) return hold(key, held);
  const image = await readCachedImage(key, base);
  const libraries = image && (await cachedLibraries(extension.packages?.libraries ?? [], base));
  return libraries && hold(key, extendAssets(base, image!, libraries, `${base.runtime}:${key}`));
}

/** An image with the files of other packages. */
async function withFilesOf(
  image: GuestAssets,
  packages: UserPackages,
  build: ImageBuild,
): Promise<GuestAssets> {
  const { id, layers, libraries } = await extendedAssets(image.runtime, { preload: [], packages }, build);
  return { ...image, layers, libraries, id: `${image.id}+${id}` };
}

/** Lets others wait for a build. */
async function buildOnce(key: string, build: Promise<GuestAssets>): Promise<GuestAssets> {
  building.set(key, build);
  try {
    return await build;
  } finally {
    building.delete(key);
  }
}

async function readOrExtend(
  base: GuestAssets,
  key: string,
  extension: ImageExtension,
  build: ImageBuild,
): Promise<GuestAssets> {
  const { packages, preload } = extension;
  // Reading packages takes long, so they are read only if something is not cached.
  let files: Promise<PackageFiles> | undefined;
  const load = () => {
    files ??= packages?.load() ?? Promise.resolve({ entries: [], libraries: [] });
    return files;
  };
  const libraries = await preparedLibraries(packages?.libraries ?? [], base, async (missing) =>
    prepareInThread(base, missing, await load()),
  );
  const more =
    (await readCachedImage(key, base)) ??
    (await extend(base, key, { preload, entries: (await load()).entries, libraries }, build));
  return extendAssets(base, more, libraries, `${base.runtime}:${key}`);
}

/** Always in this process: what is compiled later must not come from a process that runs guests of others. */
async function prepareInThread(
  base: GuestAssets,
  missing: readonly LibraryFile[],
  files: PackageFiles,
): Promise<readonly PreparedLibrary[]> {
  const wanted = new Set(missing.map(({ sha256 }) => sha256));
  const libraries = files.libraries.filter(({ sha256 }) => wanted.has(sha256));
  const job: UnsentJob = { type: 'prepare', image: base.id, libraries };
  const options = { key: 'prepare', limitMs: PREPARE_LIMIT_MS };
  const result = await runAuxiliaryJob(sharedPool(), job, base, options);
  if (result?.type === 'prepared') return result.libraries;
  throw new SandboxError(
    'build_failed',
    'The preparation of the libraries in the packages was interrupted. Try again.',
  );
}

/** What is added to an image. */
type ImageAdditions = Pick<ExtendJob, 'preload' | 'libraries'> & { readonly entries: readonly Entry[] };

async function extend(
  base: GuestAssets,
  key: string,
  { preload, entries, libraries }: ImageAdditions,
  { pool, tenant, limits, signal }: ImageBuild,
): Promise<ExtendedImage> {
  const preloadLimits = {
    fuel_budget: Math.min(EXTEND_LIMITS.fuel_budget, limits.fuel_budget),
    timeout_seconds: Math.min(EXTEND_LIMITS.timeout_seconds, limits.timeout_seconds),
    // Less memory than the image needs is reported when the sandbox is created.
    memory_bytes: Math.max(base.minMemoryBytes, Math.min(EXTEND_LIMITS.memory_bytes, limits.memory_bytes)),
  };
  const job: UnsentJob = {
    type: 'extend',
    image: base.id,
    packages: entries,
    libraries,
    preload,
    compileLimits: EXTEND_LIMITS,
    preloadLimits,
  };
  const compileSeconds = entries.length === 0 ? 0 : EXTEND_LIMITS.timeout_seconds;
  const options = { limitMs: (compileSeconds + preloadLimits.timeout_seconds) * 1000, signal };
  const result = await runAuxiliaryJob(pool, job, base, { ...options, key: `extend:${key}`, tenant });
  if (result?.type !== 'extended')
    throw new SandboxError(
      'build_failed',
      signal?.aborted ? CANCELLED : 'Building the image with the packages was interrupted. Try again.',
    );
  writeCachedImage(key, base, result.extended);
  return result.extended;
}
