/** The image and the packages of a sandbox: an immutable value. */
import { importNames } from '../packages/import-costs.ts';
import type { PackageSet } from '../packages/package-set.ts';
import type { GuestAssets } from '../runtimes/artifacts/guest-artifacts.ts';
import { PACKAGE_RUNTIME } from '../runtimes/registry/program-files.ts';
import type { RuntimeName } from '../schema.ts';
import type { ImageBuild, ImageExtension } from '../worker/pool/guest-assets.ts';
import type { WorkerPool } from '../worker/pool/pool.ts';
import type { PackagesOnDemand } from './packages-on-demand.ts';

/** What the programs of a sandbox start from. */
export interface SandboxImage {
  readonly runtime: RuntimeName;
  /** Modules that are loaded in the image. */
  readonly preload: readonly string[];
  /** The packages of its Python programs: those of calls, or the processes of calls in another language. */
  readonly packages: PackageSet | undefined;
  /**
   * Which modules of packages are loaded into images: those that `preload` names, or those that a program imports. The last
   * of these adds packages when programs import them.
   */
  readonly loads: 'named' | 'imported' | PackagesOnDemand;
  /** The image that calls start from. */
  readonly assets: GuestAssets;
}

/** An image in which a program starts. */
export interface ProgramImage extends ImageExtension {
  readonly assets: GuestAssets;
}

export const onDemandOf = ({ loads }: Pick<SandboxImage, 'loads'>): PackagesOnDemand | undefined =>
  typeof loads === 'string' ? undefined : loads;

/** What the image of calls has beyond the boot image. */
export function extensionOf({
  runtime,
  preload,
  packages,
}: Pick<SandboxImage, 'runtime' | 'preload' | 'packages'>): ImageExtension {
  return { preload, packages: runtime === PACKAGE_RUNTIME ? packages : undefined };
}

/** Whether the modules that a program imports from the given packages are loaded into its image. */
export const loadsImports = (image: Omit<SandboxImage, 'assets'>): boolean =>
  image.loads === 'imported' && (extensionOf(image).packages?.facts.length ?? 0) > 0;

/** Whether programs of another language start Python processes with added packages. */
export const hasProcessPackages = ({ runtime, packages, loads }: SandboxImage): boolean =>
  runtime !== PACKAGE_RUNTIME && (packages !== undefined || typeof loads !== 'string');

/** The modules of imports and packages, in a canonical form. */
export function modulesOf(
  runtime: RuntimeName,
  names: readonly string[],
  packages: PackageSet | undefined,
): string[] {
  const facts = extensionOf({ runtime, preload: [], packages }).packages?.facts ?? [];
  return [...new Set(names.flatMap((name) => importNames(runtime, name, facts)))].sort();
}

/** The image with its assets, which are built if they are not cached. */
export async function withAssets(
  image: Omit<SandboxImage, 'assets'>,
  pool: WorkerPool,
  build: ImageBuild,
): Promise<SandboxImage> {
  return { ...image, assets: await pool.images.extended(image.runtime, extensionOf(image), build) };
}
