/**
 * Writes and reads the artifacts of a guest build: the prepared module, the read-only layers, the boot image, and a
 * description with the digests of all of them.
 *
 * dist/guests/<runtime>/ guest.json, module.wasm, layer-<n>.pack, boot.image
 */
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { CompiledModule } from '../engine/guest.ts';
import { IMAGE_FORMAT, type ImageOrigin } from '../engine/image-identity.ts';
import { SandboxError } from '../errors.ts';
import { sha256Hex } from '../framing/digest.ts';
import { readShared } from '../host/disk-cache.ts';
import type { MissingPackage } from '../packages/catalog.ts';
import type { RuntimeName } from '../schema.ts';

/** The result of a build, before it is written. */
export interface BuiltGuest {
  readonly runtime: RuntimeName;
  readonly module: Uint8Array;
  readonly minPages: number;
  readonly stateGlobals: readonly string[];
  readonly layers: readonly { readonly at: string; readonly bytes: Uint8Array }[];
  readonly image: Uint8Array;
  readonly origin: ImageOrigin;
  /** Memory that a guest needs to hold the image; the lowest memory limit that works. */
  readonly minMemoryBytes: number;
  /** Packages that had to be omitted. */
  readonly missing: readonly MissingPackage[];
}

/** A guest as workers load it. Layers and image are in shared memory. */
export interface GuestAssets {
  /** Identifies the image. The boot image has the runtime's name. */
  readonly id: string;
  readonly runtime: RuntimeName;
  readonly compiled: CompiledModule;
  readonly origin: ImageOrigin;
  readonly layers: readonly { readonly at: string; readonly bytes: Uint8Array }[];
  readonly image: Uint8Array;
  readonly minMemoryBytes: number;
  readonly missing: readonly MissingPackage[];
}

interface Description {
  format: number;
  /** Digest of everything that the build depends on. */
  inputs: string;
  minPages: number;
  minMemoryBytes: number;
  stateGlobals: string[];
  layers: { at: string; sha256: string }[];
  origin: ImageOrigin;
  missing: MissingPackage[];
}

const GUESTS = new URL('../guests/', import.meta.url);

const file = (runtime: RuntimeName, name: string) => fileURLToPath(new URL(`${runtime}/${name}`, GUESTS));

/** Digest of the locations and contents of layers, which binds an image to its layers. */
export function layersDigest(layers: readonly { at: string; sha256: string }[]): string {
  return sha256Hex(JSON.stringify(layers.map(({ at, sha256: digest }) => [at, digest])));
}

function readDescription(runtime: RuntimeName): Description | undefined {
  const path = file(runtime, 'guest.json');
  if (!existsSync(path)) return undefined;
  try {
    const found = JSON.parse(readFileSync(path, 'utf8')) as Description;
    return found.format === IMAGE_FORMAT ? found : undefined;
  } catch {
    return undefined;
  }
}

/** Whether the artifacts on disk were built from these inputs and no package is missing. */
export function isBuilt(runtime: RuntimeName, inputs: string): boolean {
  const found = readDescription(runtime);
  return found?.inputs === inputs && found.missing.length === 0;
}

/** Packages that the build on disk had to omit; none if there is no build. */
export function missingPackages(runtime: RuntimeName): readonly MissingPackage[] {
  return readDescription(runtime)?.missing ?? [];
}

/** Writes the artifacts. The description is written last, so that an interrupted build is not considered complete. */
export function writeGuest(guest: BuiltGuest, inputs: string): void {
  const put = (name: string, bytes: Uint8Array | string) => {
    const path = file(guest.runtime, name);
    writeFileSync(`${path}.new`, bytes);
    renameSync(`${path}.new`, path);
  };
  mkdirSync(fileURLToPath(new URL(guest.runtime, GUESTS)), { recursive: true });
  put('module.wasm', guest.module);
  guest.layers.forEach((layer, i) => {
    put(`layer-${i}.pack`, layer.bytes);
  });
  put('boot.image', guest.image);
  const description: Description = {
    format: IMAGE_FORMAT,
    inputs,
    minPages: guest.minPages,
    minMemoryBytes: guest.minMemoryBytes,
    stateGlobals: [...guest.stateGlobals],
    layers: guest.layers.map(({ at, bytes }) => ({ at, sha256: sha256Hex(bytes) })),
    origin: guest.origin,
    missing: [...guest.missing],
  };
  put('guest.json', `${JSON.stringify(description, null, 2)}\n`);
}

/** Loads the artifacts. Throws `not_installed` if there are none and `image_invalid` if their digests do not match. */
export async function loadAssets(runtime: RuntimeName): Promise<GuestAssets> {
  const description = readDescription(runtime);
  if (description === undefined) {
    throw new SandboxError('not_installed', `The ${runtime} guest is not built. Run "npm run build".`);
  }
  const { minPages, minMemoryBytes, stateGlobals, origin, missing } = description;
  const moduleBytes = readFileSync(file(runtime, 'module.wasm'));
  const compiling = WebAssembly.compile(moduleBytes);
  // Compilation runs in the background. If an error is thrown below, its rejection must not be unhandled.
  compiling.catch(() => {});
  expect(runtime, 'module.wasm', sha256Hex(moduleBytes), origin.module);
  const layers = description.layers.map(({ at, sha256: expected }, i) => {
    const bytes = readShared(file(runtime, `layer-${i}.pack`));
    expect(runtime, `layer-${i}.pack`, sha256Hex(bytes), expected);
    return { at, bytes };
  });
  expect(runtime, 'guest.json', layersDigest(description.layers), origin.layers);
  const image = readShared(file(runtime, 'boot.image'));
  const compiled = { module: await compiling, minPages, stateGlobals };
  return { id: runtime, runtime, compiled, origin, layers, image, minMemoryBytes, missing };
}

function expect(runtime: RuntimeName, name: string, found: string, expected: string): void {
  if (found === expected) return;
  const digests = `expected SHA-256 ${expected}, found ${found}`;
  throw new SandboxError(
    'image_invalid',
    `${name} of the ${runtime} guest is damaged: ${digests}. Run "npm run build".`,
  );
}
