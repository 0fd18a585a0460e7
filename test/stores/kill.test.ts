/** Processes that die at any moment, and processes that want the same session. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { diskStore } from '../../src/stores/disk/disk-store.ts';
import { buildChild, start } from './process.ts';
import { nthFiles, nthSession, nthState } from './sequence.ts';
import { plainSession, plainState, scratch } from './support.ts';

const KILLS = 64;
const child = buildChild();

function filesOn(disk: string): Record<string, string> {
  const entries = readdirSync(disk, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const paths = entries.map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(paths.map((path) => [path.slice(disk.length + 1), readFileSync(path, 'utf8')]));
}

/** Everything about the session must be of one number: memory, /tmp, files of the session, files on the disk, undo. */
async function inspect(dir: string, id: string, told: number): Promise<number> {
  const store = diskStore(dir);
  const release = await store.acquire(id);
  try {
    const found = await store.read(id);
    const n = found?.state.version ?? 0;
    // The write that ran when the process was killed may have been completed without a word about it.
    expect([told, told + 1]).toContain(n);
    if (found === undefined) return n;
    const expected = nthSession(id, n, n > 1 ? nthState(n - 1) : undefined);
    expect(plainSession(found)).toEqual(plainSession(expected));
    expect(await store.edits(id)).toEqual({ removed: [], entries: [] });
    expect(filesOn(join(dir, id, 'workspace'))).toEqual(nthFiles(n));
    expect((await store.list()).damaged).toEqual([]);
    return n;
  } finally {
    await release();
  }
}

test(`a session whose writers are killed ${KILLS} times is always as a completed write left it`, async () => {
  const dir = scratch();
  const lane = async (id: string) => {
    let n = 0;
    for (let kill = 0; kill < KILLS / 2; kill++) {
      const writer = start(process.execPath, [child, 'write', dir, id]);
      // Most die while they write, a few while they start and take over from the one before.
      const before = writer.lines.length + (kill % 8 === 0 ? 0 : 1);
      while (writer.lines.length < before && writer.process.exitCode === null) await sleep(1);
      await sleep(Math.random() * 60);
      writer.process.kill('SIGKILL');
      await writer.ended;
      n = await inspect(dir, id, Number(writer.lines.at(-1) ?? n));
    }
    return n;
  };
  // The second is written without waiting for the disk, which a killed process must not need either.
  const reached = await Promise.all([lane('first'), lane('second')]);
  for (const n of reached) expect(n).toBeGreaterThan(KILLS / 4);
});

test('what killed writers left behind is gone after the next write', async () => {
  const dir = scratch();
  for (let kill = 0; kill < 4; kill++) {
    const writer = start(process.execPath, [child, 'write', dir, 'one']);
    while (writer.lines.length === 0 && writer.process.exitCode === null) await sleep(1);
    await sleep(Math.random() * 20);
    writer.process.kill('SIGKILL');
    await writer.ended;
  }
  const store = diskStore(dir);
  const { version } = (await store.read('one'))!.state;
  await store.write(nthSession('one', version + 1, undefined));
  const reference = scratch();
  await diskStore(reference).write(nthSession('one', version + 1, undefined));
  expect(readdirSync(join(dir, 'one', 'staging'))).toEqual([]);
  expect(readdirSync(join(dir, '.locks'))).toEqual([]);
  expect(objectsOf(dir)).toEqual(objectsOf(reference));
});

/** Without the list of changes, which depends on what was there before. */
function objectsOf(dir: string): string[] {
  return readdirSync(join(dir, 'one', 'objects'))
    .filter((name) => !name.endsWith('.changes.json'))
    .sort();
}

test('processes that fight for one session never write at the same time', async () => {
  const dir = scratch();
  const each = 12;
  const fighters = Array.from({ length: 3 }, () =>
    start(process.execPath, [child, 'count', dir, 'one', String(each)]),
  );
  await Promise.all(fighters.map(({ ended }) => ended));
  const told = fighters.flatMap(({ lines }) => lines.map(Number)).sort((a, b) => a - b);
  // Had two read the same number, one would be missing at the end and another told twice.
  expect(told).toEqual(Array.from({ length: 3 * each }, (_, i) => i + 1));
  expect((await diskStore(dir).read('one'))!.state.version).toBe(3 * each);
});

test('a fighter that is killed does not stop the others', async () => {
  const dir = scratch();
  const doomed = start(process.execPath, [child, 'count', dir, 'one', '1000000']);
  const other = start(process.execPath, [child, 'count', dir, 'one', '8']);
  while (doomed.lines.length < 3 && doomed.process.exitCode === null) await sleep(1);
  doomed.process.kill('SIGKILL');
  await Promise.all([doomed.ended, other.ended]);
  expect(other.lines.length).toBe(8);
  const told = doomed.lines.length + 8;
  expect([told, told + 1]).toContain((await diskStore(dir).read('one'))!.state.version);
});

test('readers without the lock see whole sessions while another process writes', async () => {
  const dir = scratch();
  const writer = start(process.execPath, [child, 'write', dir, 'one']);
  const store = diskStore(dir);
  const seen = new Set<number>();
  try {
    while (writer.lines.length === 0 && writer.process.exitCode === null) await sleep(1);
    for (let reads = 0; reads < 40; reads++) {
      const found = (await store.read('one'))!;
      const n = found.state.version;
      seen.add(n);
      expect(plainState(found.state)).toEqual(plainState(nthState(n)));
    }
  } finally {
    writer.process.kill('SIGKILL');
    await writer.ended;
  }
  expect(seen.size).toBeGreaterThan(1);
});
