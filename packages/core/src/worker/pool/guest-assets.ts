/**
 * The built guests of a pool: the memory of each is shared by all threads. Images with preloaded modules or user packages are
 * built on first use and cached on disk.
 */
import { undefinedIfAborted } from '../../concurrency/cancellation.ts';
import { IMAGE_FORMAT } from '../../engine/image-identity.ts';
import { SandboxError } from '../../errors.ts';
import { sha256Hex } from '../../framing/digest.ts';
import type { Entry } from '../../fs/flat-entries.ts';
import type { PackageFiles, PackageSet } from '../../packages/package-set.ts';
import type { LibraryFile } from '../../packages/unpack-wheel.ts';
import {
  findAssets,
  type GuestAssets,
  type PreparedLibrary,
} from '../../runtimes/artifacts/guest-artifacts.ts';
import type { Policy, RuntimeName } from '../../schema.ts';
import type { ExtendedImage, ExtendJob, UnsentJob } from '../protocol/messages.ts';
import { runAuxiliaryJob } from './auxiliary-jobs.ts';
import { extendAssets, readCachedImage, writeCachedImage } from './extended-image-cache.ts';
import { cachedLibraries, preparedLibraries } from './prepared-libraries.ts';
import type { TurnSource } from './worker-turn.ts';

/** Time limit of preparing libraries. */
const PREPARE_LIMIT_MS = 5 * 60_000;

/** Additions to the boot image of a runtime. */
export interface ImageExtension {
  /** Modules to load into the image. */
  readonly preload: readonly string[];
  readonly packages: PackageSet | undefined;
}

export const isExtended = ({ preload, packages }: ImageExtension) =>
  preload.length > 0 || packages !== undefined;

/** Upper bounds for the code that runs while an image is built; large enough for the largest packages. */
const EXTEND_LIMITS = { fuel_budget: 200_000_000_000, timeout_seconds: 300, memory_bytes: 2 ** 30 };
/** Extended images that the process holds; workers and sandboxes that use one hold it for longer. */
const MAX_EXTENDED = 8;

const CANCELLED = 'Building the image was cancelled.';

/** How to build an image that is not cached. */
export interface ImageBuild {
  readonly tenant: string;
  /** Limits of the preloaded modules: those of a call of the sandbox. */
  readonly limits: Pick<Policy, 'fuel_budget' | 'timeout_seconds' | 'memory_bytes'>;
  readonly signal: AbortSignal | undefined;
}

/** What is added to an image. */
type ImageAdditions = Pick<ExtendJob, 'preload' | 'libraries'> & { readonly entries: readonly Entry[] };

const keyOf = (base: GuestAssets, { preload, packages }: ImageExtension) =>
  sha256Hex(JSON.stringify([IMAGE_FORMAT, base.imageDigest, preload, packages?.sha256]));

export class GuestImages {
  readonly #boot = new Map<RuntimeName, Promise<GuestAssets>>();
  readonly #extended = new Map<string, GuestAssets>();
  readonly #building = new Map<string, Promise<GuestAssets>>();

  constructor(
    readonly pool: TurnSource,
    /** A pool whose threads are in this process. */
    readonly local: () => TurnSource,
    /** What the first thread of the pool has received. */
    readonly received?: GuestAssets,
  ) {}

  /** The assets of a runtime. Threads read and verify its files when they first run it. */
  boot(runtime: RuntimeName): Promise<GuestAssets> {
    let assets = this.#boot.get(runtime);
    if (assets === undefined) {
      assets = (async () => (this.received?.runtime === runtime ? this.received : findAssets(runtime)))();
      this.#boot.set(runtime, assets);
      // A failure is not cached: the caller may repair the installation and try again.
      assets.catch(() => this.#boot.delete(runtime));
    }
    return assets;
  }

  /** The assets of a runtime with additions to its image: from memory, from disk, or built now in a turn of the tenant. */
  async extended(runtime: RuntimeName, extension: ImageExtension, build: ImageBuild): Promise<GuestAssets> {
    const { preload, packages } = extension;
    if (packages?.grownFrom === undefined) return this.#find(runtime, extension, build);
    const image = await this.#find(runtime, { preload, ...packages.grownFrom }, build);
    const { id, layers, libraries } = await this.#find(runtime, { preload: [], packages }, build);
    return { ...image, layers, libraries, id: `${image.id}+${id}` };
  }

  async #find(runtime: RuntimeName, extension: ImageExtension, build: ImageBuild): Promise<GuestAssets> {
    const base = await this.boot(runtime);
    if (!isExtended(extension)) return base;
    const key = keyOf(base, extension);
    let assets = this.#extended.get(key);
    // Sandboxes share a finished image, but not a failed build: one may have lower limits or be cancelled.
    for (
      let other = this.#building.get(key);
      assets === undefined && other;
      other = this.#building.get(key)
    ) {
      await undefinedIfAborted(
        other.catch(() => {}),
        build.signal,
      );
      if (build.signal?.aborted) throw new SandboxError('build_failed', CANCELLED);
      assets = this.#extended.get(key);
    }
    assets ??= await this.#buildOnce(key, this.#readOrExtend(base, key, extension, build));
    return this.#hold(key, assets);
  }

  /** The same from memory or from disk; undefined if something has to be built. */
  async ready(runtime: RuntimeName, extension: ImageExtension): Promise<GuestAssets | undefined> {
    const base = await this.boot(runtime);
    if (!isExtended(extension)) return base;
    const key = keyOf(base, extension);
    const held = this.#extended.get(key);
    if (held !== undefined) return this.#hold(key, held);
    const image = await readCachedImage(key, base);
    const libraries = image && (await cachedLibraries(extension.packages?.libraries ?? [], base));
    return libraries && this.#hold(key, extendAssets(base, image!, libraries, `${base.runtime}:${key}`));
  }

  #hold(key: string, assets: GuestAssets): GuestAssets {
    this.#extended.delete(key);
    this.#extended.set(key, assets);
    if (this.#extended.size > MAX_EXTENDED) this.#extended.delete(this.#extended.keys().next().value!);
    return assets;
  }

  /** Lets others wait for a build. */
  async #buildOnce(key: string, build: Promise<GuestAssets>): Promise<GuestAssets> {
    this.#building.set(key, build);
    try {
      return await build;
    } finally {
      this.#building.delete(key);
    }
  }

  async #readOrExtend(
    base: GuestAssets,
    key: string,
    { packages, preload }: ImageExtension,
    build: ImageBuild,
  ): Promise<GuestAssets> {
    // Reading packages takes long, so they are read only if something is not cached.
    let files: Promise<PackageFiles> | undefined;
    const load = () => {
      files ??= packages?.load() ?? Promise.resolve({ entries: [], libraries: [] });
      return files;
    };
    const libraries = await preparedLibraries(packages?.libraries ?? [], base, async (missing) =>
      prepareInThread(this.local(), base, missing, await load()),
    );
    const more =
      (await readCachedImage(key, base)) ??
      (await this.#extend(base, key, { preload, entries: (await load()).entries, libraries }, build));
    return extendAssets(base, more, libraries, `${base.runtime}:${key}`);
  }

  async #extend(
    base: GuestAssets,
    key: string,
    { preload, entries, libraries }: ImageAdditions,
    { tenant, limits, signal }: ImageBuild,
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
    const result = await runAuxiliaryJob(this.pool, job, base, { ...options, key: `extend:${key}`, tenant });
    if (result?.type !== 'extended')
      throw new SandboxError(
        'build_failed',
        signal?.aborted ? CANCELLED : 'Building the image with the packages was interrupted. Try again.',
      );
    writeCachedImage(key, base, result.extended);
    return result.extended;
  }
}

/** Always in this process: what is compiled later must not come from a process that runs guests of others. */
async function prepareInThread(
  pool: TurnSource,
  base: GuestAssets,
  missing: readonly LibraryFile[],
  files: PackageFiles,
): Promise<readonly PreparedLibrary[]> {
  const wanted = new Set(missing.map(({ sha256 }) => sha256));
  const libraries = files.libraries.filter(({ sha256 }) => wanted.has(sha256));
  const job: UnsentJob = { type: 'prepare', image: base.id, libraries };
  const options = { key: 'prepare', limitMs: PREPARE_LIMIT_MS };
  const result = await runAuxiliaryJob(pool, job, base, options);
  if (result?.type === 'prepared') return result.libraries;
  throw new SandboxError(
    'build_failed',
    'The preparation of the libraries in the packages was interrupted. Try again.',
  );
}
