/** Edits by users in a workspace with so many files that the store watches its folders instead of reading all attributes. */
import {
  appendFileSync,
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { FileTree } from '../../../packages/core/src/fs/immutable-file-tree.ts';
import { diskStore } from '../../../packages/core/src/stores/disk/disk-store.ts';
import { FolderWatch } from '../../../packages/core/src/stores/disk/folder-watch.ts';
import { folderOfTest } from '../../support/folders.ts';
import { repetitions } from '../../support/repetitions.ts';
import { files, session, state, text } from '../fixtures.ts';

const NONE = { removed: [], entries: [] };
const MANY = 300;
const isLinux = process.platform === 'linux';

/** Starts to watch a folder. The thread starts in the background, so the first attempts do nothing. */
async function watched(root: string, folders: readonly string[] = ['']): Promise<FolderWatch> {
  const watch = new FolderWatch(root);
  onTestFinished(() => watch.stop());
  for (let i = 0; i < 1000 && !watch.isWatching(''); i++) {
    await new Promise((next) => setTimeout(next, 10));
    await watch.start(new Set(folders), MANY);
  }
  expect(watch.isWatching('')).toBe(true);
  return watch;
}

/** A session with many files in nested folders, whose folders are watched. */
async function openSession() {
  const dir = folderOfTest();
  const names = Array.from({ length: MANY }, (_, i) => `d${i % 3}/e${i % 2}/f${i}`);
  let current = FileTree.of(files(Object.fromEntries(names.map((name) => [name, 'text']))));
  const store = diskStore(dir, { durability: 'relaxed' });
  const release = await store.acquire('one');
  onTestFinished(release);
  let version = 1;
  const save = () => store.write(session('one', { ...state(version++), workspace: current }));
  await save();
  // The thread runs; the first comparison starts to watch, and the second uses what was reported.
  if (isLinux) await watched(folderOfTest());
  expect(await store.edits('one')).toEqual(NONE);
  expect(await store.edits('one')).toEqual(NONE);
  return {
    store,
    at: (path: string) => join(dir, 'one', 'workspace', path),
    folder: join(dir, 'one'),
    save,
    /** Applies the edits as a session does. */
    async sync() {
      const edits = await store.edits('one');
      current = current.apply(edits);
      return edits;
    },
    /** Changes files as a program does. */
    async commit(contents: Readonly<Record<string, string>>, removed: readonly string[] = []) {
      current = current.apply({ removed, entries: [...files(contents).values()] });
      await save();
    },
    files: () =>
      Object.fromEntries(
        [...current.values()].map(({ path, kind, data }) => [
          kind === 'dir' ? `${path}/` : path,
          text(data) ?? '',
        ]),
      ),
  };
}

function filesIn(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(folder.length + 1);
    if (entry.isDirectory()) found[`${name}/`] = '';
    else if (entry.isFile()) found[name] = readFileSync(path, 'utf8');
  }
  return found;
}

describe('edits in a workspace with many files', () => {
  test.each<[string, (at: (path: string) => string) => void]>([
    ['written in place', (at) => writeFileSync(at('d0/e0/f0'), 'new!')],
    ['appended', (at) => appendFileSync(at('d1/e1/f1'), '+')],
    ['truncated', (at) => truncateSync(at('d1/e1/f1'), 1)],
    [
      'written with the same size and times',
      (at) => {
        const { atime, mtime } = statSync(at('d0/e0/f0'));
        writeFileSync(at('d0/e0/f0'), 'next');
        utimesSync(at('d0/e0/f0'), atime, mtime);
      },
    ],
    [
      'saved by an editor',
      (at) => {
        writeFileSync(at('d0/e0/.f0.swp'), 'saved');
        renameSync(at('d0/e0/.f0.swp'), at('d0/e0/f0'));
      },
    ],
    ['created', (at) => writeFileSync(at('d2/e0/new'), 'new')],
    ['created at the top', (at) => writeFileSync(at('new'), 'new')],
    ['removed', (at) => rmSync(at('d2/e0/f2'))],
    ['renamed', (at) => renameSync(at('d2/e0/f2'), at('d2/e0/renamed'))],
    ['moved to another folder', (at) => renameSync(at('d2/e0/f2'), at('d1/f2'))],
    ['named like its folder', (at) => writeFileSync(at('d0/d0'), 'd0')],
    [
      'created in new folders',
      (at) => {
        mkdirSync(at('d0/x/y'), { recursive: true });
        writeFileSync(at('d0/x/y/z'), 'z');
      },
    ],
    ['removed with their folder', (at) => rmSync(at('d1'), { recursive: true })],
    ['moved with their folder', (at) => renameSync(at('d1/e0'), at('moved'))],
    [
      'created in the place of a folder',
      (at) => {
        rmSync(at('d1/e0'), { recursive: true });
        writeFileSync(at('d1/e0'), 'file');
      },
    ],
    [
      'in a folder that was replaced by another',
      (at) => {
        renameSync(at('d1/e0'), at('aside'));
        mkdirSync(at('d1/e0'));
        writeFileSync(at('d1/e0/f4'), 'other');
      },
    ],
    [
      'replaced by a link',
      (at) => {
        rmSync(at('d0/e0/f0'));
        symlinkSync('/etc/passwd', at('d0/e0/f0'));
      },
    ],
  ])('files %s', async (_, edit) => {
    const { at, sync, files: current, save } = await openSession();
    edit(at);
    const { removed, entries } = await sync();
    expect(removed.length + entries.length).toBeGreaterThan(0);
    expect(current()).toEqual(filesIn(at('')));
    expect(await sync()).toEqual(NONE);
    await save();
    expect(await sync()).toEqual(NONE);
    expect(current()).toEqual(filesIn(at('')));
  });

  test('are seen again and again, as fast as they are made', async () => {
    const { at, sync } = await openSession();
    for (let i = 0; i < 30; i++) {
      writeFileSync(at('d0/e0/f0'), `${1000 + i}`);
      expect((await sync()).entries.map(({ data }) => text(data))).toEqual([`${1000 + i}`]);
    }
  });

  test('are seen if a program wrote other files, or folders, at the same time', async () => {
    const { at, sync, commit } = await openSession();
    for (let i = 0; i < 5; i++) {
      const committed = commit({ [`d0/e0/own${i}`]: 'own', [`own${i}/x`]: 'x' }, ['d1/e1/f1']);
      writeFileSync(at('d2/e0/f2'), `user ${i}`);
      await committed;
      writeFileSync(at(`own${i}/y`), 'y');
      const { removed, entries } = await sync();
      expect(removed).toEqual([]);
      expect(entries.map(({ path }) => path)).toEqual(['d2/e0/f2', `own${i}/y`]);
    }
  });

  test('are seen through a descriptor that was opened before', async () => {
    const { at, sync } = await openSession();
    const descriptor = openSync(at('d0/e0/f0'), 'r+');
    expect(await sync()).toEqual(NONE);
    writeSync(descriptor, 'late');
    expect((await sync()).entries.map(({ data }) => text(data))).toEqual(['late']);
    closeSync(descriptor);
  });

  test('are seen in the end if the kernel does not report them', async () => {
    const { at, sync, folder } = await openSession();
    linkSync(at('d0/e0/f0'), join(folder, 'link'));
    writeFileSync(join(folder, 'link'), 'linked');
    const seen: (string | undefined)[] = [];
    for (let i = 0; i < MANY; i++) seen.push(...(await sync()).entries.map(({ data }) => text(data)));
    expect(seen).toEqual(['linked']);
  });

  test('are seen if another folder takes the place of the workspace', async () => {
    const { at, sync, files: current } = await openSession();
    const root = dirname(at('x'));
    renameSync(root, `${root}.old`);
    mkdirSync(root);
    writeFileSync(at('only'), 'only');
    await sync();
    expect(current()).toEqual({ only: 'only' });
  });

  test('are the files of the folder after any edits by users and programs', async () => {
    const folder = fc.constantFrom('', 'd0/', 'd0/e0/', 'd1/e1/', 'n/', 'n/m/');
    const path = fc
      .tuple(folder, fc.constantFrom('a', 'b', 'd0', 'e0', 'm', 'n', 'f0'))
      .map((parts) => parts.join(''));
    const edit = fc.record({
      path,
      to: path,
      act: fc.constantFrom('write', 'write', 'mkdir', 'delete', 'rename', 'commit', 'sync'),
      content: fc.string({ unit: fc.constantFrom('x', 'y'), minLength: 1, maxLength: 2 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 25 }), async (edits) => {
        const { at, sync, commit, files: current } = await openSession();
        for (const { path, to, act, content } of edits) {
          try {
            if (act === 'write') writeFileSync(at(path), content);
            if (act === 'mkdir') mkdirSync(at(path));
            if (act === 'delete') rmSync(at(path), { recursive: true });
            if (act === 'rename') renameSync(at(path), at(to));
          } catch {
            // The parent is missing or a file, so there is no edit.
          }
          if (act === 'sync' || act === 'commit') await sync();
          if (act === 'commit') await commit({ [`d2/e0/${content}`]: content });
        }
        await sync();
        expect(current()).toEqual(filesIn(at('')));
        expect(await sync()).toEqual(NONE);
      }),
      { numRuns: repetitions(6, 60) },
    );
  });
});

describe.runIf(isLinux)('watched folders', () => {
  test('report paths once', async () => {
    const root = folderOfTest();
    mkdirSync(join(root, 'a/b'), { recursive: true });
    writeFileSync(join(root, 'a/b/c'), 'c');
    const watch = await watched(root, ['', 'a', 'a/b']);
    expect(await watch.changes()).toEqual([]);
    writeFileSync(join(root, 'a/b/c'), 'd');
    writeFileSync(join(root, 'e'), 'e');
    expect(await watch.changes()).toEqual(['a/b/c', 'e']);
    expect(await watch.changes()).toEqual([]);
  });

  test('report nothing after more changes than they remember, until they are watched again', async () => {
    const root = folderOfTest();
    const watch = await watched(root);
    for (let i = 0; i < 5000; i++) writeFileSync(join(root, `${i}`), '');
    expect(await watch.changes()).toBeUndefined();
    expect(await watch.changes()).toBeUndefined();
    await watch.start(new Set(['']), MANY);
    expect(await watch.changes()).toEqual([]);
    writeFileSync(join(root, 'x'), '');
    expect(await watch.changes()).toEqual(['x']);
  });

  test('report nothing once while others are no longer watched, because their events were not counted', async () => {
    const [first, second] = [await watched(folderOfTest()), await watched(folderOfTest())];
    first.stop();
    expect(await second.changes()).toBeUndefined();
    await second.start(new Set(['']), MANY);
    expect(await second.changes()).toEqual([]);
    expect(await first.changes()).toBeUndefined();
  });

  test('are not watched if they are few files, too many folders, or not on a local file system', async () => {
    await watched(folderOfTest());
    for (const [root, folders, count] of [
      [folderOfTest(), [''], 10],
      [folderOfTest(), Array.from({ length: 1000 }, (_, i) => `${i}`), MANY],
      ['/proc/self', [''], MANY],
      [join(folderOfTest(), 'missing'), [''], MANY],
    ] as const) {
      const watch = new FolderWatch(root);
      await watch.start(new Set(folders), count);
      expect(watch.isWatching('')).toBe(false);
      expect(await watch.changes()).toBeUndefined();
    }
  });
});
