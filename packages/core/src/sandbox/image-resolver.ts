/**
 * Chooses the images in which programs start: adds packages that are missing, and preloads modules unless that exceeds the
 * limits. An image is an immutable value; a session replaces its image when it gets more packages.
 */
import { SandboxError } from '../errors.ts';
import { AUTO } from '../packages/read-user-packages.ts';
import type { GuestAssets } from '../runtimes/artifacts/guest-artifacts.ts';
import { PACKAGE_RUNTIME } from '../runtimes/registry/program-files.ts';
import type { Policy, RuntimeName } from '../schema.ts';
import type { ImageExtension } from '../worker/pool/guest-assets.ts';
import type { WorkerPool } from '../worker/pool/pool.ts';
import type { Call } from './call-options.ts';
import type { CallPackages } from './call-packages.ts';
import { checkMemory, factsOf, imageOfRuntime, packageSourceOf, type SandboxImage } from './create-parts.ts';
import { importsOf, type PackagesOnDemand, type ProgramPackages } from './packages-on-demand.ts';
import { ProcessPackages } from './process-packages.ts';

/** Attempts to preload the same modules. Further ones would only take time. */
const MAX_LOADS = 2;
const MAX_FAILED_LOADS = 100;

/** The image in which a program starts. */
export interface ProgramImage extends ProgramPackages {
  readonly assets: GuestAssets;
}

/** Where images are built. */
interface ImagePlace {
  readonly pool: WorkerPool;
  readonly tenant: string;
  readonly policy: Policy;
}

/** Identifies an image of a runtime. */
const keyOf = (extension: ImageExtension | undefined) =>
  `${extension?.packages?.sha256} ${extension?.preload}`;

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
    const { onDemand, processes } = this.current;
    return onDemand ?? processes?.onDemand;
  }

  /** The added packages that programs can import. */
  get sources(): readonly string[] {
    if (this.onDemand !== undefined) return [AUTO];
    return (factsOf(this.current.extension) ?? []).map(({ name }) => name);
  }

  /** The image of a program and its packages, which are added first if they are missing. */
  async forCall(call: Call, isFile: (path: string) => boolean): Promise<ProgramImage> {
    const { runtime, extension, assets, loadsImports } = this.current;
    if (!call.program.inject_setup)
      return { extension: undefined, assets: await this.place.pool.images.boot(runtime) };
    const { files = {} } = call;
    const { code } = call.program;
    if (call.processes !== undefined) {
      await call.processes.prepare();
      return { extension, assets };
    }
    const exists = (path: string) => path in files || isFile(path);
    const found = await call.packages?.find(code, exists);
    if (found !== undefined) return this.#with(found.extension, runtime);
    if (!loadsImports) return { extension, assets };
    const preload = importsOf(runtime, extension!.packages!, { code, exists });
    return preload.length === 0 ? { extension, assets } : this.#with({ ...extension!, preload }, runtime);
  }

  /** The packages of the Python processes of a call; undefined if they have only the vendored ones. */
  forProcesses(call: CallPackages): ProcessPackages | undefined {
    if (this.current.processes === undefined) return undefined;
    const source = {
      packages: () => this.current.processes!,
      build: (extension: ImageExtension | undefined) => this.#with(extension, PACKAGE_RUNTIME),
      find: (extension: ImageExtension | undefined) => this.#ready(extension),
    };
    return new ProcessPackages(source, call);
  }

  /** The image of a sandbox of any runtime with the same packages. Throws if the policy allows too little memory. */
  async forRuntime(runtime: RuntimeName, policy: Policy): Promise<SandboxImage> {
    if (runtime === this.current.runtime) return this.current;
    const { pool, tenant } = this.place;
    const image = imageOfRuntime(runtime, packageSourceOf(this.current));
    const build = { tenant, limits: policy, signal: undefined };
    const assets = await pool.images.extended(runtime, image.extension, build);
    checkMemory(policy, assets);
    return { ...image, assets };
  }

  /** The image with these packages, without the modules if they cannot be preloaded within the limits. */
  async #with(extension: ImageExtension | undefined, runtime: RuntimeName): Promise<ProgramImage> {
    const { policy, pool, tenant } = this.place;
    const build = { tenant, limits: policy, signal: undefined };
    const key = keyOf(extension);
    const failures = this.#failedLoads.get(key) ?? 0;
    try {
      const assets = failures < MAX_LOADS ? await pool.images.extended(runtime, extension, build) : undefined;
      if (assets !== undefined && assets.minMemoryBytes <= policy.memory_bytes) return { extension, assets };
    } catch (cause) {
      // A damaged installation is not a problem of the modules.
      const isOfModules = cause instanceof SandboxError && cause.code !== 'image_invalid';
      if (!isOfModules || extension === undefined) throw cause;
    }
    if (this.#failedLoads.size >= MAX_FAILED_LOADS) this.#failedLoads.clear();
    this.#failedLoads.set(key, failures + 1);
    const plain = extension && { ...extension, preload: [] };
    return { extension: plain, assets: await pool.images.extended(runtime, plain, build) };
  }

  /** The same for a process of Python; undefined if the image has to be built. */
  async #ready(extension: ImageExtension | undefined): Promise<ProgramImage | undefined> {
    const cannotLoad = (this.#failedLoads.get(keyOf(extension)) ?? 0) >= MAX_LOADS;
    const wanted = extension && cannotLoad ? { ...extension, preload: [] } : extension;
    const assets = await this.place.pool.images.ready(PACKAGE_RUNTIME, wanted);
    if (assets === undefined) return undefined;
    const isTooLarge =
      assets.minMemoryBytes > this.place.policy.memory_bytes && (wanted?.preload.length ?? 0) > 0;
    return isTooLarge ? this.#ready({ ...wanted!, preload: [] }) : { extension: wanted, assets };
  }
}
