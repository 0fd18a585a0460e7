/** The workspace between two calls, with changes that were made at the same time and with very long paths. */
import { describe, expect, test } from 'vitest';
import { validTrees } from '../../packages/core/src/fs/check-tree-edit.ts';
import type { Entry } from '../../packages/core/src/fs/flat-entries.ts';
import type { TreeChanges } from '../../packages/core/src/fs/tree-changes.ts';
import { WorkspaceFiles } from '../../packages/core/src/sandbox/workspace-files.ts';
import { limitChangedFiles } from '../../packages/core/src/worker/protocol/limit-changed-files.ts';

const folder = (path: string): Entry => ({ path, kind: 'dir', mode: 0o755, mtimeMs: 1 });
const file = (path: string): Entry => ({
  path,
  kind: 'file',
  mode: 0o644,
  mtimeMs: 1,
  data: new Uint8Array(1),
});
const changes = (change: Partial<TreeChanges>) => ({
  changes: { created: [], modified: [], deleted: [], removed: [], entries: [], ...change },
});

function workspaceOf(...entries: Entry[]): WorkspaceFiles {
  const workspace = new WorkspaceFiles(() => 2, { maxBytes: 1 << 26, maxFiles: 10_000 });
  workspace.apply(changes({ entries }));
  return workspace;
}

const kinds = (workspace: WorkspaceFiles) =>
  Object.fromEntries([...workspace.snapshot().values()].map(({ path, kind }) => [path, kind]));

/** A chain of nested folders, outermost first. */
const chain = (depth: number, name = 'd') =>
  Array.from({ length: depth }, (_, i) => `${name}/`.repeat(i + 1).slice(0, -1));

describe('changes made by concurrent runs', () => {
  test('keep a file whose folder another run removed', () => {
    const workspace = workspaceOf(folder('a'), folder('a/b'));
    workspace.apply(changes({ entries: [folder('a/b/c'), file('a/b/c/f')] }));
    workspace.takeEdits();
    workspace.apply(changes({ removed: ['a', 'a/b'] }));
    expect(kinds(workspace)).toEqual({ a: 'dir', 'a/b': 'dir', 'a/b/c': 'dir', 'a/b/c/f': 'file' });
    // The run that removed the folders has none of them.
    expect(workspace.takeEdits().entries.map(({ path }) => path)).toEqual(['a', 'a/b', 'a/b/c']);
  });

  test('remove a file whose folder another run replaced by a file', () => {
    const workspace = workspaceOf(folder('a'), folder('a/b'), file('a/b/f'), file('a2'));
    workspace.apply(changes({ removed: ['a/b', 'a/b/f'], entries: [file('a')] }));
    workspace.apply(changes({ entries: [folder('a/c'), file('a/c/g')] }));
    expect(kinds(workspace)).toEqual({ a: 'file', a2: 'file' });
  });

  test('do not remove files whose path only begins like that of a removed folder', () => {
    const workspace = workspaceOf(folder('a'), folder('ab'), file('ab/f'), file('a/f'));
    workspace.apply(changes({ removed: ['a', 'a/f'] }));
    expect(kinds(workspace)).toEqual({ ab: 'dir', 'ab/f': 'file' });
  });

  // guarantee: linear-parsing
  test('are combined in linear time for deep folders', { tags: 'full' }, () => {
    const deep = chain(2_000);
    const bottom = deep.at(-1)!;
    const workspace = workspaceOf(...deep.map(folder));
    const siblings = Array.from({ length: 2_000 }, (_, i) => [
      folder(`${bottom}/${i}`),
      file(`${bottom}/${i}/f`),
    ]);
    workspace.apply(changes({ entries: siblings.flat() }));
    workspace.apply(changes({ removed: deep }));
    expect(workspace.snapshot().size).toBe(6_000);
    workspace.apply(changes({ removed: deep.slice(1), entries: [file('d')] }));
    expect(kinds(workspace)).toEqual({ d: 'file' });
  });

  test('are rejected before a long path creates more folders than the quota allows', () => {
    const workspace = workspaceOf();
    const files = Object.fromEntries(
      Array.from({ length: 2_000 }, (_, i) => [`${`${i}/`.repeat(800)}f`, '']),
    );
    expect(() => workspace.write(files)).toThrow(expect.objectContaining({ code: 'quota_exceeded' }));
  });

  // guarantee: linear-parsing
  test('are rejected at the first file whose folders make the paths too long in total', () => {
    const folders = 'd/'.repeat(1_500);
    const files = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name) => [`${name}/${folders}f`, '']));
    // Those of all five would have 11 MB.
    expect(() => workspaceOf().write(files)).toThrow('in 4,506 entries with paths totalling 6790542 bytes');
  });

  test('are rejected before a path that is too long creates folders', () => {
    const write = () => workspaceOf().write({ [`${'d/'.repeat(20_000)}f`]: '' });
    expect(write).toThrow(expect.objectContaining({ code: 'invalid_path' }));
  });

  test('are counted like the tree that they make', () => {
    const workspace = workspaceOf(folder('a'), file('a/f'));
    workspace.write({ 'a/f': 'xy', 'a/é/g': 'z', h: '' });
    const { size, bytes, pathBytes } = workspace.snapshot();
    expect({ size, bytes, pathBytes }).toEqual({ size: 5, bytes: 3, pathBytes: 15 });
    // A file that becomes smaller makes room for another one, whichever comes first.
    const full = new WorkspaceFiles(() => 2, { maxBytes: 3, maxFiles: 10 });
    full.write({ a: 'xyz' });
    full.write({ b: 'xyz', a: '' });
    expect(() => full.write({ c: 'x' })).toThrow(expect.objectContaining({ code: 'quota_exceeded' }));
  });
});

describe('changes by the host', () => {
  test('are checked once, not again by a store', () => {
    const workspace = workspaceOf();
    workspace.write({ 'a/f': 'x' });
    expect(validTrees.has(workspace.snapshot())).toBe(true);
    workspace.merge({ removed: [], entries: [folder('b'), file('b/f')] });
    expect(validTrees.has(workspace.snapshot())).toBe(true);
    expect(() => workspace.merge({ removed: [], entries: [file('c/../f')] })).toThrow('has a component');
    expect(kinds(workspace)).toEqual({ a: 'dir', 'a/f': 'file', b: 'dir', 'b/f': 'file' });
  });
});

describe('lists of changed files', () => {
  const paths = (count: number, length: number) =>
    Array.from({ length: count }, (_, i) => String(i).padStart(length, 'x'));

  test('are complete for ten thousand files with paths of ordinary length', () => {
    const { changes: all } = changes({ created: paths(9_000, 100), deleted: paths(1_000, 100) });
    expect(limitChangedFiles(all)).toEqual({ changes: all, omitted: 0 });
  });

  // guarantee: output-limit
  test('are truncated to one MiB of paths, but all changes are applied', () => {
    const entries = paths(9_900, 4_000).map(file);
    const { changes: all } = changes({
      created: entries.map(({ path }) => path),
      modified: ['a'],
      removed: ['b'],
      entries,
    });
    const { changes: limited, omitted } = limitChangedFiles(all);
    expect(limited.created).toEqual(all.created.slice(0, 262));
    expect(omitted).toBe(9_900 - 262 + 1);
    expect(limited.modified).toEqual([]);
    expect(limited).toMatchObject({ removed: ['b'], entries });
  });
});
