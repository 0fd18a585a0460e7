/** The sizes of session states: what one state contains, and what several states take in memory together. */
import type { Entry } from '../../fs/flat-entries.ts';
import { entryBytes, FileTree } from '../../fs/immutable-file-tree.ts';
import type { SessionState } from '../store.ts';

/** Approximate memory of the host that an entry takes besides its contents and its path. */
const ENTRY_BYTES = 200;

const sum = (contents: readonly Uint8Array[]) => contents.reduce((total, { length }) => total + length, 0);

/** The size of the memory image and the files of a state, including what it shares with other states. */
export function stateBytes({ delta, workspace, tmp }: SessionState): number {
  const tmpBytes = tmp.reduce((total, entry) => total + entryBytes(entry), 0);
  return sum(delta ?? []) + FileTree.of(workspace).bytes + tmpBytes;
}

/** Entries that one step counts. */
const ENTRIES_PER_STEP = 500;

/** The memory that states take together, in steps. What several of them share counts once. */
export function* heldBytes(states: readonly SessionState[]): Generator<undefined, number> {
  const buffers = new Set<ArrayBufferLike>();
  let total = 0;
  let counted = 0;
  const addBuffer = (bytes: Uint8Array | undefined) => {
    if (bytes === undefined || buffers.has(bytes.buffer)) return;
    buffers.add(bytes.buffer);
    total += bytes.buffer.byteLength;
  };
  const addEntries = function* (entries: Iterable<Entry>): Generator<undefined, void> {
    for (const { path, data } of entries) {
      if (++counted % ENTRIES_PER_STEP === 0) yield;
      total += ENTRY_BYTES + path.length;
      addBuffer(data);
    }
  };
  let before: FileTree | undefined;
  for (const { delta, workspace, tmp } of new Set(states)) {
    delta?.forEach(addBuffer);
    yield* addEntries(tmp);
    const tree = FileTree.of(workspace);
    if (before === undefined) total += tree.bytes + tree.pathBytes + tree.size * ENTRY_BYTES;
    else if (tree.size > 0 && tree !== before) {
      const { removed, entries } = before.difference(tree);
      // The contents that only the previous tree has are counted already.
      const replaced = entries.length === 0 ? [] : [...removed, ...entries.map((entry) => entry.path)];
      for (const path of replaced) {
        if (++counted % ENTRIES_PER_STEP === 0) yield;
        const known = before.get(path)?.data;
        if (known !== undefined) buffers.add(known.buffer);
      }
      yield* addEntries(entries);
    }
    before = tree;
  }
  return total;
}
