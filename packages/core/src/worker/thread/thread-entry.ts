/**
 * Entry point of a worker thread, the only place where guest code runs: handles the messages of the main thread, one job
 * at a time, and holds the images that the thread has loaded.
 */
import { getPriority, setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { mainSymbols } from '../../engine/compile-side-module.ts';
import { PAGE_BYTES } from '../../engine/image-identity.ts';
import { SandboxError } from '../../errors.ts';
import { FsError } from '../../fs/fs-error.ts';
import { countShared, toShared } from '../../fs/shared-array-buffers.ts';
import { protectSections } from '../../host/thread-critical-sections.ts';
import type { PackageLibrary } from '../../packages/package-set.ts';
import {
  compileModule,
  type GuestAssets,
  type PreparedLibrary,
  readModule,
  verifyModule,
} from '../../runtimes/artifacts/guest-artifacts.ts';
import { RUNTIMES } from '../../runtimes/registry/runtime-registry.ts';
import type { HostSignatures } from '../../wasm/prepare-side-module.ts';
import { forgetProcessImage } from '../guest-processes/process-images.ts';
import { assertRestricted } from '../isolation/permissions.ts';
import {
  CONTROL,
  FUEL_UNIT,
  HOST_BLOCK,
  sectionWord,
  sharedClockMs,
  type WorkerSettings,
} from '../protocol/control-block.ts';
import type { FromWorker, RunJob, ToWorker } from '../protocol/messages.ts';
import { unpackJob } from '../protocol/packed-messages.ts';
import type { SentAssets } from '../protocol/prepare-ahead.ts';
import { durations, recordStart } from '../protocol/startup-phases.ts';
import { ReceivedTrees } from '../protocol/tree-updates.ts';
import { convertPicture } from './convert-picture.ts';
import { extendImage } from './extend-image.ts';
import { HostRequests, type ImageMessage } from './host-requests.ts';
import { IdleOptimization } from './idle-optimization.ts';
import { IdleWork } from './idle-work.ts';
import type { JobCallbacks } from './job-callbacks.ts';
import { type LoadedImage, loadImage } from './load-image.ts';
import { pagesIn } from './prepare-guest.ts';
import { runJob } from './run-job.ts';
import { SessionGuests } from './session-guests.ts';

const port = parentPort!;
const settings = workerData as WorkerSettings;
if (settings.mustBeRestricted) assertRestricted('thread');
const control = new Int32Array(settings.control);
const hostBlock = new Int32Array(settings.hostBlock);
protectSections(sectionWord(control));
const send = (message: FromWorker) => port.postMessage(message);
const requests = new HostRequests(port, control, (message) => handleImage(message));
recordStart(settings.startedAt);
/** Added to the nice value of the thread. */
const NICE = 5;
// The main thread answers all clients, so it gets a core before guests do. On Linux a priority is that of one thread.
if (process.platform === 'linux' && !settings.isOneShot) lowerPriority();

/** A system call filter may forbid this; guests run anyway. */
function lowerPriority(): void {
  try {
    setPriority(Math.min(19, getPriority() + NICE));
  } catch {}
}

/**
 * What the thread can run; an image is loaded when a job first needs it, so that a failure to load it fails that job.
 */
const availableAssets = new Map<string, SentAssets>();
const loadedImages = new Map<string, LoadedImage>();
const workspaces = new ReceivedTrees();
const thread = { control, hostBlock, requests, workspaces, loadedImages, availableAssets };

function imageOf(id: string): LoadedImage {
  let loaded = loadedImages.get(id);
  if (loaded === undefined) {
    loaded = loadImage(availableAssets.get(id)!, loadedImages.values());
    loadedImages.set(id, loaded);
  }
  return loaded;
}

function handleImage(message: ImageMessage): void {
  if (message.type === 'load') availableAssets.set(message.assets.id, message.assets);
  else unload(message.image);
}

function unload(id: string): void {
  forgetProcessImage(id);
  const loaded = loadedImages.get(id);
  if (loaded !== undefined) idleWork.remove(loaded.pool);
  availableAssets.delete(id);
  loadedImages.delete(id);
}

// ---- guests ----

/** No optimisation program runs while a job runs in any thread of the host, because it would slow that job down. */
const isAnyJobActive = () => Atomics.load(hostBlock, HOST_BLOCK.activeJobs) > 0;

const idleWork = new IdleWork(
  (optimization, maxPages) => optimization.runNext(run, maxPages * PAGE_BYTES, isAnyJobActive),
  isAnyJobActive,
  (optimization) => send(optimization.report()),
);

// ---- runs ----

/** For the jobs of the main thread. */
const JOBS: JobCallbacks = { guests: new SessionGuests(), send, reportStart, reportFuel };

function run(id: number, job: RunJob, callbacks: JobCallbacks): void {
  const workspace = job.workspace && workspaces.receive(job.workspace);
  const loaded = imageOf(job.image);
  runJob(thread, { id, job, loaded, workspace }, callbacks);
  if (!settings.isOneShot) idleWork.keepFull(loaded.pool, pagesIn(job.limits.memory_bytes));
}

/** Makes the start of a run visible to the main thread, which reads it only if a run takes too long. */
function reportStart(id: number): void {
  Atomics.store(control, CONTROL.startedMs, sharedClockMs());
  Atomics.store(control, CONTROL.startedJob, id);
}

/** Makes the fuel of the current job visible to the main thread. */
function reportFuel(fuelConsumed: number): void {
  Atomics.store(control, CONTROL.fuelMillions, Math.floor(fuelConsumed / FUEL_UNIT));
}

// ---- messages ----

function optimize(image: string, memoryBytes: number): void {
  const { pool, runtime } = imageOf(image);
  idleWork.optimize(pool, new IdleOptimization(image, runtime), pagesIn(memoryBytes));
}

async function handle(message: ToWorker): Promise<void> {
  if (message.type === 'load' || message.type === 'unload') return handleImage(message);
  // The answer to a request that a limit has ended.
  if (message.type === 'answer') return;
  if (message.type === 'discard') return void workspaces.discard(message.workspace);
  if (message.type === 'warm') return imageOf(message.image).pool.refill(pagesIn(message.memoryBytes));
  if (message.type === 'optimize') return optimize(message.image, message.memoryBytes);
  const { id, job, newBuffers } = message;
  countShared(newBuffers ?? []);
  if (job.type === 'run') return run(id, unpackJob(job), JOBS);
  if (job.type === 'prepare') {
    const assets = availableAssets.get(job.image)!;
    const { signatures } = RUNTIMES[assets.runtime].linkage;
    return send({
      type: 'prepared',
      id,
      libraries: await prepareLibraries(job.libraries, assets, signatures),
    });
  }
  if (job.type === 'unpack') {
    const { unpackWheel } = await import('../../packages/unpack-wheel.ts');
    return send({ type: 'unpacked', id, unpacked: unpackWheel(job.wheel) });
  }
  if (job.type === 'phases') return send({ type: 'phases', id, durations });
  const onSlice = (fuel: number) => {
    reportFuel(fuel);
    return 0;
  };
  const context = { cancel: control, cancelValue: id, onSlice };
  if (job.type === 'picture') return send({ type: 'picture', id, picture: convertPicture(job, context) });
  send({ type: 'extended', id, extended: extendImage(imageOf(job.image), job, context) });
}

/** File-system errors are constants without a message. */
const describe = (cause: unknown) =>
  cause instanceof FsError ? `a file operation of the host failed: ${cause.code}` : String(cause);

/** Messages can quote a guest, for example the exception of a module that is preloaded. */
const MAX_FAILURE_CHARACTERS = 16 * 1024;

let currentJob = 0;

function receive(message: ToWorker): void {
  idleWork.pause();
  if (message.type === 'job') currentJob = message.id;
  handle(message)
    .catch((cause: unknown) => {
      const { code, message: text } =
        cause instanceof SandboxError ? cause : { code: 'internal', message: describe(cause) };
      send({ type: 'failed', id: currentJob, code, message: text.slice(0, MAX_FAILURE_CHARACTERS) });
    })
    .then(() => idleWork.resume());
  for (const deferred of requests.takeDeferred()) receive(deferred);
}

port.on('message', receive);

/** Rewrites and validates libraries for the main module of the guest. Runs in a worker thread. */
async function prepareLibraries(
  libraries: readonly PackageLibrary[],
  assets: GuestAssets,
  hostSignatures: HostSignatures = new Map(),
): Promise<PreparedLibrary[]> {
  const { prepareSideModule } = await import('../../wasm/prepare-side-module.ts');
  const main = readModule(assets);
  verifyModule(assets, main);
  const mainFunctions = new Set(mainSymbols(compileModule(assets, main).module).functions.keys());
  return libraries.map(({ path, sha256, bytes }) => {
    try {
      const prepared = prepareSideModule(bytes, { mainFunctions, hostSignatures });
      // Compiles lazily, but validates everything.
      new WebAssembly.Module(prepared as BufferSource);
      return { sha256, prepared: toShared(prepared) };
    } catch (cause) {
      const problem = cause instanceof Error ? cause.message : String(cause);
      throw new SandboxError('module_invalid', `packages: the library ${path} cannot be loaded. ${problem}`);
    }
  });
}
