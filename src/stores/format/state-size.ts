/** The sizes of session states: what one state contains, and what several states take in memory together. */
import type { Entry } from '../../fs/flat-entries.ts';
import type { SessionState } from '../store.ts';

/** Approximate memory of the host that an entry takes besides its contents and its path. */
const ENTRY_BYTES = 200;

const contentsOf = ({ delta, workspace, tmp }: SessionState): (Uint8Array | undefined)[] => [
  ...(delta ?? []),
  ...[...workspace.values(), ...tmp].map(({ data }) => data),
];

/** The size of the memory image and the files of a state, including what it shares with other states. */
export function stateBytes(state: SessionState): number {
  return contentsOf(state).reduce((sum, bytes) => sum + (bytes?.length ?? 0), 0);
}

/** The memory that states take together. Contents that several of them share count once. */
export function heldBytes(states: readonly SessionState[]): number {
  const buffers = new Set<ArrayBufferLike>();
  let total = 0;
  const addEntry = ({ path }: Entry) => {
    total += ENTRY_BYTES + path.length;
  };
  for (const state of new Set(states)) {
    for (const entry of state.workspace.values()) addEntry(entry);
    state.tmp.forEach(addEntry);
    for (const bytes of contentsOf(state)) if (bytes !== undefined) buffers.add(bytes.buffer);
  }
  for (const { byteLength } of buffers) total += byteLength;
  return total;
}
