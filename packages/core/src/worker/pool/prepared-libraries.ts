/**
 * The prepared libraries of packages, cached on disk. Rewriting takes seconds for a large package, so a thread of this process
 * does it (thread/prepare-libraries.ts), never one of an isolated process.
 */
import { sha256Hex } from '../../framing/digest.ts';
import { readCachedInParts, writeCached } from '../../host/disk-cache.ts';
import type { LibraryFile } from '../../packages/unpack-wheel.ts';
import type { GuestAssets, PreparedLibrary } from '../../runtimes/artifacts/guest-artifacts.ts';
import { SIDE_FORMAT } from '../../wasm/sandbox-sections.ts';

const keyOf = (sha256: string, { origin }: GuestAssets) => sha256Hex(SIDE_FORMAT, origin.module, sha256);

/** The cached libraries, by SHA-256. */
async function readCached(
  libraries: readonly LibraryFile[],
  base: GuestAssets,
): Promise<Map<string, PreparedLibrary>> {
  const ready = new Map<string, PreparedLibrary>();
  for (const sha256 of new Set(libraries.map((library) => library.sha256))) {
    const prepared = await readCachedInParts('modules', keyOf(sha256, base));
    if (prepared !== undefined) ready.set(sha256, { sha256, prepared });
  }
  return ready;
}

/** The libraries; undefined if one is not cached. */
export async function cachedLibraries(
  libraries: readonly LibraryFile[],
  base: GuestAssets,
): Promise<PreparedLibrary[] | undefined> {
  const ready = await readCached(libraries, base);
  return libraries.every(({ sha256 }) => ready.has(sha256)) ? [...ready.values()] : undefined;
}

/** Prepares the libraries that are not cached by calling `prepare`. */
export async function preparedLibraries(
  libraries: readonly LibraryFile[],
  base: GuestAssets,
  prepare: (missing: readonly LibraryFile[]) => Promise<readonly PreparedLibrary[]>,
): Promise<PreparedLibrary[]> {
  const bySha256 = new Map(libraries.map((library) => [library.sha256, library]));
  const ready = await readCached(libraries, base);
  const missing = [...bySha256.values()].filter(({ sha256 }) => !ready.has(sha256));
  for (const library of missing.length === 0 ? [] : await prepare(missing)) {
    writeCached('modules', keyOf(library.sha256, base), library.prepared);
    ready.set(library.sha256, library);
  }
  return [...bySha256.keys()].map((sha256) => ready.get(sha256)!);
}
