/** The guarantees of every store. A new store is one more row of STORES. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { diskStore } from '../../packages/core/src/stores/disk/disk-store.ts';
import { memoryStore } from '../../packages/core/src/stores/memory/memory-store.ts';
import { postgresStore } from '../../packages/core/src/stores/postgres/postgres-store.ts';
import type { SessionStore } from '../../packages/core/src/stores/store.ts';
import { folderOfTest } from '../support/folders.ts';
import { newDatabase } from '../support/shared-postgres.ts';
import {
  checkpoint,
  files,
  plainSession,
  plainState,
  readComplete,
  record,
  session,
  shared,
  state,
  withEdits,
} from './fixtures.ts';

/** Functions that create an empty store. */
const STORES: Record<string, () => SessionStore> = {
  memoryStore,
  diskStore: () => diskStore(folderOfTest()),
  'diskStore with relaxed durability': () => diskStore(folderOfTest(), { durability: 'relaxed' }),
  postgresStore: () => openPostgresStore(),
};

let pool: pg.Pool;
let tenants = 0;
const openPostgresStore = () => postgresStore({ pool, tenant: `tenant ${++tenants}` });

beforeAll(async () => {
  pool = new pg.Pool({ connectionString: await newDatabase() });
});
afterAll(() => pool.end());

const code = (expected: string) => expect.objectContaining({ name: 'SandboxError', code: expected });

describe.each(Object.entries(STORES))('%s', (_, open) => {
  test('returns a session as it was written', async () => {
    const store = open();
    const written = session('one', state(7, { 'a.txt': 'A', 'd/b': '', 'd/l': '-> ../a.txt', 'e/': '' }), {
      undo: state(6, { 'a.txt': 'before' }),
      checkpoints: [
        checkpoint('first', state(2, {}, 'm', { t: 'tmp' })),
        checkpoint('Second_1.x-y', state(6, { 'a.txt': 'before' })),
      ],
    });
    await store.write(written);
    expect(plainSession(await readComplete(store, 'one'))).toEqual(plainSession(written));
    expect(await store.edits('one')).toEqual({ removed: [], entries: [] });
  });

  // guarantee: stored-sessions
  // proves: A store keeps existing checkpoints when a write lists their names without their states.
  test('keeps existing checkpoints when a write lists their names without their states', async () => {
    const store = open();
    const first = session('one', state(3, { 'a.txt': 'A' }), {
      checkpoints: [
        checkpoint('kept', state(1, { k: 'kept', 'd/f': 'deep' }, 'm', { t: 'tmp' })),
        checkpoint('gone', state(2, { g: 'gone' })),
      ],
    });
    await store.write(first);
    if (store.readCheckpoint === undefined) return;
    const stored = (await store.read('one'))!;
    expect(stored.checkpoints.map(({ state: saved }) => saved)).toEqual([undefined, undefined]);
    for (let version = 4; version < 7; version++)
      await store.write({ ...stored, state: state(version), checkpoints: [stored.checkpoints[0]!] });
    expect(plainSession(await readComplete(store, 'one'))).toMatchObject({
      state: { version: 6 },
      checkpoints: [{ ...first.checkpoints[0], state: plainState(first.checkpoints[0]!.state!) }],
    });
    expect(await store.readCheckpoint('one', 'gone')).toBeUndefined();
    const unknown = { ...stored, checkpoints: [{ ...stored.checkpoints[0]!, name: 'unknown' }] };
    await expect(store.write(unknown)).rejects.toEqual(code('invalid_argument'));
  });

  test('stores a session without memory and files', async () => {
    const store = open();
    const written = session('bare', { version: 0, delta: undefined, workspace: new Map(), tmp: [] });
    await store.write(written);
    expect(plainSession(await readComplete(store, 'bare'))).toEqual(plainSession(written));
    expect((await store.read('bare'))!.state.delta).toBeUndefined();
  });

  test('returns all bytes in shared memory', async () => {
    const store = open();
    await store.write(session('one', state(1, { f: 'x', empty: '' }, 'm', { t: 'y' })));
    const { delta, workspace, tmp } = (await store.read('one'))!.state;
    for (const bytes of [...delta!, workspace.get('f')!.data, workspace.get('empty')!.data, tmp[0]!.data]) {
      expect(bytes!.buffer).toBeInstanceOf(SharedArrayBuffer);
    }
  });

  test('stores only the viewed part of a larger buffer', async () => {
    const store = open();
    const whole = shared('0123456789');
    const workspace = files({ a: '', b: '' });
    workspace.get('a')!.data = whole.subarray(2, 4);
    workspace.get('b')!.data = whole.subarray(4, 6);
    await store.write(
      session('one', { ...state(1, workspace), delta: [whole.subarray(6, 8), whole.subarray(8)] }),
    );
    const { delta, workspace: read } = (await store.read('one'))!.state;
    expect(
      [...delta!, read.get('a')!.data, read.get('b')!.data].map((bytes) => Buffer.from(bytes!).toString()),
    ).toEqual(['67', '89', '23', '45']);
  });

  test('replaces the whole session with a write', async () => {
    const store = open();
    const first = state(1, { 'a.txt': '1', gone: 'x', swapped: 'file', 'folder/x': 'y' });
    await store.write(session('one', first));
    const second = session(
      'one',
      state(2, { 'a.txt': '2', 'swapped/inner': 'now a folder', folder: 'now a file' }),
      {
        undo: first,
        record: record('one', { calls: 2, imports: [] }),
      },
    );
    await store.write(second);
    expect(plainSession(await readComplete(store, 'one'))).toEqual(plainSession(second));
    await store.write(session('one', state(3, {})));
    expect(plainSession(await readComplete(store, 'one'))).toEqual(
      plainSession(session('one', state(3, {}))),
    );
  });

  test('leaves a session that was read before unchanged by the next write', async () => {
    const store = open();
    await store.write(session('one', state(1, { f: 'old' })));
    const old = await store.read('one');
    await store.write(session('one', state(2, { f: 'new' })));
    expect(plainState(old!.state)).toEqual(plainState(state(1, { f: 'old' })));
  });

  test('returns undefined, size 0 and no edits for a session that does not exist', async () => {
    const store = open();
    expect(await store.read('absent')).toBeUndefined();
    expect(await store.readWorkspace('absent')).toBeUndefined();
    expect(await store.size('absent')).toBe(0);
    expect(await store.delete('absent')).toBe(0);
    expect(await store.list()).toEqual({ records: [], damaged: [] });
    expect(await store.edits('absent')).toEqual({ removed: [], entries: [] });
  });

  test('lists records, least recently used first', async () => {
    const store = open();
    const used = ['2026-03-03T00:00:00.000Z', '2026-03-01T00:00:00.000Z', '2026-03-02T00:00:00.000Z'];
    const records = used.map((last_used_at, i) => record(`s${i}`, { last_used_at }));
    for (const [i, facts] of records.entries())
      await store.write(session(`s${i}`, state(i), { record: facts }));
    expect(await store.list()).toEqual({ records: [records[1], records[2], records[0]], damaged: [] });
  });

  test('deletes a session and returns the bytes freed', async () => {
    const store = open();
    await store.write(
      session('one', state(1, { f: 'x'.repeat(10_000) }), { undo: state(0, { f: 'y'.repeat(10_000) }) }),
    );
    const size = await store.size('one');
    expect(size).toBeGreaterThanOrEqual(20_000);
    expect(await store.delete('one')).toBe(size);
    expect(await store.read('one')).toBeUndefined();
    expect(await store.size('one')).toBe(0);
    expect((await store.list()).records).toEqual([]);
    await store.write(session('one', state(9)));
    expect((await store.read('one'))!.state.version).toBe(9);
  });

  test('stores contents that several states share only once', async () => {
    const store = open();
    const large = files({ f: 'x'.repeat(100_000) });
    const stateOf = (version: number) => ({ version, delta: undefined, workspace: large, tmp: [] });
    await store.write(session('one', stateOf(1)));
    const alone = await store.size('one');
    const checkpoints = Array.from({ length: 20 }, (_, i) => checkpoint(`c${i}`, stateOf(i)));
    await store.write(session('one', stateOf(2), { undo: stateOf(1), checkpoints }));
    expect((await store.size('one')) - alone).toBeLessThan(50_000);
  });

  test('allows one writer per session at a time', async () => {
    const store = open();
    const release = await store.acquire('one');
    await expect(store.acquire('one')).rejects.toEqual(code('session_busy'));
    await expect(store.acquire('one')).rejects.toThrow(`pid ${process.pid}`);
    const other = await store.acquire('two');
    await release();
    const again = await store.acquire('one');
    await release();
    await expect(store.acquire('one')).rejects.toEqual(code('session_busy'));
    await Promise.all([other(), again()]);
  });

  test('lets exactly one of many concurrent callers acquire a session', async () => {
    const store = open();
    const results = await Promise.allSettled(Array.from({ length: 10 }, () => store.acquire('one')));
    const winners = results.filter((result) => result.status === 'fulfilled');
    expect(winners.length).toBe(1);
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toEqual(code('session_busy'));
    }
    await winners[0]!.value();
    await (await store.acquire('one'))();
  });

  test('lets the writer write, read edits and delete', async () => {
    const store = open();
    const release = await store.acquire('one');
    await store.write(session('one', state(1, { f: 'x' })));
    expect(await store.edits('one')).toEqual({ removed: [], entries: [] });
    await store.write(session('one', state(2, { f: 'y' })));
    expect((await store.read('one'))!.state.version).toBe(2);
    expect(await store.delete('one')).toBeGreaterThan(0);
    await store.write(session('one', state(3, { g: 'z' })));
    await release();
    expect(plainSession(await readComplete(store, 'one'))).toEqual(
      plainSession(session('one', state(3, { g: 'z' }))),
    );
  });

  test('rejects ids that a file system could misread in every method', async () => {
    const store = open();
    for (const id of ['', '.', '..', '../x', 'a/b', 'a\\b', '-x', 'con', 'a b', 'ü', 'x'.repeat(65), 'a\0']) {
      for (const method of [
        store.read,
        store.readWorkspace,
        store.delete,
        store.size,
        store.acquire,
        store.edits,
      ]) {
        await expect(method(id), JSON.stringify(id)).rejects.toEqual(code('invalid_argument'));
      }
      await expect(store.write(session(id, state(1)))).rejects.toEqual(code('invalid_argument'));
    }
  });

  test('rejects an id that differs from an existing one only in case', async () => {
    const store = open();
    await store.write(session('Report', state(1)));
    await expect(store.write(session('report', state(1)))).rejects.toEqual(code('invalid_argument'));
    await expect(store.acquire('REPORT')).rejects.toEqual(code('invalid_argument'));
    expect((await store.list()).records.map(({ session_id }) => session_id)).toEqual(['Report']);
    await (await store.acquire('Report'))();
  });

  test('rejects an invalid session and leaves the previous one in place', async () => {
    const store = open();
    await store.write(session('one', state(1, { f: 'x' })));
    const climbing = files({ f: 'x' });
    climbing.set('../up', { ...climbing.get('f')!, path: '../up' });
    const misplaced = new Map([['g', files({ f: 'x' }).get('f')!]]);
    const twice = checkpoint('same', state(1));
    const wrong = [
      session('one', state(2, climbing)),
      session('one', state(2, misplaced)),
      session('one', state(-1)),
      session('one', state(2), { undo: state(1.5) }),
      session('one', state(2), { record: { ...record('one'), calls: Number.NaN } }),
      session('one', state(2), { record: { ...record('one'), created_at: 'yesterday' } }),
      session('one', state(2), { checkpoints: [twice, twice] }),
      session('one', state(2), { checkpoints: [{ ...twice, name: '' }] }),
      session('one', state(2), { checkpoints: [{ ...twice, name: 'a/../b \u{1f600}' }] }),
      session('one', state(2), { checkpoints: [{ ...twice, name: 'x'.repeat(65) }] }),
    ];
    for (const bad of wrong) {
      await expect(store.write(bad)).rejects.toEqual(
        expect.objectContaining({ code: expect.stringMatching(/^invalid_/) }),
      );
    }
    expect(plainSession(await readComplete(store, 'one'))).toEqual(
      plainSession(session('one', state(1, { f: 'x' }))),
    );
  });

  test('returns the files of a session without its memory', async () => {
    const store = open();
    const written = state(1, { f: 'x', 'd/l': '-> ../f' });
    await store.write(session('one', written));
    const { workspace, damage } = (await store.readWorkspace('one'))!;
    expect(damage).toBeUndefined();
    expect(plainState({ ...written, workspace })).toEqual(plainState(written));
    expect(withEdits(workspace, await store.edits('one'))).toEqual(new Map(workspace));
  });
});

describe('memoryStore', () => {
  // guarantee: memory-limit
  test('rejects a write that exceeds its limit, and accepts writes again after a deletion', async () => {
    const store = memoryStore({ maxBytes: 250_000 });
    const large = (version: number) => state(version, { f: 'x'.repeat(100_000) + version });
    await store.write(session('one', large(1)));
    const checkpoints = [checkpoint('a', large(2)), checkpoint('b', large(3))];
    const both = session('one', large(1), { checkpoints });
    await expect(store.write(both)).rejects.toEqual(code('session_limit'));
    await store.write(session('two', large(1)));
    await expect(store.write(session('three', large(1)))).rejects.toEqual(code('session_limit'));
    expect((await store.list()).records).toHaveLength(2);
    await store.delete('two');
    await store.write(session('three', large(1)));
  });
});
