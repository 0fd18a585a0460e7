/** Who may write: one at a time, among processes, machines and what they left behind. */
import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { diskStore } from '../../src/stores/disk/disk-store.ts';
import { isRunning, thisProcess } from '../../src/stores/disk/process-identity.ts';
import { scratch, session, state } from './support.ts';

const busy = expect.objectContaining({ name: 'SandboxError', code: 'session_busy' });
const TOKEN = '00000000-0000-4000-8000-000000000000';

/** Puts a claim as some process would have left it. */
function leave(dir: string, claim: object | string, ageMs = 0): string {
  const folder = join(dir, '.locks', 'one');
  mkdirSync(folder, { recursive: true });
  const path = join(folder, TOKEN);
  const facts = { stage: 'taken', token: TOKEN, ...thisProcess(), since: new Date().toISOString() };
  writeFileSync(path, typeof claim === 'string' ? claim : JSON.stringify({ ...facts, ...claim }));
  const touched = (Date.now() - ageMs) / 1000;
  utimesSync(path, touched, touched);
  return path;
}

function deadPid(): number {
  return spawnSync(process.execPath, ['-e', '']).pid;
}

test('two stores over one folder have one writer, and the other is told who it is', async () => {
  const dir = scratch();
  const [a, b] = [diskStore(dir), diskStore(dir)];
  const release = await a.acquire('one');
  for (const ask of [() => b.acquire('one'), () => b.write(session('one', state(1))), () => b.edits('one')]) {
    await expect(ask()).rejects.toEqual(busy);
  }
  await expect(b.acquire('one')).rejects.toThrow(`Another sandbox of this process (pid ${process.pid}`);
  await a.write(session('one', state(1)));
  await expect(b.delete('one')).rejects.toEqual(busy);
  expect((await b.read('one'))!.state.version).toBe(1);
  await release();
  await b.write(session('one', state(2)));
  expect(existsSync(join(dir, '.locks', 'one'))).toBe(false);
});

test('names that differ by case are the same lock', async () => {
  const dir = scratch();
  const release = await diskStore(dir).acquire('One');
  await expect(diskStore(dir).acquire('oNE')).rejects.toEqual(busy);
  await release();
});

test('the lock of a process that is gone is recovered', async () => {
  const dir = scratch();
  const path = leave(dir, { pid: deadPid() });
  await (await diskStore(dir).acquire('one'))();
  expect(existsSync(path)).toBe(false);
});

test('a process that got the number of one that is gone does not keep its lock', async () => {
  const dir = scratch();
  leave(dir, { started: '1' });
  // Only Linux tells when a process started; elsewhere the number has to do.
  if (thisProcess().started === '') await expect(diskStore(dir).acquire('one')).rejects.toEqual(busy);
  else await (await diskStore(dir).acquire('one'))();
});

test.skipIf(process.platform !== 'linux')('a process that ended but was not reaped is gone', async () => {
  // The shell starts a child that waits for the end of a pipe, and becomes a program that never asks for its children.
  const stdio = ['ignore', 'pipe', 'inherit', 'pipe'] as const;
  const parent = spawn('sh', ['-c', 'cat <&3 >/dev/null & echo $!; exec sleep 60'], { stdio: [...stdio] });
  const told = (pid: number | undefined, file: string) => readFileSync(`/proc/${pid}/${file}`, 'latin1');
  try {
    const pid = await new Promise<number>((done) =>
      parent.stdout!.once('data', (text) => done(Number(text))),
    );
    await vi.waitUntil(() => told(parent.pid, 'comm') === 'sleep\n', { timeout: 30_000 });
    expect(isRunning({ ...thisProcess(), pid, started: '' })).toBe(true);
    parent.stdio[3]!.destroy();
    await vi.waitUntil(() => told(pid, 'stat').includes(') Z '), { timeout: 30_000 });
    expect(isRunning({ ...thisProcess(), pid, started: '' })).toBe(false);
  } finally {
    parent.kill('SIGKILL');
  }
});

test('the lock of a living process stays, however long it is silent', async () => {
  const dir = scratch();
  leave(dir, {}, 24 * 3600_000);
  await expect(diskStore(dir).acquire('one')).rejects.toEqual(busy);
});

test('the lock of another machine, boot or container counts while it is fresh', async () => {
  for (const elsewhere of [{ host: 'elsewhere' }, { boot: 'an earlier one' }, { pid_space: 'pid:[1]' }]) {
    const dir = scratch();
    leave(dir, { ...elsewhere, pid: deadPid() });
    await expect(diskStore(dir).acquire('one')).rejects.toEqual(busy);
    leave(dir, { ...elsewhere, pid: process.pid }, 10 * 60_000);
    await (await diskStore(dir).acquire('one'))();
  }
});

test('a file that is no claim counts while it is fresh, and is then dropped', async () => {
  for (const junk of ['', '{', '{"pid":1}', 'x'.repeat(100_000), JSON.stringify({ pid: 'me' })]) {
    const dir = scratch();
    leave(dir, junk);
    await expect(diskStore(dir).acquire('one')).rejects.toEqual(busy);
    const path = leave(dir, junk, 10 * 60_000);
    await (await diskStore(dir).acquire('one'))();
    expect(existsSync(path)).toBe(false);
  }
});

test('a trial that its process did not live to withdraw is recovered', async () => {
  const dir = scratch();
  leave(dir, { stage: 'trial', pid: deadPid() });
  await (await diskStore(dir).acquire('one'))();
});

test('a trial that stays for ever makes a session busy, not the caller wait for ever', async () => {
  const dir = scratch();
  leave(dir, { stage: 'trial' });
  await expect(diskStore(dir).acquire('one')).rejects.toEqual(busy);
});

test('release removes its own claim and no other', async () => {
  const dir = scratch();
  const release = await diskStore(dir).acquire('one');
  const path = leave(dir, { host: 'elsewhere' });
  await release();
  expect(readdirSync(join(dir, '.locks', 'one'))).toEqual([TOKEN]);
  expect(existsSync(path)).toBe(true);
});

test('a writer whose lock was taken from it can write no more', async () => {
  const dir = scratch();
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

test('locks are not put through a link', async () => {
  const outside = scratch();
  const dir = scratch();
  symlinkSync(outside, join(dir, '.locks'));
  await expect(diskStore(dir).acquire('one')).rejects.toEqual(
    expect.objectContaining({ code: 'session_damaged' }),
  );
  expect(readdirSync(outside)).toEqual([]);
});
