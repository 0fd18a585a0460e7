/** Arbitrary sessions, and forged digests. */
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import type { SessionState, StoredSession } from '../../packages/core/src/stores/store.ts';
import { treeWithoutConflicts } from '../fs/arbitraries.ts';
import { checkpoint, record, shared } from './fixtures.ts';

const name = fc
  .string({ minLength: 1, maxLength: 12, unit: 'grapheme' })
  .filter((text) => !/[/\0]/.test(text) && text !== '.' && text !== '..');
const bytes = fc.uint8Array({ maxLength: 200 }).map(shared);
const entry = fc.record({
  path: fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/')),
  mode: fc.integer({ min: 0, max: 0o7777 }),
  mtimeMs: fc.integer({ min: 0, max: 4e12 }),
  data: bytes,
  target: fc.option(name),
});
const tree = fc
  .array(entry, { maxLength: 6 })
  .map((entries) =>
    treeWithoutConflicts(
      entries.map(({ data, target, ...common }) =>
        target === null ? { ...common, kind: 'file', data } : { ...common, kind: 'symlink', target },
      ),
    ),
  );
const anyState: fc.Arbitrary<SessionState> = fc.record({
  version: fc.nat(),
  delta: fc.option(fc.array(bytes, { minLength: 1, maxLength: 3 }), { nil: undefined }),
  workspace: tree,
  tmp: tree.map((entries) => [...entries.values()]),
});
export const anySession: fc.Arbitrary<StoredSession> = fc
  .record({
    state: anyState,
    undo: fc.option(anyState, { nil: undefined }),
    checkpoints: fc.uniqueArray(
      fc.record({ name: fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$/), state: anyState }),
      {
        maxLength: 3,
        selector: (checkpoint) => checkpoint.name,
      },
    ),
    fuel: fc.integer({ min: 1, max: 1e12 }),
  })
  .map(({ state: present, undo, checkpoints, fuel }) => ({
    record: record('moved', { policy: { ...record('moved').policy, fuel_budget: fuel } }),
    state: present,
    undo,
    checkpoints: checkpoints.map(({ name, state: saved }) => checkpoint(name, saved)),
  }));

/** Replaces the SHA-256 in the last 32 bytes with the one that matches the bytes before it. */
export function withDigest(bytes: Uint8Array): Uint8Array {
  const body = bytes.subarray(0, -32);
  return new Uint8Array(Buffer.concat([body, createHash('sha256').update(body).digest()]));
}
