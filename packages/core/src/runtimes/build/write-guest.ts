/** Writes the artifacts that artifacts/guest-artifacts.ts reads. */
import { mkdirSync } from 'node:fs';
import { type ImageOrigin, imageDigest } from '../../engine/image-identity.ts';
import { replaceFileSync, SHARED_FILE } from '../../host/replace-file.ts';
import type { PackFacts } from '../../host/shared-layer.ts';
import type { MissingPackage } from '../../packages/vendored-package-table.ts';
import type { RuntimeName } from '../../schema.ts';
import {
  artifactPath,
  GUEST_FORMAT,
  type GuestDescription,
  readDescription,
} from '../artifacts/guest-artifacts.ts';

/** The result of a build, before it is written. */
export interface BuiltGuest {
  readonly runtime: RuntimeName;
  readonly module: Uint8Array;
  readonly minPages: number;
  readonly stateGlobals: readonly string[];
  readonly layers: readonly { readonly facts: PackFacts; readonly pack: Uint8Array }[];
  readonly image: Uint8Array;
  readonly origin: ImageOrigin;
  /** Memory that a guest needs to hold the image; the lowest memory limit that works. */
  readonly minMemoryBytes: number;
  /** Packages that had to be omitted. */
  readonly missing: readonly MissingPackage[];
}

/** Whether the artifacts on disk were built from these inputs and no package is missing. */
export function isBuilt(runtime: RuntimeName, inputs: string): boolean {
  const found = readDescription(runtime);
  return found?.inputs === inputs && found.missing.length === 0;
}

/** Writes the artifacts. The description is written last, so that an interrupted build is not considered complete. */
export function writeGuest(guest: BuiltGuest, inputs: string): void {
  const put = (name: string, bytes: Uint8Array | string) =>
    replaceFileSync(artifactPath(guest.runtime, name), bytes, SHARED_FILE);
  mkdirSync(artifactPath(guest.runtime, ''), { recursive: true });
  put('module.wasm', guest.module);
  guest.layers.forEach(({ pack }, i) => {
    put(`layer-${i}.pack`, pack);
  });
  put('boot.image', guest.image);
  const description: GuestDescription = {
    format: GUEST_FORMAT,
    inputs,
    minPages: guest.minPages,
    minMemoryBytes: guest.minMemoryBytes,
    stateGlobals: [...guest.stateGlobals],
    layers: guest.layers.map(({ facts }) => facts),
    image: { digest: imageDigest(guest.image), bytes: guest.image.length },
    origin: guest.origin,
    missing: [...guest.missing],
  };
  put('guest.json', `${JSON.stringify(description, null, 2)}\n`);
}
