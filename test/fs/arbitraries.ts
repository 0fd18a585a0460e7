/** Random trees for the property tests of this folder. */
import fc from 'fast-check';
import { type Entry, putEntry } from '../../packages/core/src/fs/flat-entries.ts';

const name = fc.oneof(
  fc.constantFrom('a', 'b', 'é', '\u{1f600}', '\ufeff', 'a.b'),
  fc.stringMatching(/^[a-z~!]{1,6}$/),
);
const time = fc.oneof(fc.integer(), fc.double({ min: -8e15, max: 8e15, noNaN: true }));
const content = fc.oneof(
  fc.record({ kind: fc.constant('file' as const), data: fc.uint8Array({ maxLength: 40 }) }),
  fc.record({ kind: fc.constant('dir' as const) }),
  fc.record({ kind: fc.constant('symlink' as const), target: fc.constantFrom('a', '../b', '/é') }),
);
const raw = fc.record({
  parts: fc.array(name, { minLength: 1, maxLength: 4 }),
  mode: fc.integer({ min: 0, max: 0o7777 }),
  mtimeMs: time.map((value) => value + 0),
  content,
});

/** Builds a tree from entries in any order. Missing parents are added; entries that conflict with an earlier one are left out. */
export function treeWithoutConflicts(candidates: Iterable<Entry>): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  for (const entry of candidates) {
    const parts = entry.path.split('/');
    const parents = parts.slice(1).map((_, i) => entries.get(parts.slice(0, i + 1).join('/')));
    if (entries.has(entry.path) || parents.some((parent) => parent && parent.kind !== 'dir')) continue;
    putEntry(entries, entry);
  }
  return entries;
}

/** Any valid tree. */
export const tree = fc.array(raw, { maxLength: 20 }).map((items) => [
  ...treeWithoutConflicts(
    items.map(({ parts, mode, mtimeMs, content }) => ({
      path: parts.join('/'),
      mode,
      mtimeMs,
      ...content,
    })),
  ).values(),
]);
