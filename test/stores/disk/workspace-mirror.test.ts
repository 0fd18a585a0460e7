/** The folder workspace/: the files that a user finds there, and the edits that a user makes there. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkEntries } from '../../../packages/core/src/fs/flat-entries.ts';
import { diskStore } from '../../../packages/core/src/stores/disk/disk-store.ts';
import { folderOfTest } from '../../support/folders.ts';
import { repetitions } from '../../support/repetitions.ts';
import { files, plain, session, state, T0, text, withEdits } from '../fixtures.ts';

const NONE = { removed: [], entries: [] };

/** Creates a store and acquires session `one` in it. */
async function openSession(contents: Record<string, string>) {
  const dir = folderOfTest();
  const store = diskStore(dir);
  const release = await store.acquire('one');
  await store.write(session('one', state(1, contents)));
  const workspace = join(dir, 'one', 'workspace');
  const at = (path: string) => join(workspace, path);
  /** Applies the edits as a session does and commits the result. */
  const applyEdits = async () => {
    const { state: before } = (await store.read('one'))!;
    const edits = await store.edits('one');
    const next = withEdits(before.workspace, edits);
    checkEntries(next.values());
    await store.write(session('one', { ...before, version: before.version + 1, workspace: next }));
    return { edits, next };
  };
  return { dir, store, release, workspace, at, applyEdits };
}

function tree(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(folder.length + 1);
    if (entry.isDirectory()) found[`${name}/`] = '';
    else found[name] = entry.isFile() ? readFileSync(path, 'utf8') : 'other';
  }
  return found;
}

describe('workspace folder', () => {
  test('contains the files of /app with their times, but no symbolic links', async () => {
    const { workspace, at } = await openSession({ 'a.txt': 'A', 'd/b': 'B', 'e/': '', l: '-> /etc/passwd' });
    expect(tree(workspace)).toEqual({ 'a.txt': 'A', 'd/': '', 'd/b': 'B', 'e/': '' });
    expect(lstatSync(at('a.txt')).mtimeMs).toBe(T0);
  });

  test('a write changes only files that differ', async () => {
    const { store, workspace, at } = await openSession({ same: 's', old: 'o', 'd/x': 'x', kind: 'file' });
    const { ino } = lstatSync(at('same'));
    await store.write(
      session('one', state(2, { same: 's', new: 'n', d: 'file now', 'kind/in': 'folder now' })),
    );
    expect(tree(workspace)).toEqual({
      same: 's',
      new: 'n',
      d: 'file now',
      'kind/': '',
      'kind/in': 'folder now',
    });
    expect(lstatSync(at('same')).ino).toBe(ino);
    expect(await store.edits('one')).toEqual(NONE);
  });

  test('a session folder is accessible only to its owner and contains no unreferenced files', async () => {
    const { dir, store } = await openSession({ f: '1' });
    await store.write(session('one', state(2, { f: '2' })));
    await store.write(session('one', state(3, {})));
    expect(readdirSync(join(dir, 'one')).sort()).toEqual([
      'objects',
      'session.json',
      'staging',
      'workspace',
      'workspace.json',
    ]);
    const suffixes = readdirSync(join(dir, 'one', 'objects')).map((name) => name.slice(64));
    expect(suffixes.sort()).toEqual(['.changes.json', '.memory']);
    expect(readdirSync(join(dir, 'one', 'staging'))).toEqual([]);
    expect(lstatSync(join(dir, 'one')).mode & 0o777).toBe(0o700);
    expect(lstatSync(join(dir, 'one', 'session.json')).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(join(dir, 'one', 'session.json'), 'utf8')).record.session_id).toBe('one');
  });

  test('edits() reports added, changed and deleted files once', async () => {
    const { store, at } = await openSession({ keep: 'k', change: 'c', 'd/delete': 'x', 'd/stay': 'y' });
    writeFileSync(at('change'), 'changed');
    writeFileSync(at('new.csv'), '1,2');
    mkdirSync(at('sub/deep'), { recursive: true });
    writeFileSync(at('sub/deep/f'), 'f');
    rmSync(at('d/delete'));
    const { removed, entries } = await store.edits('one');
    expect(removed).toEqual(['d/delete']);
    expect(entries.map(({ path, kind, data }) => [path, kind, text(data)])).toEqual([
      ['change', 'file', 'changed'],
      ['new.csv', 'file', '1,2'],
      ['sub', 'dir', undefined],
      ['sub/deep', 'dir', undefined],
      ['sub/deep/f', 'file', 'f'],
    ]);
    expect(entries.every(({ data }) => data === undefined || data.buffer instanceof SharedArrayBuffer)).toBe(
      true,
    );
    expect(await store.edits('one')).toEqual(NONE);
  });

  test('edits() reports an edit to the next writer again if no write followed', async () => {
    const { dir, store, release, at, applyEdits } = await openSession({ f: 'f' });
    writeFileSync(at('new'), 'n');
    expect((await store.edits('one')).entries.length).toBe(1);
    await release();
    const other = diskStore(dir);
    const releaseOther = await other.acquire('one');
    expect((await other.edits('one')).entries.length).toBe(1);
    await releaseOther();
    await store.acquire('one');
    await applyEdits();
    expect(await store.edits('one')).toEqual(NONE);
    expect(text((await store.read('one'))!.state.workspace.get('new')!.data)).toBe('n');
  });

  test('edits() reports a change that preserves size and time', async () => {
    const { store, at } = await openSession({ f: 'aaaa' });
    writeFileSync(at('f'), 'bbbb');
    utimesSync(at('f'), T0 / 1000, T0 / 1000);
    expect((await store.edits('one')).entries.map(({ data }) => text(data))).toEqual(['bbbb']);
    writeFileSync(at('f'), 'cccc');
    expect((await store.edits('one')).entries.map(({ data }) => text(data))).toEqual(['cccc']);
  });

  test('edits() reports changes that keep the number of entries in a folder', async () => {
    const { store, at } = await openSession({ 'd/f': 'f', 'd/g': 'g', 'e/h': 'h' });
    expect(await store.edits('one')).toEqual(NONE);
    renameSync(at('d/f'), at('d/i'));
    const { removed, entries } = await store.edits('one');
    expect([removed, entries.map(({ path, data }) => [path, text(data)])]).toEqual([['d/f'], [['d/i', 'f']]]);
    const outside = folderOfTest();
    renameSync(at('e'), join(outside, 'e'));
    symlinkSync(join(outside, 'e'), at('e'));
    expect(await store.edits('one')).toEqual({ removed: ['e', 'e/h'], entries: [] });
  });

  test('edits() does not report a file that was touched, copied or rewritten with the same contents', async () => {
    const { dir, store, release, at } = await openSession({ f: 'same', 'd/g': 'same too' });
    utimesSync(at('f'), 1, 1);
    chmodSync(at('d/g'), 0o640);
    expect(await store.edits('one')).toEqual(NONE);
    await release();
    const copy = folderOfTest();
    cpSync(dir, copy, { recursive: true });
    expect(await diskStore(copy).edits('one')).toEqual(NONE);
  });

  test('edits() reports a file replaced by a folder and a folder replaced by a file', async () => {
    const { at, applyEdits } = await openSession({
      a: 'file',
      'b/in/x': '1',
      'b/l': '-> in',
      c: '-> a',
      z: 'z',
    });
    rmSync(at('a'));
    mkdirSync(at('a'));
    writeFileSync(at('a/inner'), 'i');
    rmSync(at('b'), { recursive: true });
    writeFileSync(at('b'), 'now a file');
    writeFileSync(at('c'), 'where a link was');
    const { edits, next } = await applyEdits();
    expect(edits.removed).toEqual(['b/in', 'b/in/x', 'b/l']);
    expect([...next.values()].map(({ path, kind, data }) => [path, kind, text(data)])).toEqual(
      expect.arrayContaining([
        ['a', 'dir', undefined],
        ['a/inner', 'file', 'i'],
        ['b', 'file', 'now a file'],
        ['c', 'file', 'where a link was'],
      ]),
    );
    expect(next.size).toBe(5);
  });

  test('deleting a folder also removes its entries that were not mirrored', async () => {
    const { store, at } = await openSession({ 'd/f': 'f', 'd/link': '-> f', 'd/e/': '', other: 'o' });
    rmSync(at('d'), { recursive: true });
    expect(await store.edits('one')).toEqual({ removed: ['d', 'd/e', 'd/f', 'd/link'], entries: [] });
  });

  test('edits() ignores links, pipes and invalid names, and does not follow links', async () => {
    const { store, workspace, at } = await openSession({ f: 'f', 'd/g': 'g' });
    const outside = folderOfTest();
    writeFileSync(join(outside, 'secret'), 'secret');
    symlinkSync(join(outside, 'secret'), at('stolen'));
    symlinkSync(outside, at('folder'));
    symlinkSync('loop', at('loop'));
    execFileSync('mkfifo', [at('pipe')]);
    writeFileSync(Buffer.concat([Buffer.from(`${workspace}/`), Buffer.from([0xff, 0xfe])]), 'no text');
    expect(await store.edits('one')).toEqual(NONE);
    // For the session, a file or folder that was replaced by a link is deleted.
    renameSync(at('d'), join(outside, 'd'));
    symlinkSync(join(outside, 'd'), at('d'));
    expect(await store.edits('one')).toEqual({ removed: ['d', 'd/g'], entries: [] });
  });

  test('nothing is written or removed through a symbolic link', async () => {
    const { store, at } = await openSession({ 'd/f': '1', 'd/old': 'x', g: '1' });
    const outside = folderOfTest();
    for (const name of ['f', 'old', 'g']) writeFileSync(join(outside, name), 'mine');
    rmSync(at('d'), { recursive: true });
    symlinkSync(outside, at('d'));
    rmSync(at('g'));
    symlinkSync(join(outside, 'g'), at('g'));
    await store.write(session('one', state(2, { 'd/f': '2', 'd/new': '2', g: '2' })));
    expect(tree(outside)).toEqual({ f: 'mine', old: 'mine', g: 'mine' });
    expect(readFileSync(at('d/f'), 'utf8')).toBe('2');
    expect(lstatSync(at('g')).isFile()).toBe(true);
  });

  test('a write does not change the target of a hard link', async () => {
    const { store, at } = await openSession({ f: '1' });
    const mine = join(folderOfTest(), 'mine');
    writeFileSync(mine, 'mine');
    rmSync(at('f'));
    linkSync(mine, at('f'));
    expect((await store.edits('one')).entries.map(({ data }) => text(data))).toEqual(['mine']);
    await store.write(session('one', state(2, { f: '2' })));
    expect(readFileSync(mine, 'utf8')).toBe('mine');
  });

  test('edits() restores a missing workspace folder', async () => {
    const { dir, store, release, workspace } = await openSession({ 'd/f': 'f', l: '-> d' });
    rmSync(workspace, { recursive: true });
    expect(await store.edits('one')).toEqual(NONE);
    expect(tree(workspace)).toEqual({ 'd/': '', 'd/f': 'f' });
    await release();
    rmSync(workspace, { recursive: true });
    symlinkSync(folderOfTest(), workspace);
    expect(await diskStore(dir).edits('one')).toEqual(NONE);
    expect(lstatSync(workspace).isDirectory()).toBe(true);
    expect(tree(workspace)).toEqual({ 'd/': '', 'd/f': 'f' });
  });

  test('a session whose folder is removed has no edits, and its next write creates it again', async () => {
    const { dir, store, workspace } = await openSession({ f: 'f' });
    const { state: before } = (await store.read('one'))!;
    rmSync(join(dir, 'one'), { recursive: true });
    expect(await store.edits('one')).toEqual(NONE);
    await store.write(session('one', { ...before, version: 2 }));
    const { workspace: stored } = (await diskStore(dir).read('one'))!.state;
    expect(plain(stored.values())).toEqual(plain(before.workspace.values()));
    expect(tree(workspace)).toEqual({ f: 'f' });
  });

  test('a workspace folder that is deleted after edits were reported is restored with them', async () => {
    const { store, workspace, at } = await openSession({ f: 'f' });
    writeFileSync(at('new'), 'n');
    const before = (await store.read('one'))!.state;
    const next = withEdits(before.workspace, await store.edits('one'));
    rmSync(workspace, { recursive: true });
    expect(await store.edits('one')).toEqual(NONE);
    await store.write(session('one', { ...before, version: 2, workspace: next }));
    expect(tree(workspace)).toEqual({ f: 'f', new: 'n' });
  });

  test('edits() works without workspace.json and reports no deletions then', async () => {
    const { dir, store, release, workspace, at } = await openSession({ f: 'f', g: 'g', h: 'h' });
    await release();
    writeFileSync(at('f'), 'edited');
    rmSync(at('g'));
    for (const damage of ['', '{}', '{"format":2,"synced":"x","files":[["../../up","1"]]}']) {
      writeFileSync(join(dir, 'one', 'workspace.json'), damage);
      const { removed, entries } = await store.edits('one');
      expect([removed, entries.map(({ path }) => path)]).toEqual([[], ['f']]);
      expect(Object.keys(tree(workspace))).toEqual(['f', 'g', 'h']);
    }
  });

  test('a change is appended to workspace.json, and an incomplete last line is ignored', async () => {
    const contents = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`f${i}`, `${i}`]));
    const { dir, store, release, at } = await openSession(contents);
    const index = join(dir, 'one', 'workspace.json');
    const before = readFileSync(index, 'utf8');
    await store.write(session('one', state(2, { ...contents, f1: 'changed', new: 'n' })));
    const after = readFileSync(index, 'utf8');
    expect(after.startsWith(before)).toBe(true);
    expect(after.length - before.length).toBeLessThan(before.length / 4);
    // Another process reads both parts.
    await release();
    expect(await diskStore(dir).edits('one')).toEqual(NONE);
    for (const end of ['{"synced"', '{"synced":"x"}\n']) {
      writeFileSync(index, after + end);
      writeFileSync(at('f2'), 'edited');
      const reader = diskStore(dir);
      const { removed, entries } = await reader.edits('one');
      expect([removed, entries.map(({ path }) => path)]).toEqual([[], ['f2']]);
    }
    // The next writer replaces the file.
    await store.write(session('one', state(3, { ...contents, f3: 'changed' })));
    expect(readFileSync(index, 'utf8')).not.toContain('"x"');
    expect(await diskStore(dir).edits('one')).toEqual(NONE);
  });

  test('edits() rejects a file that is too large without reading it, and names it', async () => {
    const { store, at } = await openSession({ f: 'f' });
    writeFileSync(at('small'), 's');
    writeFileSync(at('huge'), '');
    truncateSync(at('huge'), 40 * 1024 ** 3);
    await expect(store.edits('one')).rejects.toThrow(/workspace.huge.*Remove it/);
    rmSync(at('huge'));
    expect((await store.edits('one')).entries.map(({ path }) => path)).toEqual(['small']);
  });

  test('a file whose name the host does not support stays in the session', async () => {
    const long = `${'n'.repeat(250)}/`.repeat(15);
    const contents = { [`${long}f`]: 'deep', plain: 'p', 'new\nline': 'n', 'q?*|': 'q' };
    const { store, workspace } = await openSession(contents);
    expect(await store.edits('one')).toEqual(NONE);
    expect(plain((await store.read('one'))!.state.workspace.values())).toEqual(
      plain(files(contents).values()),
    );
    expect(existsSync(join(workspace, 'plain'))).toBe(true);
  });

  test('after any edits, the session that applies them has the files of the folder', async () => {
    const path = fc.constantFrom('a', 'b', 'a/x', 'a/y', 'b/x', 'a/x/z');
    const edit = fc.record({
      path,
      act: fc.constantFrom('write', 'mkdir', 'delete'),
      content: fc.string({ maxLength: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(edit, { maxLength: 8 }),
        fc.array(edit, { maxLength: 8 }),
        async (first, second) => {
          const { workspace, at, applyEdits, store, release } = await openSession({
            'a/x': '1',
            b: '2',
            'c/d': '-> ../b',
          });
          for (const edits of [first, second]) {
            for (const { path, act, content } of edits) {
              try {
                rmSync(at(path), { recursive: true, force: true });
                if (act === 'write') writeFileSync(at(path), content);
                if (act === 'mkdir') mkdirSync(at(path));
              } catch {
                // The parent is missing or a file, so there is no edit.
              }
            }
            await applyEdits();
            const { workspace: current } = (await store.read('one'))!.state;
            const visible = [...current.values()].filter(({ kind }) => kind !== 'symlink');
            expect(
              Object.fromEntries(
                visible.map(({ path, kind, data }) => [kind === 'dir' ? `${path}/` : path, text(data) ?? '']),
              ),
            ).toEqual(tree(workspace));
            expect(await store.edits('one')).toEqual(NONE);
          }
          await release();
        },
      ),
      { numRuns: repetitions(8, 100) },
    );
  });
});
