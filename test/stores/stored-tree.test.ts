import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { atOnce } from '../../packages/core/src/concurrency/slices.ts';
import type { Entry } from '../../packages/core/src/fs/flat-entries.ts';
import { FileTree } from '../../packages/core/src/fs/immutable-file-tree.ts';
import { type EncodedTree, encodeTree } from '../../packages/core/src/stores/format/encode-tree.ts';
import { type ObjectRef, objectName, refTo } from '../../packages/core/src/stores/format/object-ref.ts';
import { encodeText } from '../../packages/core/src/stores/format/stored-json.ts';
import { readTree, toTreeEntry } from '../../packages/core/src/stores/format/stored-tree.ts';
import { repetitions } from '../support/repetitions.ts';
import { files } from './fixtures.ts';

const TIME = 1_700_000_000_000;

const numbered = (count: number, change: Record<number, string> = {}) =>
  files(Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, change[i] ?? ''])));

const treeObjects = ({ groups }: EncodedTree) =>
  new Map(groups.flatMap((group) => [...group].filter(([name]) => name.endsWith('.tree.json'))));

/** Encodes a tree and returns its objects by name, without the contents of files. */
function encode(entries: Iterable<Entry>): { ref: ObjectRef | null; objects: Map<string, Uint8Array> } {
  const encoded = atOnce(encodeTree(FileTree.from(entries)));
  return { ref: encoded.ref, objects: treeObjects(encoded) };
}

const sourceOf = (objects: ReadonlyMap<string, Uint8Array>) => ({
  location: 'objects',
  read: async (kind: 'tree', ref: ObjectRef) => objects.get(objectName(kind, ref))!,
});

const read = (objects: ReadonlyMap<string, Uint8Array>, ref: ObjectRef | null) =>
  readTree(sourceOf(objects) as Parameters<typeof readTree>[0], ref);

/** Adds an object that no encoder has written. */
function add(objects: Map<string, Uint8Array>, content: unknown): ObjectRef {
  const bytes = encodeText(JSON.stringify(content));
  const ref = refTo(bytes);
  objects.set(objectName('tree', ref), bytes);
  return ref;
}

const damaged = (message: RegExp) =>
  expect.objectContaining({ code: 'session_damaged', message: expect.stringMatching(message) });

describe('stored tree', () => {
  test('is encoded in steps of one object, with at most 64 entries', () => {
    const sorted = [...numbered(2_000).values()].map(toTreeEntry).sort((a, b) => (a.path < b.path ? -1 : 1));
    const entries = FileTree.from(numbered(2_000).values());
    const steps = [...encodeTree(entries)].length;
    const sizes = [...treeObjects(atOnce(encodeTree(entries))).values()].map(({ length }) => length);
    expect(steps).toBeGreaterThanOrEqual(2_000 / 64);
    // An object has one line per entry.
    expect(Math.max(...sizes)).toBeLessThan(65 * JSON.stringify(sorted[0]).length * 2);
  });

  test('returns the entries of any tree, and the objects that contain them', async () => {
    const name = fc.string({ unit: fc.constantFrom('a', 'b', 'z', '0', 'é'), minLength: 1, maxLength: 8 });
    const names = fc.uniqueArray(name, { maxLength: 400 });
    await fc.assert(
      fc.asyncProperty(names, async (paths) => {
        const entries = files(Object.fromEntries(paths.map((path) => [path, path])));
        const { ref, objects } = encode(entries.values());
        const tree = await read(objects, ref);
        expect(tree.entries).toEqual([...tree.entries].sort((a, b) => (a.path < b.path ? -1 : 1)));
        expect(new Map(tree.entries.map((entry) => [entry.path, entry]))).toEqual(
          new Map([...entries].map(([path, entry]) => [path, toTreeEntry(entry)])),
        );
        expect([...tree.objects].sort()).toEqual(
          [...objects].map(([object, { length }]) => [object, length]).sort(),
        );
      }),
      { numRuns: repetitions(10, 100) },
    );
  });

  test.each([
    ['changes', numbered(1500, { 700: 'changed' })],
    ['is added', numbered(1501)],
    ['is removed', new Map([...numbered(1500)].filter(([path]) => path !== 'f700'))],
  ])('writes a small part of its objects when one file %s', (_, changed) => {
    const before = encode(numbered(1500).values()).objects;
    const after = encode(changed.values()).objects;
    const written = [...after].filter(([name]) => !before.has(name));
    const bytes = written.reduce((sum, [, { length }]) => sum + length, 0);
    const total = [...after.values()].reduce((sum, { length }) => sum + length, 0);
    expect(written.length).toBeGreaterThan(1);
    expect(bytes).toBeLessThan(total / 10);
  });

  test('has the same objects if it is encoded from an earlier tree', () => {
    const path = fc
      .tuple(fc.constantFrom('', 'a', 'f1', 'zz'), fc.integer({ min: 0, max: 1500 }))
      .map(([prefix, i]) => prefix + i);
    const edit = fc.record({
      removed: fc.array(path, { maxLength: 120 }),
      added: fc.array(path, { maxLength: 120 }),
    });
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 600 }),
        fc.array(edit, { minLength: 1, maxLength: 4 }),
        (count, edits) => {
          let tree = FileTree.from(numbered(count).values());
          let encoded = atOnce(encodeTree(tree));
          for (const { removed, added } of edits) {
            const entries = [...files(Object.fromEntries(added.map((name) => [name, 'new']))).values()];
            tree = tree.apply({ removed, entries });
            encoded = atOnce(encodeTree(tree, encoded));
            const whole = atOnce(
              encodeTree(FileTree.from([...tree.values()].map((entry) => ({ ...entry })))),
            );
            expect(encoded.ref).toEqual(whole.ref);
            expect([...treeObjects(encoded).keys()]).toEqual([...treeObjects(whole).keys()]);
          }
        },
      ),
      { numRuns: repetitions(15, 300) },
    );
  });

  test('has a bounded number of objects, whatever the paths are', () => {
    // Paths of which a naive division would end an object at every one, or at none.
    for (const prefix of ['', 'a'.repeat(200)]) {
      const { objects } = encode(
        files(Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [prefix + i, '']))).values(),
      );
      expect(objects.size).toBeLessThan(3000 / 8 + 3000 / 64 + 2);
      expect(objects.size).toBeGreaterThan(3000 / 64);
    }
  });

  test('is read from one object, as earlier releases have written it', async () => {
    const entries = [...numbered(300).values()]
      .sort((a, b) => (a.path < b.path ? -1 : 1))
      .map((entry) => toTreeEntry(entry));
    const objects = new Map<string, Uint8Array>();
    const ref = add(objects, { format: 3, entries });
    expect((await read(objects, ref)).entries).toEqual(entries);
  });

  test('is rejected if it is malformed', async () => {
    const objects = new Map<string, Uint8Array>();
    const leaf = (path: string) =>
      add(objects, { format: 3, entries: [{ path, kind: 'dir', mode: 0o755, mtime_ms: TIME }] });
    const node = (...parts: ObjectRef[]) => add(objects, { format: 3, parts });
    await expect(read(objects, node(leaf('b'), leaf('a')))).rejects.toEqual(damaged(/not sorted/));
    await expect(read(objects, node(leaf('a'), leaf('a')))).rejects.toEqual(damaged(/twice/));
    await expect(read(objects, node(leaf('a/b')))).rejects.toEqual(
      expect.objectContaining({ code: 'session_damaged' }),
    );
    let deep = leaf('a');
    for (let i = 0; i < 10; i++) deep = node(deep);
    await expect(read(objects, deep)).rejects.toEqual(damaged(/levels/));
    const huge = node({ sha256: '0'.repeat(64), bytes: 2 ** 40 });
    await expect(read(objects, huge)).rejects.toEqual(damaged(/declared size/));
    await expect(read(objects, add(objects, { format: 3, parts: [], entries: [] }))).rejects.toEqual(
      damaged(/invalid/),
    );
  });
});
