import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { utf8Length } from '../../packages/core/src/fs/file-names.ts';
import type { Entry } from '../../packages/core/src/fs/flat-entries.ts';
import { EMPTY_TREE, entryBytes, FileTree } from '../../packages/core/src/fs/immutable-file-tree.ts';
import { tree as anyTree } from './arbitraries.ts';
import { applyEdit, dir, file, link } from './support.ts';

/** Entries whose paths are often equal, or start with each other. */
const path = fc.array(fc.constantFrom('a', 'b', 'a.b', 'a0', 'é', 'z'), { minLength: 1, maxLength: 3 });
const entry = fc.tuple(path, fc.constantFrom('file', 'dir', 'symlink')).map(([parts, kind]) => {
  const at = parts.join('/');
  return kind === 'file' ? file(at, at) : kind === 'dir' ? dir(at) : link(at, 'é');
});
const edit = fc.record({
  removed: fc.array(
    path.map((parts) => parts.join('/')),
    { maxLength: 5 },
  ),
  entries: fc.array(entry, { maxLength: 5 }),
});
/** Large enough for a batch to be merged. */
const batch = fc.record({
  removed: fc.constant([] as string[]),
  entries: fc.array(entry, { minLength: 32, maxLength: 60 }),
});
const edits = fc.array(fc.oneof({ weight: 5, arbitrary: edit }, batch), { maxLength: 12 });

const sorted = (model: ReadonlyMap<string, Entry>) =>
  [...model.values()].sort((a, b) => (a.path < b.path ? -1 : 1));

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);

/** Compares the results of all queries of a tree with those of a model. */
function expectEqual(tree: FileTree, model: ReadonlyMap<string, Entry>): void {
  const wanted = sorted(model);
  const paths = wanted.map((one) => one.path);
  expect([...tree.values()]).toEqual(wanted);
  expect([...tree]).toEqual(wanted.map((one) => [one.path, one]));
  expect([...tree.keys()]).toEqual(paths);
  expect(tree.size).toBe(wanted.length);
  expect(tree.bytes).toBe(sum(wanted.map(entryBytes)));
  expect(tree.pathBytes).toBe(sum(paths.map(utf8Length)));
  expect(tree.longestPath).toBe(Math.max(0, ...paths.map(utf8Length)));
  for (const [rank, one] of wanted.entries()) {
    expect(tree.get(one.path)).toBe(one);
    expect(tree.rankOf(one.path)).toBe(rank);
    const below = wanted.filter((other) => other.path.startsWith(`${one.path}/`));
    expect([...tree.below(one.path)]).toEqual(below);
    expect(tree.hasChildren(one.path)).toBe(below.length > 0);
  }
  for (const prefix of ['', ...paths.map((one) => `${one}/`)]) {
    const children = wanted.flatMap((one, rank) => {
      const isChild = one.path.startsWith(prefix) && !one.path.slice(prefix.length).includes('/');
      return isChild ? [{ entry: one, rank }] : [];
    });
    expect([...tree.children(prefix)]).toEqual(children);
  }
}

describe('FileTree', () => {
  it('equals a map after any sequence of edits, and earlier trees do not change', () => {
    fc.assert(
      fc.property(edits, (sequence) => {
        const model = new Map<string, Entry>();
        const history: { tree: FileTree; entries: Entry[] }[] = [];
        let tree = EMPTY_TREE;
        for (const one of sequence) {
          tree = tree.apply(one);
          applyEdit(model, one);
          history.push({ tree, entries: sorted(model) });
        }
        expectEqual(tree, model);
        for (const { tree: earlier, entries } of history) expect([...earlier.values()]).toEqual(entries);
      }),
    );
  });

  it('equals a map after single changes', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), entry), { maxLength: 60 }), (steps) => {
        const model = new Map<string, Entry>();
        let tree = EMPTY_TREE;
        for (const [adds, one] of steps) {
          tree = adds ? tree.set(one) : tree.delete(one.path);
          if (adds) model.set(one.path, one);
          else model.delete(one.path);
        }
        expectEqual(tree, model);
      }),
    );
  });

  it('has a difference that turns any tree into any other', () => {
    fc.assert(
      fc.property(edits, edits, edits, (common, left, right) => {
        const start = common.reduce((tree, one) => tree.apply(one), EMPTY_TREE);
        const one = left.reduce((tree, next) => tree.apply(next), start);
        const other = right.reduce((tree, next) => tree.apply(next), start);
        const difference = one.difference(other);
        expect([...one.apply(difference).values()]).toEqual([...other.values()]);
        const changed = (at: string) => one.get(at) !== other.get(at);
        expect(difference.removed.every((at) => one.has(at) && !other.has(at))).toBe(true);
        expect(difference.entries.every((next) => changed(next.path))).toBe(true);
        expect(one.difference(one)).toEqual({ removed: [], entries: [] });
      }),
    );
  });

  it('is the same for entries in any order', () => {
    fc.assert(
      fc.property(anyTree, fc.infiniteStream(fc.nat()), (entries, numbers) => {
        const shuffled = entries
          .map((one) => ({ one, at: numbers.next().value as number }))
          .sort((a, b) => a.at - b.at)
          .map(({ one }) => one);
        expect([...FileTree.from(shuffled).values()]).toEqual([...FileTree.from(entries).values()]);
      }),
    );
  });

  it('compares few entries to find one or to compute a difference', () => {
    let reads = 0;
    const counted = (at: string): Entry => ({
      ...file(at),
      get path() {
        reads++;
        return at;
      },
    });
    const readsOf = (act: () => unknown) => {
      reads = 0;
      act();
      return reads;
    };
    const name = (i: number) => `f${String(i).padStart(5, '0')}`;
    let tree = EMPTY_TREE;
    // In order: without balancing, the tree would become a list.
    for (let i = 0; i < 4096; i++) tree = tree.set(counted(name(i)));
    expect(readsOf(() => tree.get(name(4095)))).toBeLessThan(40);
    expect(readsOf(() => tree.rankOf(name(4095)))).toBeLessThan(40);
    expect(readsOf(() => [...tree.below(name(4095))])).toBeLessThan(40);
    const next = tree
      .set(counted(name(2000)))
      .delete(name(77))
      .set(counted('g'));
    expect(readsOf(() => tree.difference(next))).toBeLessThan(200);
    const { removed, entries } = tree.difference(next);
    expect([removed, entries.map((one) => one.path)]).toEqual([[name(77)], [name(2000), 'g']]);
    for (let i = 0; i < 4095; i++) tree = tree.delete(name(i));
    expect([...tree.keys()]).toEqual([name(4095)]);
  });

  it('cannot be cloned by mistake', () => {
    expect(() => structuredClone(FileTree.from([file('f')]))).toThrow('could not be cloned');
    const seen: string[] = [];
    FileTree.from([file('b'), file('a')]).forEach((_, at) => {
      seen.push(at);
    });
    expect(seen).toEqual(['a', 'b']);
  });

  it('holds a chain of two thousand directories', () => {
    const chain = Array.from({ length: 2000 }, (_, i) =>
      dir(
        Array(i + 1)
          .fill('d')
          .join('/'),
      ),
    );
    let tree = FileTree.from(chain);
    const deepest = `${chain.at(-1)!.path}/f`;
    tree = tree.set(file(deepest, 'x'));
    expect(tree.size).toBe(2001);
    expect([...tree.below('d')]).toHaveLength(2000);
    expect([...tree.children('')].map((one) => one.entry.path)).toEqual(['d']);
    expect(tree.longestPath).toBe(deepest.length);
  });
});
