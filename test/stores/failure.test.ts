/** Disks that are full and folders that are closed: the session before stays, and the error says what to do. */
import { chmodSync, chownSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { diskStore } from '../../src/stores/disk/disk-store.ts';
import { buildChild, start } from './process.ts';
import { nthFiles, nthSession } from './sequence.ts';
import { plainSession, scratch, session, state } from './support.ts';

const child = buildChild();

test.skipIf(process.platform === 'win32')('a disk that takes no more leaves the session before', async () => {
  const dir = scratch();
  const store = diskStore(dir);
  const before = nthSession('one', 1, undefined);
  await store.write(before);
  // A limit on the size of files is a full disk that needs no rights to make; blocks are 512 or 1024 bytes.
  const limit = `trap '' XFSZ; ulimit -f 256; exec "$0" "$@"`;
  const writer = start('sh', ['-c', limit, process.execPath, child, 'writeOnce', dir, 'one', '2000000']);
  await writer.ended;
  expect(writer.lines).toEqual([
    expect.stringMatching(/^store_failed: Could not write session "one": .*limit/),
  ]);
  expect(plainSession(await store.read('one'))).toEqual(plainSession(before));
  expect(await store.edits('one')).toEqual({ removed: [], entries: [] });
  const size = await store.size('one');
  await store.write(nthSession('one', 2, undefined));
  expect(Math.abs((await store.size('one')) - size)).toBeLessThan(20_000);
});

test.skipIf(process.platform === 'win32')(
  'folders closed to the process leave the session before',
  async () => {
    const dir = scratch();
    // Nothing is closed to root, who therefore lets somebody else try.
    const nobody = process.getuid!() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;
    const rights = (path: string, mode: number) => {
      if (nobody !== undefined) chownSync(path, nobody.uid, nobody.gid);
      chmodSync(path, mode);
    };
    rights(dir, 0o700);
    const attempt = async () => {
      const writer = start(process.execPath, [child, 'writeOnce', dir, 'one', '1000'], {
        ...nobody,
        cwd: dirname(child),
      });
      await writer.ended;
      return writer.lines;
    };
    expect(await attempt()).toEqual(['wrote 1']);
    for (const closed of [
      join(dir, '.locks'),
      join(dir, 'one'),
      join(dir, 'one', 'objects'),
      join(dir, 'one', 'staging'),
    ]) {
      rights(closed, 0o500);
      expect(await attempt(), closed).toEqual([
        expect.stringMatching(/^store_failed: .*permission.*writable/),
      ]);
      rights(closed, 0o700);
      expect((await diskStore(dir).read('one'))!.state.version).toBe(1);
    }
    // The folder for people is not what the session lives in: a write is good without it, and it catches up later.
    const workspace = join(dir, 'one', 'workspace');
    rights(workspace, 0o500);
    expect(await attempt()).toEqual(['wrote 2']);
    expect(readFileSync(join(workspace, 'counter'), 'utf8')).toBe('1');
    rights(workspace, 0o700);
    const store = diskStore(dir);
    expect((await store.read('one'))!.state.version).toBe(2);
    expect(await store.edits('one')).toEqual({ removed: [], entries: [] });
    expect(readFileSync(join(workspace, 'counter'), 'utf8')).toBe(nthFiles(2)['counter']);
  },
);

test('a store whose folder cannot be made says so', async () => {
  const file = join(scratch(), 'file');
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

test('a folder in the way of session.json leaves the session before', async () => {
  const dir = scratch();
  const store = diskStore(dir);
  const release = await store.acquire('one');
  await store.write(session('one', state(1, { f: '1' })));
  const file = join(dir, 'one', 'session.json');
  const kept = readFileSync(file);
  rmSync(file);
  mkdirSync(join(file, 'x'), { recursive: true });
  await expect(store.write(session('one', state(2, { f: '2' })))).rejects.toThrow(
    'Could not write session "one"',
  );
  expect(readFileSync(join(dir, 'one', 'workspace', 'f'), 'utf8')).toBe('1');
  rmSync(file, { recursive: true });
  writeFileSync(file, kept);
  expect((await store.read('one'))!.state.version).toBe(1);
  await store.write(session('one', state(3, { f: '3' })));
  expect(readFileSync(join(dir, 'one', 'workspace', 'f'), 'utf8')).toBe('3');
  await release();
  expect(existsSync(join(dir, '.locks', 'one'))).toBe(false);
});
