/**
 * Reads the artifacts of a guest build: the prepared module, the read-only layers, the boot image, and a
 * description with the digests of all of them. The main thread reads only the description; threads that run guests read
 * the rest when they need it, into memory that they share.
 *
 * packages/core/dist/guests/<runtime>/ guest.json, module.wasm, layer-<n>.pack, boot.image
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CompiledModule } from '../../engine/guest.ts';
import type { ImageOrigin } from '../../engine/image-identity.ts';
import { SandboxError } from '../../errors.ts';
import { sha256Hex } from '../../framing/digest.ts';
import { installedFile } from '../../host/install-folder.ts';
import { findFile, partOfFile, partProblem } from '../../host/parts.ts';
import { readSharedFile, type SharedFile, sharedFile } from '../../host/shared-file.ts';
import {
  absentLayer,
  damagedFile,
  type PackFacts,
  packedLayer,
  type SharedLayer,
} from '../../host/shared-layer.ts';
import { compileValid } from '../../host/v8-flags.ts';
import type { MissingPackage } from '../../packages/vendored-package-table.ts';
import { RUNTIME_NAMES } from '../../schema/runtime-names.ts';
import type { RuntimeName } from '../../schema.ts';
import { BASH_PACKAGE, bashFolder } from '../programs/program-folders.ts';

/** A library of a package, prepared for guests. */
export interface PreparedLibrary {
  /** SHA-256 of the original library, which its stub contains. */
  readonly sha256: string;
  /** In shared memory. */
  readonly prepared: Uint8Array;
}

/** A guest as it is sent to threads. Layers and image are in shared memory, which the threads fill. */
export interface GuestAssets {
  /** Identifies the image. The boot image has the runtime's name. */
  readonly id: string;
  readonly runtime: RuntimeName;
  readonly module: ModuleFile;
  readonly origin: ImageOrigin;
  readonly layers: readonly SharedLayer[];
  /** The libraries of packages that guests may load. */
  readonly libraries: readonly PreparedLibrary[];
  readonly image: SharedFile;
  /** See `imageDigest`. */
  readonly imageDigest: string;
  readonly minMemoryBytes: number;
  readonly missing: readonly MissingPackage[];
}

interface ModuleFile extends Omit<CompiledModule, 'module'> {
  readonly path: string;
}

export interface GuestDescription {
  format: number;
  /** Digest of everything that the build depends on. */
  inputs: string;
  minPages: number;
  minMemoryBytes: number;
  stateGlobals: string[];
  layers: PackFacts[];
  image: { digest: string; bytes: number };
  origin: ImageOrigin;
  missing: MissingPackage[];
}

/** Version of the description and of the files it describes. */
export const GUEST_FORMAT = 3;
/** A runtime can be in an optional package. */
export const artifactPath = (runtime: RuntimeName, name: string) =>
  join((runtime === 'bash' ? bashFolder() : undefined) ?? installedFile(join('guests', runtime)), name);

/** Digest of the locations and contents of layers, which binds an image to its layers. */
export function layersDigest(layers: readonly Pick<PackFacts, 'at' | 'sha256'>[]): string {
  return sha256Hex(JSON.stringify(layers.map(({ at, sha256: digest }) => [at, digest])));
}

/** Whether an image with this origin was built from `base`. Its layers may have grown since it was built. */
export const isExtensionOf = (base: Pick<GuestAssets, 'origin'>, origin: ImageOrigin): boolean =>
  origin.runtime === base.origin.runtime && origin.module === base.origin.module;

export function readDescription(runtime: RuntimeName): GuestDescription | undefined {
  const path = artifactPath(runtime, 'guest.json');
  if (!existsSync(path)) return undefined;
  try {
    const found = JSON.parse(readFileSync(path, 'utf8')) as GuestDescription;
    return found.format === GUEST_FORMAT ? found : undefined;
  } catch {
    return undefined;
  }
}

/** The runtimes of this installation, without optional ones that are not installed. */
export const installedRuntimes = (): RuntimeName[] =>
  RUNTIME_NAMES.filter((name) => name !== 'bash' || readDescription(name) !== undefined);

const INSTALL_BASH = `Install it beside llm-wasm-sandbox: npm install ${BASH_PACKAGE}`;

/** The optional runtimes that are not installed, and how to install them. */
export const optionalRuntimes = (): { readonly runtime: RuntimeName; readonly advice: string }[] =>
  installedRuntimes().includes('bash') ? [] : [{ runtime: 'bash', advice: INSTALL_BASH }];

/** Packages that the build on disk had to omit; none if there is no build. */
export function missingPackages(runtime: RuntimeName): readonly MissingPackage[] {
  return readDescription(runtime)?.missing ?? [];
}

/** The artifacts on disk. Reads only their description. Throws `not_installed` if there are none. */
export function findAssets(runtime: RuntimeName): GuestAssets {
  const description = readDescription(runtime);
  if (description === undefined) {
    throw new SandboxError(
      'not_installed',
      runtime === 'bash' && bashFolder() === undefined
        ? `bash is an optional package. ${INSTALL_BASH}`
        : `The ${runtime} guest is not built. Run "npm run build" in a checkout, or install the package again.`,
    );
  }
  const { minPages, minMemoryBytes, stateGlobals, origin, missing, image } = description;
  if (layersDigest(description.layers) !== origin.layers)
    throw damagedFile(artifactPath(runtime, 'guest.json'), 'its digests are inconsistent');
  return {
    id: runtime,
    runtime,
    module: { path: artifactPath(runtime, 'module.wasm'), minPages, stateGlobals },
    origin,
    libraries: [],
    layers: description.layers.map((facts, i) => findLayer(runtime, i, facts)),
    image: sharedFile(artifactPath(runtime, 'boot.image'), image.bytes),
    imageDigest: image.digest,
    minMemoryBytes,
    missing,
  };
}

/** A layer can be in a part of the installation. Without the part, the layer is empty. */
function findLayer(runtime: RuntimeName, i: number, facts: PackFacts): SharedLayer {
  const name = `layer-${i}.pack`;
  const path = `guests/${runtime}/${name}`;
  const part = partOfFile(path);
  if (part === undefined || existsSync(artifactPath(runtime, name)))
    return packedLayer(artifactPath(runtime, name), facts);
  return partProblem(part) === undefined
    ? packedLayer(findFile(path), facts)
    : absentLayer(artifactPath(runtime, name), facts.at);
}

export function readModule({ module: { path } }: GuestAssets): Uint8Array {
  return readArtifact(path, () => readFileSync(path));
}

export function verifyModule({ module, origin }: GuestAssets, bytes: Uint8Array): void {
  const found = sha256Hex(bytes);
  if (found !== origin.module)
    throw damagedFile(module.path, `expected SHA-256 ${origin.module}, found ${found}`);
}

/** Compiles the bytes of the module, which must be verified. */
export function compileModule({ module }: GuestAssets, bytes: Uint8Array): CompiledModule {
  const { minPages, stateGlobals } = module;
  return { module: compileValid(bytes), minPages, stateGlobals };
}

/** The bytes of the image, which `readImage` verifies. */
export function readImageBytes({ image }: GuestAssets): Uint8Array {
  return readArtifact(image.path, () => readSharedFile(image));
}

function readArtifact<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw damagedFile(path, (cause as Error).message);
  }
}
