/** The memory of open sessions: what they hold, what is unloaded, and what is refused. */
import { createPool, diskStore, memoryStore, openSessions, type SessionStore } from 'llm-wasm-sandbox';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createMemoryStore } from '../../packages/core/dist/stores/memory/memory-store.js';
import type { WorkerPool } from '../../packages/core/dist/worker/pool/pool.js';
import { folderOfTest } from '../support/folders.ts';

const MB = 1_000_000;
const limitError = { code: 'session_limit' };

/** Sessions with files of 1 MB in a pool that may hold 2.5 MB. */
function open(store: SessionStore, maxHeldBytes = 2.5 * MB) {
  const pool = createPool({ maxWorkers: 1, maxHeldBytes, optimization: 'demand' });
  const sessions = openSessions({ store, commit: 'answer' });
  onTestFinished(async () => {
    await sessions.close();
    await pool.close();
  });
  const create = (session_id: string) =>
    sessions.create({ runtime: 'javascript', session_id, pool, auto_persist_globals: true });
  return { pool, sessions, create };
}

const write = (name: string, length = MB) =>
  `{ const f = std.open(${JSON.stringify(name)}, 'w'); f.puts('x'.repeat(${length})); f.close(); }`;

describe('the memory of sessions in a disk store', () => {
  // guarantee: memory-limit
  // proves: The memory of idle sessions in a disk store is freed, and the sessions continue unchanged.
  test('is freed while they are idle, and they continue unchanged', async () => {
    const { pool, create } = open(diskStore(folderOfTest(), { durability: 'relaxed' }));
    const all = [];
    for (let i = 0; i < 5; i++) {
      const session = await create(`s${i}`);
      all.push(session);
      expect((await session.execute(`var x = ${i}; ${write('f')}`)).success).toBe(true);
      expect(pool.heldBytes).toBeLessThan(2.5 * MB);
      expect(pool.heldBytes).toBeGreaterThan(MB);
    }
    for (const [i, session] of all.entries()) {
      expect((await session.execute('x')).metadata.result).toBe(i);
      expect((await session.readFile('f')).length).toBe(MB);
      await session.writeFile('g', String(i));
      expect(pool.heldBytes).toBeLessThan(2.5 * MB);
    }
    await all[0]!.undo();
    expect((await all[0]!.listFiles()).map(({ path }) => path)).toEqual(['f']);
    await Promise.all(all.map((session) => session.close()));
    expect(pool.heldBytes).toBe(0);
  });

  test('does not contain their checkpoints', async () => {
    const store = diskStore(folderOfTest(), { durability: 'relaxed' });
    const { pool, create } = open(store, 4 * MB);
    const session = await create('many');
    for (let i = 0; i < 8; i++) {
      expect((await session.execute(`var x = ${i}; ${write('f', MB + i)}`)).success).toBe(true);
      await session.checkpoint(`c${i}`);
      expect(pool.heldBytes).toBeLessThan(2.5 * MB);
    }
    expect((await session.checkpoints()).every(({ size_bytes }) => size_bytes > MB)).toBe(true);
    await session.rollback('c3');
    expect((await session.execute('x')).metadata.result).toBe(3);
    expect((await session.readFile('f')).length).toBe(MB + 3);
    await session.close();
    const again = await create('many');
    await again.deleteCheckpoint('c0');
    await again.rollback('c7');
    expect((await again.readFile('f')).length).toBe(MB + 7);
    expect(await again.checkpoints()).toHaveLength(7);
  });

  test('limits what one session can hold; the call is undone', async () => {
    const { create } = open(diskStore(folderOfTest(), { durability: 'relaxed' }));
    const session = await create('one');
    await session.execute(`var x = 1; ${write('f')}`);
    await expect(session.execute(`x = 2; ${write('g', 2 * MB)}`)).rejects.toMatchObject(limitError);
    expect((await session.execute('x')).metadata.result).toBe(1);
    expect((await session.listFiles()).map(({ path }) => path)).toEqual(['f']);
  });

  test('limits what one session can hold; a rollback does not restore the call that was undone', async () => {
    const { create } = open(diskStore(folderOfTest(), { durability: 'relaxed' }));
    const session = await create('one');
    await session.execute('var x = 0');
    await session.execute(`x = 1; ${write('f')}`);
    await expect(session.execute(`x = 2; ${write('g', 2 * MB)}`)).rejects.toMatchObject(limitError);
    await session.rollback();
    expect((await session.execute('x')).metadata.result).toBe(0);
    expect(await session.listFiles()).toEqual([]);
  });

  test('counts forks', async () => {
    const { pool, create, sessions } = open(diskStore(folderOfTest(), { durability: 'relaxed' }));
    const session = await create('one');
    await session.execute(write('f'));
    const forks = [await session.fork('two'), await session.fork('three')];
    expect(pool.heldBytes).toBeLessThan(2.5 * MB);
    for (const fork of forks) expect((await fork.readFile('f')).length).toBe(MB);
    expect(await sessions.list()).toHaveLength(3);
  });
});

describe('the memory of sessions in a memory store', () => {
  // guarantee: memory-limit
  // proves: A memory store limits the memory of its sessions, including checkpoints and forks, and undoes a call that exceeds the limit.
  test('is limited by the store, checkpoints and forks included; what exceeds it is undone', async () => {
    const { create } = open(memoryStore({ maxBytes: 3.5 * MB }));
    const session = await create('one');
    await session.execute(`var x = 1; ${write('f')}`);
    await session.checkpoint('a');
    await session.execute(`x = 2; ${write('f', MB + 1)}`);
    await session.checkpoint('b');
    await session.execute(`x = 3; ${write('f', MB + 2)}`);
    await expect(session.execute(`x = 4; ${write('f', MB + 3)}`)).rejects.toMatchObject(limitError);
    expect((await session.execute('x')).metadata.result).toBe(3);
    await expect(session.fork('two')).rejects.toMatchObject(limitError);
    await session.deleteCheckpoint('a');
    await session.execute(`x = 4; ${write('f', MB + 3)}`);
    expect((await session.execute('x')).metadata.result).toBe(4);
  });
});

/** All orders of the given items. */
const orders = <T>(items: readonly T[]): T[][] =>
  items.length <= 1
    ? [[...items]]
    : items.flatMap((item, i) =>
        orders([...items.slice(0, i), ...items.slice(i + 1)]).map((rest) => [item, ...rest]),
      );

describe('the memory that sessions hold', () => {
  // guarantee: memory-limit
  // proves: The memory that sessions hold does not depend on the order in which forks, checkpoints and sessions are removed.
  test.each(['memory', 'disk'] as const)(
    'depends only on what remains, regardless of the order in which forks, checkpoints and sessions are removed (%s store)',
    { tags: 'full' },
    async (kind) => {
      const pool = createPool({ maxWorkers: 1, optimization: 'demand' }) as WorkerPool;
      const store =
        kind === 'memory'
          ? createMemoryStore(pool.held.open('tenant'))
          : diskStore(folderOfTest(), { durability: 'relaxed' });
      const sessions = openSessions({ store });
      const held = new Map<string, number>();
      for (const [round, order] of orders(['a', 'b', 'session', 'fork']).entries()) {
        const id = `s${round}`;
        const session = await sessions.create({ runtime: 'javascript', session_id: id, pool });
        await session.writeFile('f', 'x'.repeat(10_000));
        await session.checkpoint('a');
        await session.writeFile('f', 'y'.repeat(20_000));
        await session.checkpoint('b');
        await session.writeFile('g', 'z'.repeat(40_000));
        const fork = await session.fork(`${id}-fork`);
        await fork.writeFile('f', 'fork'.repeat(20_000));
        await Promise.all([session.flush(), fork.flush()]);
        const remaining = new Set(order);
        const remove: Record<string, () => Promise<unknown>> = {
          a: async () => remaining.has('session') && (await session.deleteCheckpoint('a')),
          b: async () => remaining.has('session') && (await session.deleteCheckpoint('b')),
          session: async () => [await session.close(), await sessions.delete(id)],
          fork: async () => [await fork.close(), await sessions.delete(`${id}-fork`)],
        };
        for (const item of [undefined, ...order]) {
          if (item !== undefined) {
            await remove[item]!();
            remaining.delete(item);
            // The checkpoints of a session are removed with it.
            if (item === 'session') for (const name of ['a', 'b']) remaining.delete(name);
            if (remaining.has('session')) await session.flush();
          }
          const key = [...remaining].sort().join();
          held.set(key, held.get(key) ?? pool.heldBytes);
          expect(pool.heldBytes, `${order}: ${key}`).toBe(held.get(key));
        }
        expect(pool.heldBytes, String(order)).toBe(0);
      }
      if (kind === 'memory') expect(held.get('a,b,session')).toBeGreaterThan(held.get('b,session')! + 9000);
      expect(held.get('a,b,fork,session')).toBeGreaterThan(held.get('a,b,session')! + 80_000);
      await sessions.close();
      await pool.close();
    },
  );
});
