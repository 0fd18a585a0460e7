/**
 * Prepares the libraries of packages for guests. Rewriting takes seconds for a large package, so a thread of this process does
 * it, never one of an isolated process, and the results are cached on disk.
 */
import { mainSymbols } from '../engine/compile-side-module.ts';
import { SandboxError } from '../errors.ts';
import { sha256Hex } from '../framing/digest.ts';
import { toShared } from '../fs/shared-array-buffers.ts';
import { readCachedInParts, writeCached } from '../host/disk-cache.ts';
import type { PackageLibrary } from '../packages/read-user-packages.ts';
import type { LibraryFile } from '../packages/unpack-wheel.ts';
import {
  type GuestAssets,
  type PreparedLibrary,
  readModule,
  verifyModule,
} from '../runtimes/guest-artifacts.ts';
import type { HostSignatures } from '../wasm/prepare-side-module.ts';
import { SIDE_FORMAT } from '../wasm/sandbox-sections.ts';

/** Prepares the libraries that are not cached by calling `prepare`. */
export async function preparedLibraries(
  libraries: readonly LibraryFile[],
  { origin }: GuestAssets,
  prepare: (missing: readonly LibraryFile[]) => Promise<readonly PreparedLibrary[]>,
): Promise<PreparedLibrary[]> {
  const keyOf = (sha256: string) => sha256Hex(SIDE_FORMAT, origin.module, sha256);
  const bySha256 = new Map(libraries.map((library) => [library.sha256, library]));
  const ready = new Map<string, PreparedLibrary>();
  for (const sha256 of bySha256.keys()) {
    const prepared = await readCachedInParts('modules', keyOf(sha256));
    if (prepared !== undefined) ready.set(sha256, { sha256, prepared });
  }
  const missing = [...bySha256.values()].filter(({ sha256 }) => !ready.has(sha256));
  for (const library of missing.length === 0 ? [] : await prepare(missing)) {
    writeCached('modules', keyOf(library.sha256), library.prepared);
    ready.set(library.sha256, library);
  }
  return [...bySha256.keys()].map((sha256) => ready.get(sha256)!);
}

/** Rewrites and validates libraries for the main module of the guest. Runs in a worker thread. */
export async function prepareLibraries(
  libraries: readonly PackageLibrary[],
  assets: GuestAssets,
  hostSignatures: HostSignatures = new Map(),
): Promise<PreparedLibrary[]> {
  const { prepareSideModule } = await import('../wasm/prepare-side-module.ts');
  const main = readModule(assets);
  verifyModule(assets, main);
  const mainFunctions = new Set(mainSymbols(new WebAssembly.Module(main)).functions.keys());
  return libraries.map(({ path, sha256, bytes }) => {
    try {
      const prepared = prepareSideModule(bytes, { mainFunctions, hostSignatures });
      // Compiles lazily, but validates everything.
      new WebAssembly.Module(prepared as BufferSource);
      return { sha256, prepared: toShared(prepared) };
    } catch (cause) {
      const problem = cause instanceof Error ? cause.message : String(cause);
      throw new SandboxError('module_invalid', `packages: the library ${path} cannot be loaded. ${problem}`);
    }
  });
}
