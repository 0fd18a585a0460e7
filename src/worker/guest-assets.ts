/**
 * Runtimes ready to run, for the whole process: one pool of workers, each runtime loaded once and shared. A runtime
 * whose files are missing or damaged is built anew, in a worker, and written back.
 */

import { IMAGE_FORMAT, imageDigest } from '../engine/image-format.ts';
import { SandboxError } from '../errors.ts';
import { sha256Hex } from '../framing/digest.ts';
import type { UserPackages } from '../packages/user-packages.ts';
import { type BuiltGuest, type GuestAssets, loadAssets, writeGuest } from '../runtimes/guest-artifacts.ts';
import type { RuntimeName } from '../schema.ts';
import { readCachedImage, writeCachedImage } from './image-cache.ts';
import { WorkerPool } from './pool.ts';
import type { ExtendedImage } from './protocol.ts';

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

// ---- images with more in them ----

/** What a caller wants in a guest besides what every guest has. */
export interface ImageExtension {
  readonly preload: readonly string[];
  readonly packages: UserPackages | undefined;
}

/** For code that runs while an image is made: enough for the largest packages, not for ever. */
const EXTEND_LIMITS = { fuelBudget: 200_000_000_000, timeoutMs: 300_000, memoryBytes: 2 ** 30 };
/** Images held in memory by the process; workers and sandboxes that use one keep it beyond that. */
const EXTENDED_KEPT = 8;

const extended = new Map<string, Promise<GuestAssets>>();

/** Assets of an image with extras: from memory, from disk, or made now. */
export async function extendedAssets(runtime: RuntimeName, extras: ImageExtension): Promise<GuestAssets> {
  const base = await assetsOf(runtime);
  const facts = [IMAGE_FORMAT, imageDigest(base.image), extras.preload, extras.packages?.sha256];
  const key = sha256Hex(JSON.stringify(facts));
  let assets = extended.get(key);
  if (assets === undefined) {
    assets = readOrExtend(base, key, extras);
    assets.catch(() => extended.delete(key));
  }
  extended.delete(key);
  extended.set(key, assets);
  if (extended.size > EXTENDED_KEPT) extended.delete(extended.keys().next().value!);
  return assets;
}

async function readOrExtend(base: GuestAssets, key: string, extras: ImageExtension): Promise<GuestAssets> {
  const more = readCachedImage(key, base) ?? (await extend(base, key, extras));
  return { ...base, ...more, id: `${base.runtime}:${key}` };
}

async function extend(base: GuestAssets, key: string, extras: ImageExtension): Promise<ExtendedImage> {
  const result = await sharedPool().submit({
    key: `extend:${key}`,
    prepare: async () => ({
      assets: base,
      job: {
        type: 'extend',
        image: base.id,
        packages: extras.packages?.entries ?? [],
        preload: extras.preload,
        limits: EXTEND_LIMITS,
      },
    }),
    limitMs: EXTEND_LIMITS.timeoutMs,
  });
  if (result.type !== 'extended')
    throw new SandboxError('build_failed', 'Making an image with the packages was cut short.');
  writeCachedImage(key, base, result.extended);
  return result.extended;
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
