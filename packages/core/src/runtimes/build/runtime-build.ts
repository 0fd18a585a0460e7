/**
 * How the guest of a runtime is built: the code of the folders named `build`. `npm run build` runs it in a thread. Nothing
 * else imports it, and the published package does not contain it.
 */
import type { Guest } from '../../engine/guest.ts';
import type { Entry } from '../../fs/flat-entries.ts';
import type { MissingPackage } from '../../packages/vendored-package-table.ts';
import type { PrepareOptions } from '../../wasm/prepare-module.ts';
import type { Handles, Layer, Runtime } from '../runtime.ts';

/** Creates a guest with the given layers, calls `use` and returns the files that it left in /tmp. */
export type BuildInGuest = (layers: readonly Layer[], use: (guest: Guest) => void) => readonly Entry[];

/** A file and its digest. */
export interface Binary {
  readonly specifier: string;
  readonly sha256: string;
}

export interface RuntimeBuild {
  readonly runtime: Runtime;
  /** The interpreter's binary: in a pinned dependency, or a path from the root of the repository. The build rejects any other digest. */
  readonly binary: Binary;
  readonly prepare: PrepareOptions;
  /** The environment in which the interpreter boots. */
  readonly bootEnv: Readonly<Record<string, string>>;
  /** Builds the read-only layers. `warn` receives the packages that had to be omitted. */
  buildLayers(buildInGuest: BuildInGuest, warn: (missing: MissingPackage) => void): Promise<readonly Layer[]>;
  boot(guest: Guest): Handles;
}
