import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Entry } from '../../packages/core/src/fs/flat-entries.ts';
import { FileTree } from '../../packages/core/src/fs/immutable-file-tree.ts';
import { followLinks, missingFolders } from '../../packages/core/src/session/workspace-edits.ts';

const facts = { mode: 0o755, mtimeMs: 0 };
const folder = (path: string): Entry => ({ path, kind: 'dir', ...facts });
const link = (path: string, target: string): Entry => ({ path, kind: 'symlink', target, ...facts });

/** A tree that counts its lookups. */
function counted(entries: readonly Entry[]) {
  const tree = FileTree.from(entries);
  const counter = {
    lookups: 0,
    get(path: string) {
      counter.lookups++;
      return tree.get(path);
    },
  };
  return counter;
}

const DEPTH = 2000;
const chain = Array.from({ length: DEPTH }, (_, i) => folder('d/'.repeat(i + 1).slice(0, -1)));
const bottom = chain.at(-1)!.path;

describe('links on the way to a file', () => {
  test('are followed in folders, relative to them, and through other links', () => {
    const tree = FileTree.from([
      folder('a'),
      folder('a/b'),
      link('a/l', 'b'),
      link('a/b/up', '..'),
      link('top', '/app/a/l'),
      link('home', '/home/user/a'),
      link('root', '/app'),
    ]);
    const followed = (path: string) => followLinks(tree, path, '/home/user');
    expect(followed('a/l/new/f')).toBe('a/b/new/f');
    expect(followed('top/up/l/f')).toBe('a/b/f');
    expect(followed('home//b')).toBe('a/b');
    expect(followed('root/a/l')).toBe('a/b');
    expect(followed('root')).toBe('');
    expect(followed('nothing/l')).toBe('nothing/l');
  });

  test('are not followed out of the workspace or in a circle', () => {
    const tree = FileTree.from([link('out', '/etc'), link('up', '..'), link('c', 'c/x'), link('n', '')]);
    for (const path of ['out/f', 'up', 'c']) expect(followLinks(tree, path)).toBe(path);
  });

  // guarantee: linear-parsing
  test('take few lookups, however deep the file is', () => {
    const tree = counted(chain);
    expect(followLinks(tree, `${bottom}/f`)).toBe(`${bottom}/f`);
    expect(followLinks(tree, `${'x/'.repeat(DEPTH)}f`)).toBe(`${'x/'.repeat(DEPTH)}f`);
    expect(tree.lookups).toBeLessThan(30);
  });
});

describe('missing folders', () => {
  test('are those below the last folder that exists', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 6 }), fc.integer({ min: 1, max: 6 }), (existing, depth) => {
        const tree = FileTree.from(chain.slice(0, existing));
        const missing = chain.slice(existing, Math.max(existing, depth)).map(({ path }) => path);
        expect(missingFolders(tree, chain[depth - 1]!.path).map(({ path }) => path)).toEqual(missing);
      }),
    );
    expect(missingFolders(FileTree.from(chain.slice(0, 1)), '')).toEqual([]);
  });

  test('cannot be below a file', () => {
    const tree = FileTree.from([
      folder('a'),
      { path: 'a/f', kind: 'file', data: new Uint8Array(), ...facts },
    ]);
    expect(() => missingFolders(tree, 'a/f/b/c')).toThrow('a/f is not a folder');
  });

  // guarantee: linear-parsing
  test('are found with few lookups', () => {
    const tree = counted(chain);
    expect(missingFolders(tree, `${bottom}/e/e`)).toHaveLength(2);
    expect(tree.lookups).toBeLessThan(15);
  });
});
