/**
 * Processes that are killed at any moment, and processes that compete for a session.
 *
 * @module-tag full
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { diskStore } from '../../../packages/core/src/stores/disk/disk-store.ts';
import { folderOfTest } from '../../support/folders.ts';
import { repetitions } from '../../support/repetitions.ts';
import { plainSession, plainState, readComplete } from '../fixtures.ts';
import { nthFiles, nthSession, nthState } from './numbered-sessions.ts';
import { buildStoreProgram, start } from './start-process.ts';

const KILLS = repetitions(8, 96);
const program = buildStoreProgram();

function filesIn(folder: string): Record<string, string> {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  const paths = entries.map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(paths.map((path) => [path.slice(folder.length + 1), readFileSync(path, 'utf8')]));
}

/** Checks that memory, /tmp, workspace, workspace/, undo state and checkpoints all belong to one numbered session. */
async function inspect(dir: string, id: string, printed: number): Promise<number> {
  const store = diskStore(dir);
  const release = await store.acquire(id);
  try {
    const found = await readComplete(store, id);
    const n = found?.state.version ?? 0;
    // The last write may have been committed without the process having printed it.
    expect([printed, printed + 1]).toContain(n);
    if (found === undefined) return n;
    const expected = nthSession(id, n, n > 1 ? nthState(n - 1) : undefined);
    expect(plainSession(found)).toEqual(plainSession(expected));
    expect(await store.edits(id)).toEqual({ removed: [], entries: [] });
    expect(filesIn(join(dir, id, 'workspace'))).toEqual(nthFiles(n));
    expect((await store.list()).damaged).toEqual([]);
    return n;
  } finally {
    await release();
  }
}

describe('disk store used by several processes', () => {
  test(`a session is in the state of a completed write after each of ${KILLS} kills`, async () => {
    const dir = folderOfTest();
    const lane = async (id: string) => {
      let n = 0;
      for (let kill = 0; kill < KILLS / 2; kill++) {
        const writer = start(process.execPath, [program, 'write', dir, id]);
        // Most are killed while they write, a few while they start and recover from the previous kill.
        const before = writer.lines.length + (kill % 8 === 0 ? 0 : 1);
        while (writer.lines.length < before && writer.process.exitCode === null) await sleep(1);
        await sleep(Math.random() * 60);
        writer.process.kill('SIGKILL');
        await writer.ended;
        n = await inspect(dir, id, Number(writer.lines.at(-1) ?? n));
      }
      return n;
    };
    const reached = await Promise.all([lane('strict'), lane('relaxed')]);
    for (const n of reached) expect(n).toBeGreaterThan(KILLS / 4);
  });

  test('the next write removes everything that killed writers left behind', async () => {
    const dir = folderOfTest();
    for (let kill = 0; kill < 4; kill++) {
      const writer = start(process.execPath, [program, 'write', dir, 'one']);
      while (writer.lines.length === 0 && writer.process.exitCode === null) await sleep(1);
      await sleep(Math.random() * 20);
      writer.process.kill('SIGKILL');
      await writer.ended;
    }
    const store = diskStore(dir);
    const { version } = (await store.read('one'))!.state;
    await store.write(nthSession('one', version + 1, undefined));
    const reference = folderOfTest();
    await diskStore(reference).write(nthSession('one', version + 1, undefined));
    expect(readdirSync(join(dir, 'one', 'staging'))).toEqual([]);
    expect(readdirSync(join(dir, '.locks'))).toEqual([]);
    expect(objectsOf(dir)).toEqual(objectsOf(reference));
  });

  /** Leaves out the changes object, because it depends on the previous state. */
  function objectsOf(dir: string): string[] {
    return readdirSync(join(dir, 'one', 'objects'))
      .filter((name) => !name.endsWith('.changes.json'))
      .sort();
  }

  test('processes that compete for a session never write at the same time', async () => {
    const dir = folderOfTest();
    const each = 12;
    const children = Array.from({ length: 3 }, () =>
      start(process.execPath, [program, 'count', dir, 'one', String(each)]),
    );
    await Promise.all(children.map(({ ended }) => ended));
    const printed = children.flatMap(({ lines }) => lines.map(Number)).sort((a, b) => a - b);
    // If two processes had read the same number, it would be printed twice and the last number would be missing.
    expect(printed).toEqual(Array.from({ length: 3 * each }, (_, i) => i + 1));
    expect((await diskStore(dir).read('one'))!.state.version).toBe(3 * each);
  });

  test('killing one process does not block the others', async () => {
    const dir = folderOfTest();
    const killed = start(process.execPath, [program, 'count', dir, 'one', '1000000']);
    const other = start(process.execPath, [program, 'count', dir, 'one', '8']);
    while (killed.lines.length < 3 && killed.process.exitCode === null) await sleep(1);
    killed.process.kill('SIGKILL');
    await Promise.all([killed.ended, other.ended]);
    expect(other.lines.length).toBe(8);
    const printed = killed.lines.length + 8;
    expect([printed, printed + 1]).toContain((await diskStore(dir).read('one'))!.state.version);
  });

  test('readers without the lease read complete sessions while another process writes', async () => {
    const dir = folderOfTest();
    const writer = start(process.execPath, [program, 'write', dir, 'one']);
    const store = diskStore(dir);
    const seen = new Set<number>();
    try {
      while (writer.lines.length === 0 && writer.process.exitCode === null) await sleep(1);
      for (let reads = 0; reads < 40 || seen.size < 2; reads++) {
        const found = (await store.read('one'))!;
        const n = found.state.version;
        seen.add(n);
        expect(plainState(found.state)).toEqual(plainState(nthState(n)));
      }
    } finally {
      writer.process.kill('SIGKILL');
      await writer.ended;
    }
  });
});
