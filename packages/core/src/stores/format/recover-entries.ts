/** Recovers the files of a damaged session whose objects are intact. */
import { SandboxError } from '../../errors.ts';
import type { Entry } from '../../fs/flat-entries.ts';
import { MissingObjectError, type ObjectSource } from './object-ref.ts';
import { parentOf } from './parent-path.ts';
import { fromTreeEntry, type TreeEntry } from './stored-tree.ts';

/** Adds the readable entries of a tree to `recovered`, except paths that it already has. Reads at most `maxBytes`. */
export async function recoverEntries(
  tree: readonly TreeEntry[],
  objects: ObjectSource,
  maxBytes: number,
  recovered: Map<string, Entry>,
): Promise<void> {
  let freeBytes = maxBytes;
  for (const described of tree) {
    const parent = parentOf(described.path);
    if (recovered.has(described.path) || (parent !== '' && recovered.get(parent)?.kind !== 'dir')) continue;
    let data: Uint8Array | undefined;
    if (described.kind === 'file') {
      if (described.bytes > freeBytes) continue;
      data = await ifIntact(() => objects.read('data', described));
      if (data === undefined) continue;
      freeBytes -= data.length;
    }
    recovered.set(described.path, fromTreeEntry(described, data));
  }
}

/** Returns undefined if the data is missing or damaged. */
export async function ifIntact<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof SandboxError || error instanceof MissingObjectError) return undefined;
    throw error;
  }
}
