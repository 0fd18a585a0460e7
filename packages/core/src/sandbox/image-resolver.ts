/**
 * Chooses the images in which programs start: adds packages that are missing, and preloads modules unless that exceeds the
 * limits. An image is an immutable value; a session replaces its image when it gets more packages.
 */
import { SandboxError } from '../errors.ts';
import { AUTO } from '../packages/package-set.ts';
import { PACKAGE_RUNTIME } from '../runtimes/registry/program-files.ts';
import type { Policy, RuntimeName } from '../schema.ts';
import { type ImageExtension, isExtended } from '../worker/pool/guest-assets.ts';
import type { WorkerPool } from '../worker/pool/pool.ts';
import { checkMemory } from './create-parts.ts';
import { type ImportingProgram, importsOf, type PackagesOnDemand } from './packages-on-demand.ts';
import {
  extensionOf,
  loadsImports,
  onDemandOf,
  type ProgramImage,
  type SandboxImage,
  withAssets,
} from './sandbox-image.ts';

/** Attempts to preload the same modules. Further ones would only take time. */
const MAX_LOADS = 2;
const MAX_FAILED_LOADS = 100;

/** Where images are built. */
interface ImagePlace {
  readonly pool: WorkerPool;
  readonly tenant: string;
  readonly policy: Policy;
}

/** What is known of a call before it starts. */
interface StartingCall {
  readonly program: { readonly code: string; readonly inject_setup: boolean };
  readonly files?: object | undefined;
  readonly packages:
    | {
        readonly areOfProcesses: boolean;
        find(program: ImportingProgram): Promise<ImageExtension | undefined>;
        prepare(): Promise<void>;
      }
    | undefined;
}

const keyOf = ({ preload, packages }: ImageExtension) => `${packages?.sha256} ${preload}`;

export class ImageResolver {
  /** How often modules could not be preloaded, most often because of the limits of the sandbox. */
  readonly #failedLoads = new Map<string, number>();

  constructor(
    /** The image of the sandbox. */
    public current: SandboxImage,
    readonly place: ImagePlace,
  ) {}

  /** Adds packages for programs, or for the processes that they start; undefined if only the given packages are available. */
  get onDemand(): PackagesOnDemand | undefined {
    return onDemandOf(this.current);
  }

  /** The added packages that programs can import. */
  get sources(): readonly string[] {
    if (this.onDemand !== undefined) return [AUTO];
    return (extensionOf(this.current).packages?.facts ?? []).map(({ name }) => name);
  }

  /** The image of a program and its packages, which are added first if they are missing. */
  async forCall(call: StartingCall, isFile: (path: string) => boolean): Promise<ProgramImage> {
    const { current } = this;
    const { runtime, assets } = current;
    const { files = {}, packages, program } = call;
    if (!program.inject_setup)
      return { preload: [], packages: undefined, assets: await this.place.pool.images.boot(runtime) };
    const extension = extensionOf(current);
    const own = { ...extension, assets };
    if (packages?.areOfProcesses) {
      await packages.prepare();
      return own;
    }
    const exists = (path: string) => path in files || isFile(path);
    const importing = { code: program.code, exists };
    const found = await packages?.find(importing);
    if (found !== undefined) return this.withExtension(runtime, found);
    if (!loadsImports(current)) return own;
    const preload = importsOf(extension.packages!, importing);
    return preload.length === 0 ? own : this.withExtension(runtime, { ...extension, preload });
  }

  /** The image of a sandbox of any runtime with the same packages. Throws if the policy allows too little memory. */
  async forRuntime(runtime: RuntimeName, policy: Policy): Promise<SandboxImage> {
    const { current } = this;
    if (runtime === current.runtime) return current;
    const { pool, tenant } = this.place;
    const build = { tenant, limits: policy, signal: undefined };
    const packages = current.packages && { ...current.packages, grownFrom: undefined };
    const image = await withAssets({ ...current, runtime, preload: [], packages }, pool, build);
    checkMemory(policy, image.assets);
    return image;
  }

  /** The image with these packages, without the modules if they cannot be preloaded within the limits. */
  async withExtension(runtime: RuntimeName, extension: ImageExtension): Promise<ProgramImage> {
    const { policy, pool, tenant } = this.place;
    const build = { tenant, limits: policy, signal: undefined };
    const key = keyOf(extension);
    const failures = this.#failedLoads.get(key) ?? 0;
    try {
      const assets = failures < MAX_LOADS ? await pool.images.extended(runtime, extension, build) : undefined;
      if (assets !== undefined && assets.minMemoryBytes <= policy.memory_bytes)
        return { ...extension, assets };
    } catch (cause) {
      // A damaged installation is not a problem of the modules.
      const isOfModules = cause instanceof SandboxError && cause.code !== 'image_invalid';
      if (!isOfModules || !isExtended(extension)) throw cause;
    }
    if (this.#failedLoads.size >= MAX_FAILED_LOADS) this.#failedLoads.clear();
    this.#failedLoads.set(key, failures + 1);
    const plain = { ...extension, preload: [] };
    return { ...plain, assets: await pool.images.extended(runtime, plain, build) };
  }

  /** The same for a process of Python; undefined if the image has to be built. */
  async ready(extension: ImageExtension): Promise<ProgramImage | undefined> {
    const cannotLoad = (this.#failedLoads.get(keyOf(extension)) ?? 0) >= MAX_LOADS;
    const wanted = cannotLoad ? { ...extension, preload: [] } : extension;
    const assets = await this.place.pool.images.ready(PACKAGE_RUNTIME, wanted);
    if (assets === undefined) return undefined;
    const isTooLarge = assets.minMemoryBytes > this.place.policy.memory_bytes && wanted.preload.length > 0;
    return isTooLarge ? this.ready({ ...wanted, preload: [] }) : { ...wanted, assets };
  }
}
