/** One writer per session, among processes, machines and containers, and after crashes. */
import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { diskStore } from '../../../packages/core/src/stores/disk/disk-store.ts';
import { isRunning, thisProcess } from '../../../packages/core/src/stores/disk/process-identity.ts';
import { folderOfTest } from '../../support/folders.ts';
import { session, state } from '../fixtures.ts';

const busy = expect.objectContaining({ name: 'SandboxError', code: 'session_busy' });
const TOKEN = '00000000-0000-4000-8000-000000000000';

/** Writes a claim file as another process would have. */
function writeClaim(dir: string, claim: object | string, ageMs = 0): string {
  const folder = join(dir, '.locks', 'one');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, TOKEN);
  const valid = { stage: 'taken', token: TOKEN, ...thisProcess(), since: new Date().toISOString() };
  writeFileSync(path, typeof claim === 'string' ? claim : JSON.stringify({ ...valid, ...claim }));
  const touched = (Date.now() - ageMs) / 1000;
  utimesSync(path, touched, touched);
  return path;
}

function deadPid(): number {
  return spawnSync(process.execPath, ['-e', '']).pid;
}

describe('the writer lease', () => {
  test('allows one writer among two stores in one folder, and names it in the error', async () => {
    const dir = folderOfTest();
    const [a, b] = [diskStore(dir), diskStore(dir)];
    const release = await a.acquire('one');
    for (const attempt of [
      () => b.acquire('one'),
      () => b.write(session('one', state(1))),
      () => b.edits('one'),
    ]) {
      await expect(attempt()).rejects.toEqual(busy);
    }
    await expect(b.acquire('one')).rejects.toThrow(
      `open in another sandbox of this process (pid ${process.pid}`,
    );
    await a.write(session('one', state(1)));
    await expect(b.delete('one')).rejects.toEqual(busy);
    expect((await b.read('one'))!.state.version).toBe(1);
    await release();
    await b.write(session('one', state(2)));
    expect(existsSync(join(dir, '.locks', 'one'))).toBe(false);
  });

  test('uses the same lock for ids that differ only in case', async () => {
    const dir = folderOfTest();
    const release = await diskStore(dir).acquire('One');
    await expect(diskStore(dir).acquire('oNE')).rejects.toEqual(busy);
    await release();
  });

  // guarantee: session-recovery
  // proves: A claim to a session expires even if its timestamp is in the future.
  test.each([
    ['another machine', { host: 'elsewhere' }],
    ['another boot', { boot: 'earlier' }],
    ['no readable owner', 'not a claim'],
  ])('expires a claim of %s whose time is in the future', async (_, claim) => {
    const dir = folderOfTest();
    const path = writeClaim(dir, claim, -365 * 24 * 3_600_000);
    const acquired = diskStore(dir).acquire('one');
    // The time is changed to one that expires soon, and the caller waits for that.
    await vi.waitUntil(() => statSync(path).mtimeMs < Date.now());
    const { mtimeMs } = statSync(path);
    expect(mtimeMs + 60_000).toBeLessThan(Date.now() + 11_000);
    utimesSync(path, mtimeMs / 1000 - 61, mtimeMs / 1000 - 61);
    await (await acquired)();
    expect(existsSync(path)).toBe(false);
  });

  test('keeps a claim from the future whose owner updates it', async () => {
    const dir = folderOfTest();
    const path = writeClaim(dir, { host: 'elsewhere' }, -365 * 24 * 3_600_000);
    const acquired = diskStore(dir).acquire('one');
    const rejected = expect(acquired).rejects.toEqual(busy);
    await vi.waitUntil(() => statSync(path).mtimeMs < Date.now());
    utimesSync(path, Date.now() / 1000, Date.now() / 1000);
    await rejected;
    expect(existsSync(path)).toBe(true);
  });

  test('removes the claim of a process that has ended', async () => {
    const dir = folderOfTest();
    const path = writeClaim(dir, { pid: deadPid() });
    await (await diskStore(dir).acquire('one'))();
    expect(existsSync(path)).toBe(false);
  });

  test('removes the claim of a process whose id was reused', async () => {
    const dir = folderOfTest();
    writeClaim(dir, { started: '1' });
    // Start times are known only on Linux; elsewhere only the process id counts.
    if (thisProcess().started === '') await expect(diskStore(dir).acquire('one')).rejects.toEqual(busy);
    else await (await diskStore(dir).acquire('one'))();
  });

  test.skipIf(process.platform !== 'linux')('treats a zombie as ended', async () => {
    // The shell starts a child that reads from a pipe, then becomes a program that never waits for its children.
    const stdio = ['ignore', 'pipe', 'inherit', 'pipe'] as const;
    const parent = spawn('sh', ['-c', 'cat <&3 >/dev/null & echo $!; exec sleep 60'], { stdio: [...stdio] });
    const procFile = (pid: number | undefined, file: string) =>
      readFileSync(`/proc/${pid}/${file}`, 'latin1');
    try {
      const pid = await new Promise<number>((done) =>
        parent.stdout!.once('data', (text) => done(Number(text))),
      );
      await vi.waitUntil(() => procFile(parent.pid, 'comm') === 'sleep\n', { timeout: 30_000 });
      expect(isRunning({ ...thisProcess(), pid, started: '' })).toBe(true);
      parent.stdio[3]!.destroy();
      await vi.waitUntil(() => procFile(pid, 'stat').includes(') Z '), { timeout: 30_000 });
      expect(isRunning({ ...thisProcess(), pid, started: '' })).toBe(false);
    } finally {
      parent.kill('SIGKILL');
    }
  });

  test('respects the claim of a running process regardless of its age', async () => {
    const dir = folderOfTest();
    writeClaim(dir, {}, 24 * 3600_000);
    await expect(diskStore(dir).acquire('one')).rejects.toEqual(busy);
  });

  test('respects the claim of another machine, boot or container until it expires', async () => {
    for (const elsewhere of [{ host: 'elsewhere' }, { boot: 'an earlier one' }, { pid_space: 'pid:[1]' }]) {
      const dir = folderOfTest();
      writeClaim(dir, { ...elsewhere, pid: deadPid() });
      await expect(diskStore(dir).acquire('one')).rejects.toEqual(busy);
      writeClaim(dir, { ...elsewhere, pid: process.pid }, 10 * 60_000);
      await (await diskStore(dir).acquire('one'))();
    }
  });

  test('respects an unreadable claim until it expires', async () => {
    for (const junk of ['', '{', '{"pid":1}', 'x'.repeat(100_000), JSON.stringify({ pid: 'me' })]) {
      const dir = folderOfTest();
      writeClaim(dir, junk);
      await expect(diskStore(dir).acquire('one')).rejects.toEqual(busy);
      const path = writeClaim(dir, junk, 10 * 60_000);
      await (await diskStore(dir).acquire('one'))();
      expect(existsSync(path)).toBe(false);
    }
  });

  test('removes the trial claim of a process that has ended', async () => {
    const dir = folderOfTest();
    writeClaim(dir, { stage: 'trial', pid: deadPid() });
    await (await diskStore(dir).acquire('one'))();
  });

  test('throws session_busy instead of waiting forever for a trial claim', async () => {
    const dir = folderOfTest();
    writeClaim(dir, { stage: 'trial' });
    await expect(diskStore(dir).acquire('one')).rejects.toEqual(busy);
  });

  test('removes only its own claim on release', async () => {
    const dir = folderOfTest();
    const release = await diskStore(dir).acquire('one');
    const path = writeClaim(dir, { host: 'elsewhere' });
    await release();
    expect(readdirSync(join(dir, '.locks', 'one'))).toEqual([TOKEN]);
    expect(existsSync(path)).toBe(true);
  });

  test('refuses to write after losing the lease', async () => {
    const dir = folderOfTest();
    const store = diskStore(dir);
    const release = await store.acquire('one');
    await store.write(session('one', state(1, { f: '1' })));
    const folder = join(dir, '.locks', 'one');
    for (const token of readdirSync(folder)) unlinkSync(join(folder, token));
    const other = diskStore(dir);
    const releaseOther = await other.acquire('one');
    await other.write(session('one', state(2, { f: '2' })));
    await expect(store.write(session('one', state(3, { f: '3' })))).rejects.toEqual(busy);
    expect((await other.read('one'))!.state.version).toBe(2);
    expect(readFileSync(join(dir, 'one', 'workspace', 'f'), 'utf8')).toBe('2');
    await release();
    await expect(store.acquire('one')).rejects.toEqual(busy);
    await releaseOther();
  });

  test('does not create claims through a symbolic link', async () => {
    const outside = folderOfTest();
    const dir = folderOfTest();
    symlinkSync(outside, join(dir, '.locks'));
    await expect(diskStore(dir).acquire('one')).rejects.toEqual(
      expect.objectContaining({ code: 'session_damaged' }),
    );
    expect(readdirSync(outside)).toEqual([]);
  });
});
