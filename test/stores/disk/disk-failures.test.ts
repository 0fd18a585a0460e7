/** Full disks and missing permissions: the previous session stays, and the error says what to do. */
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { diskStore } from '../../../packages/core/src/stores/disk/disk-store.ts';
import { folderOfTest } from '../../support/folders.ts';
import { plainSession, readComplete, session, state } from '../fixtures.ts';
import { nthFiles, nthSession } from './numbered-sessions.ts';
import { buildStoreProgram, start } from './start-process.ts';

const program = buildStoreProgram();

describe('disk store on a failing disk', () => {
  test.skipIf(process.platform === 'win32')('keeps the previous session when the disk is full', async () => {
    const dir = folderOfTest();
    const store = diskStore(dir);
    const before = nthSession('one', 1, undefined);
    await store.write(before);
    // A file size limit simulates a full disk without privileges; blocks are 512 or 1024 bytes.
    const limit = `trap '' XFSZ; ulimit -f 256; exec "$0" "$@"`;
    const writer = start('sh', ['-c', limit, process.execPath, program, 'writeOnce', dir, 'one', '2000000']);
    await writer.ended;
    expect(writer.lines).toEqual([
      expect.stringMatching(/^store_failed: Could not write session "one": .*limit/),
    ]);
    expect(plainSession(await readComplete(store, 'one'))).toEqual(plainSession(before));
    expect(await store.edits('one')).toEqual({ removed: [], entries: [] });
    const size = await store.size('one');
    await store.write(nthSession('one', 2, undefined));
    expect(Math.abs((await store.size('one')) - size)).toBeLessThan(20_000);
  });

  test.skipIf(process.platform === 'win32')(
    'keeps the previous session when a folder is not writable',
    { tags: 'full' },
    async () => {
      const dir = folderOfTest();
      // Permissions do not restrict root, so root runs the program as another user.
      const otherUser = process.getuid!() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;
      const setMode = (path: string, mode: number) => {
        if (otherUser !== undefined) chownSync(path, otherUser.uid, otherUser.gid);
        chmodSync(path, mode);
      };
      setMode(dir, 0o700);
      const attempt = async () => {
        const writer = start(process.execPath, [program, 'writeOnce', dir, 'one', '1000'], {
          ...otherUser,
          cwd: dirname(program),
        });
        await writer.ended;
        return writer.lines;
      };
      expect(await attempt()).toEqual(['wrote 1']);
      for (const readOnly of [
        join(dir, '.locks'),
        join(dir, 'one'),
        join(dir, 'one', 'objects'),
        join(dir, 'one', 'staging'),
      ]) {
        setMode(readOnly, 0o500);
        expect(await attempt(), readOnly).toEqual([
          expect.stringMatching(/^store_failed: .*permission.*writable/),
        ]);
        setMode(readOnly, 0o700);
        expect((await diskStore(dir).read('one'))!.state.version).toBe(1);
      }
      // A write succeeds although workspace/ cannot be updated; the next call of edits() updates it.
      const workspace = join(dir, 'one', 'workspace');
      setMode(workspace, 0o500);
      expect(await attempt()).toEqual(['wrote 2']);
      expect(readFileSync(join(workspace, 'counter'), 'utf8')).toBe('1');
      setMode(workspace, 0o700);
      const store = diskStore(dir);
      expect((await store.read('one'))!.state.version).toBe(2);
      expect(await store.edits('one')).toEqual({ removed: [], entries: [] });
      expect(readFileSync(join(workspace, 'counter'), 'utf8')).toBe(nthFiles(2)['counter']);
    },
  );

  test('throws store_failed when the folder of the store cannot be created', async () => {
    const file = join(folderOfTest(), 'file');
    writeFileSync(file, 'mine');
    const store = diskStore(join(file, 'store'));
    await expect(store.write(session('one', state(1)))).rejects.toEqual(
      expect.objectContaining({ code: 'store_failed' }),
    );
    expect(await store.list()).toEqual({ records: [], damaged: [] });
    expect(await store.read('one')).toBeUndefined();
    rmSync(file);
    await store.write(session('one', state(1)));
    expect((await store.read('one'))!.state.version).toBe(1);
  });

  test('keeps the previous session when session.json cannot be replaced', async () => {
    const dir = folderOfTest();
    const store = diskStore(dir);
    const release = await store.acquire('one');
    await store.write(session('one', state(1, { f: '1' })));
    const file = join(dir, 'one', 'session.json');
    const original = readFileSync(file);
    rmSync(file);
    mkdirSync(join(file, 'x'), { recursive: true });
    await expect(store.write(session('one', state(2, { f: '2' })))).rejects.toThrow(
      'Could not write session "one"',
    );
    expect(readFileSync(join(dir, 'one', 'workspace', 'f'), 'utf8')).toBe('1');
    rmSync(file, { recursive: true });
    writeFileSync(file, original);
    expect((await store.read('one'))!.state.version).toBe(1);
    await store.write(session('one', state(3, { f: '3' })));
    expect(readFileSync(join(dir, 'one', 'workspace', 'f'), 'utf8')).toBe('3');
    await release();
    expect(existsSync(join(dir, '.locks', 'one'))).toBe(false);
  });

  test('a session whose lock could not be deleted can be opened again', async () => {
    const dir = folderOfTest();
    const locks = join(dir, '.locks');
    const store = diskStore(dir);
    const release = await store.acquire('one');
    await store.write(session('one', state(1)));
    // While the folder is a file, nothing in it can be deleted.
    renameSync(locks, `${locks}-hidden`);
    writeFileSync(locks, '');
    await release();
    await expect(store.acquire('one')).rejects.toMatchObject({ code: 'store_failed' });
    rmSync(locks);
    renameSync(`${locks}-hidden`, locks);
    expect(readdirSync(join(locks, 'one'))).toHaveLength(1);
    await store.write(session('one', state(2)));
    await (await diskStore(dir).acquire('one'))();
    expect(existsSync(join(locks, 'one'))).toBe(false);
  });

  test('deletes the lock of a released session when the disk works again', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    try {
      const dir = folderOfTest();
      const lock = join(dir, '.locks', 'one');
      const release = await diskStore(dir).acquire('one');
      renameSync(lock, `${lock}-hidden`);
      writeFileSync(lock, '');
      await release();
      rmSync(lock);
      renameSync(`${lock}-hidden`, lock);
      expect(existsSync(lock)).toBe(true);
      vi.advanceTimersToNextTimer();
      await vi.waitUntil(() => !existsSync(lock));
      await vi.waitUntil(() => vi.getTimerCount() === 0);
    } finally {
      vi.useRealTimers();
    }
  });
});
