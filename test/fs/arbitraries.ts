/** Random trees for the property tests of this folder. */
import fc from 'fast-check';
import { type Entry, putEntry } from '../../src/fs/flat-entries.ts';

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

/** Any valid tree. Missing parents are added, and paths below a file are left out. */
export const tree = fc.array(raw, { maxLength: 20 }).map((items) => {
  const entries = new Map<string, Entry>();
  for (const { parts, mode, mtimeMs, content } of items) {
    const path = parts.join('/');
    const parents = parts.map((_, i) => parts.slice(0, i).join('/')).slice(1);
    if (entries.has(path) || parents.some((at) => entries.has(at) && entries.get(at)?.kind !== 'dir'))
      continue;
    putEntry(entries, { path, mode, mtimeMs, ...content });
  }
  return [...entries.values()];
});
