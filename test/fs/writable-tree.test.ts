/**
 * Compares a volume that commits at random, and so creates its nodes again and again, with one that never does and keeps all
 * of its nodes, and with a map from path to entry to which the reported changes are applied.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../packages/core/src/fs/flat-entries.ts';
import { FileTree } from '../../packages/core/src/fs/immutable-file-tree.ts';
import type { Node } from '../../packages/core/src/fs/nodes.ts';
import type { TreeChanges } from '../../packages/core/src/fs/tree-changes.ts';
import { Volume, WRITABLE_ROOTS } from '../../packages/core/src/fs/volume.ts';
import { tree as anyTree } from './arbitraries.ts';
import {
  applyEdit,
  bytes,
  codeOf,
  dir,
  file,
  newVolume,
  readText,
  recountPaths,
  writeText,
} from './support.ts';

const LIMITS = { maxBytes: 2500, maxFiles: 60 };
const name = fc.constantFrom('a', 'b', 'é', 'a.b');
const path = fc
  .tuple(fc.constantFrom(...WRITABLE_ROOTS), fc.array(name, { minLength: 1, maxLength: 3 }))
  .map(([root, parts]) => `${root}/${parts.join('/')}`);

type Operation = (volume: Volume) => unknown;
const operation: fc.Arbitrary<Operation> = fc.oneof(
  fc.tuple(path, fc.string({ maxLength: 60 })).map(
    ([at, text]) =>
      (volume: Volume) =>
        writeText(volume, at, text),
  ),
  path.map((at) => (volume: Volume) => volume.mkdir(at, '/', 0o755)),
  path.map((at) => (volume: Volume) => volume.unlink(at, '/')),
  path.map((at) => (volume: Volume) => volume.rmdir(at, '/')),
  fc.tuple(path, path).map(
    ([from, to]) =>
      (volume: Volume) =>
        volume.rename(from, '/', to, '/'),
  ),
  fc.tuple(path, path).map(
    ([target, at]) =>
      (volume: Volume) =>
        volume.symlink(target, at, '/'),
  ),
  fc.tuple(path, fc.constantFrom(0o600, 0o755)).map(
    ([at, mode]) =>
      (volume: Volume) =>
        volume.chmod(volume.lookup(at, '/', false), mode),
  ),
  fc.tuple(path, fc.nat(99)).map(
    ([at, time]) =>
      (volume: Volume) =>
        volume.utimes(volume.lookup(at, '/', false), time),
  ),
  path.map(
    (at) => (volume: Volume) => volume.readdir(volume.lookup(at, '/', true)).map((entry) => entry.name),
  ),
);
const step = fc.record({ operation, commits: fc.constantFrom(...WRITABLE_ROOTS, undefined, undefined) });

const byPath = (entries: readonly Entry[]) => new Map(entries.map((entry) => [entry.path, entry]));
const plain = (entries: Iterable<Entry>) =>
  [...entries]
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .map(({ data, ...rest }) => ({ ...rest, data: data && [...data] }));

/** The lists of files that follow from the contents before and after. */
function expectLists(
  before: ReadonlyMap<string, Entry>,
  after: ReadonlyMap<string, Entry>,
  changes: TreeChanges,
) {
  const filesOf = (map: ReadonlyMap<string, Entry>) =>
    [...map.values()].filter(({ kind }) => kind === 'file');
  const isFile = (map: ReadonlyMap<string, Entry>, at: string) => map.get(at)?.kind === 'file';
  const created = filesOf(after).filter((entry) => !isFile(before, entry.path));
  const deleted = filesOf(before).filter((entry) => !isFile(after, entry.path));
  expect(changes.created).toEqual(created.map((entry) => entry.path).sort());
  expect(changes.deleted).toEqual(deleted.map((entry) => entry.path).sort());
  expect(changes.modified.every((at) => isFile(before, at) && isFile(after, at))).toBe(true);
  for (const { path: at, data } of filesOf(after))
    if (isFile(before, at) && Buffer.compare(data!, before.get(at)!.data!) !== 0)
      expect(changes.modified).toContain(at);
}

describe('a volume that creates its nodes on demand', () => {
  it('equals one that has all of its nodes, and reports every change', () => {
    fc.assert(
      fc.property(anyTree, anyTree, fc.array(step, { maxLength: 40 }), (app, tmp, steps) => {
        const clock = () => 7;
        const [lazy, eager] = [new Volume(LIMITS, clock), new Volume(LIMITS, clock)];
        const mirrors = { '/app': byPath(app), '/tmp': byPath(tmp) };
        for (const volume of [lazy, eager]) {
          volume.asHost(() => volume.fill('/app', app));
          volume.asHost(() => volume.fill('/tmp', FileTree.from(tmp)));
        }
        for (const { operation, commits } of steps) {
          const outcomes = [lazy, eager].map((volume) => codeOf(() => operation(volume)));
          expect(outcomes[0]).toBe(outcomes[1]);
          if (commits === undefined) continue;
          const before = new Map(mirrors[commits]);
          const changes = lazy.commit(commits);
          applyEdit(mirrors[commits], changes);
          expectLists(before, mirrors[commits], changes);
          expect(plain(lazy.baseline(commits).values())).toEqual(plain(mirrors[commits].values()));
          expect(lazy.changes(commits).entries).toEqual([]);
        }
        expect([lazy.usage(), lazy.pathBytes]).toEqual([eager.usage(), recountPaths(eager)]);
        for (const root of WRITABLE_ROOTS) {
          applyEdit(mirrors[root], lazy.changes(root));
          expect(plain(mirrors[root].values())).toEqual(plain(eager.entries(root)));
          expect(plain(lazy.entries(root))).toEqual(plain(eager.entries(root)));
        }
      }),
    );
  });

  it('keeps open files and nodes in use through a commit, wherever they were moved', () => {
    const volume = newVolume();
    volume.fill('/app', [dir('d'), dir('d/e'), file('d/e/f', 'old'), file('g', 'g')]);
    const open = volume.lookup('/app/d/e/f', '/', true);
    volume.retain(open);
    const listed = volume.lookup('/app/d/e', '/', true);
    volume.rename('/app/d', '/', '/app/moved', '/');
    volume.write(open, 0, bytes('new'));
    const { removed } = volume.commit('/app', () => new Set<Node>([listed]));
    expect(removed).toEqual(['d', 'd/e', 'd/e/f']);
    expect(volume.lookup('/app/moved/e', '/', true)).toBe(listed);
    expect(volume.lookup('/app/moved/e/f', '/', true)).toBe(open);
    expect(readText(volume, '/app/moved/e/f')).toBe('new');
    volume.write(open, 0, bytes('NEW'));
    writeText(volume, '/app/moved/e/g', 'g');
    expect(volume.readdir(listed).map((entry) => entry.name)).toEqual(['f', 'g']);
    expect(volume.changes('/app')).toMatchObject({
      created: ['moved/e/g'],
      modified: ['moved/e/f'],
      removed: [],
    });
  });

  it('assigns the same inode numbers whether nodes exist or not', () => {
    const entries = [dir('d'), file('d/f'), file('a'), file('z')];
    const numbers = (prepare: (volume: Volume) => void) => {
      const volume = newVolume();
      volume.fill('/app', entries);
      volume.fill('/tmp', [file('t')]);
      prepare(volume);
      const open = volume.lookup('/app/d/f', '/', true);
      volume.retain(open);
      volume.renumber([], () => new Set([open]));
      return ['a', 'd', 'd/f', 'z', '/tmp/t'].map((at) => volume.lookup(at, '/app', true).ino);
    };
    const fresh = numbers(() => {});
    expect(new Set(fresh).size).toBe(5);
    expect(numbers((volume) => volume.entries('/app'))).toEqual(fresh);
    expect(numbers((volume) => writeText(volume, '/app/z', 'changed'))).toEqual(fresh);
  });

  it('does not remember names that were created and removed', () => {
    const volume = newVolume();
    for (let i = 0; i < 50; i++) {
      writeText(volume, `/app/f${i}`, 'x');
      volume.unlink(`/app/f${i}`, '/');
    }
    const root = volume.lookup('/app', '/', true);
    expect(root.kind === 'dir' && 'changed' in root.entries && root.entries.changed).toEqual(new Map());
  });
});
