/**
 * Runtimes ready to run, for the whole process: one pool of workers, each runtime loaded once and shared. A runtime
 * whose files are missing or damaged is built anew, in a worker, and written back.
 */
import { SandboxError } from '../errors.ts';
import { type BuiltGuest, type GuestAssets, loadAssets, writeGuest } from '../runtimes/assets.ts';
import type { RuntimeName } from '../schema.ts';
import { WorkerPool } from './pool.ts';

/** Longest a build may take, on a slow and busy machine. */
const BUILD_LIMIT_MS = 15 * 60_000;

let shared: WorkerPool | undefined;

export function sharedPool(): WorkerPool {
  shared ??= new WorkerPool();
  return shared;
}

const ready = new Map<RuntimeName, Promise<GuestAssets>>();

/** The runtime's assets; loaded on the first call. */
export function assetsOf(runtime: RuntimeName): Promise<GuestAssets> {
  let assets = ready.get(runtime);
  if (assets === undefined) {
    assets = loadOrBuild(runtime);
    ready.set(runtime, assets);
    // A failure is not kept: the caller may mend the installation and try again.
    assets.catch(() => ready.delete(runtime));
  }
  return assets;
}

async function loadOrBuild(runtime: RuntimeName): Promise<GuestAssets> {
  try {
    return await loadAssets(runtime);
  } catch (cause) {
    if (!(cause instanceof SandboxError)) throw cause;
    process.emitWarning(`${cause.message} Building it now; this takes some seconds.`, 'SandboxWarning');
    await build(runtime, 'rebuilt');
    return loadAssets(runtime);
  }
}

/** Builds a runtime and writes its files. `inputs` says what it was built from. */
export async function build(
  runtime: RuntimeName,
  inputs: string,
  onProgress: (step: string) => void = () => {},
): Promise<BuiltGuest> {
  const result = await sharedPool().submit({
    key: `build:${runtime}`,
    prepare: async () => ({ job: { type: 'build', runtime } }),
    onProgress,
    limitMs: BUILD_LIMIT_MS,
  });
  if (result.type !== 'built')
    throw new SandboxError('build_failed', `Building the ${runtime} guest was cut short.`);
  writeGuest(result.guest, inputs);
  return result.guest;
}
