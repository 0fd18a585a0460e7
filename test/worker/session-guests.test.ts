/** The interpreters that a worker keeps between calls. They are not counted as held bytes, because these limits bound them. */
import { createPool, createSandbox, type Session } from 'llm-wasm-sandbox';
import { beforeAll, describe, expect, test } from 'vitest';
import { findAssets } from '../../packages/core/dist/runtimes/artifacts/guest-artifacts.js';
import { GuestPool } from '../../packages/core/dist/worker/thread/guest-pool.js';
import { loadImage } from '../../packages/core/dist/worker/thread/load-image.js';
import { SessionGuests } from '../../packages/core/dist/worker/thread/session-guests.js';

const MiB = 1024 * 1024;
const MAX_PAGES = 16_384;

describe('interpreters that a worker keeps', () => {
  let pool: GuestPool;
  beforeAll(() => {
    pool = new GuestPool(loadImage(findAssets('javascript'), []));
  });

  /** A guest of this size. The memory is never written, so the system does not allocate it. */
  const guestOf = (bytes: number) => {
    const guest = pool.acquire(MAX_PAGES);
    expect(guest.memoryLimit.grow(bytes)).toBe(true);
    return { guest, capture: undefined, pool };
  };
  /** Caches a guest and returns the sessions whose guests were evicted. */
  const put = (guests: SessionGuests, name: string, bytes: number) => {
    const cached = guestOf(bytes);
    const evicted = guests.makeRoom(cached);
    guests.put(name, 1, cached);
    return [...evicted.keys()];
  };
  const kept = (guests: SessionGuests, names: readonly string[]) =>
    names.filter((name) => guests.take(name, 1).cached !== undefined);

  // guarantee: memory-limit
  // proves: A worker keeps at most eight interpreters.
  test('are limited to eight', () => {
    const guests = new SessionGuests();
    const names = Array.from({ length: 10 }, (_, i) => `s${i}`);
    const evicted = names.flatMap((name) => put(guests, name, 0));
    expect(evicted).toEqual(names.slice(0, 2));
    expect(kept(guests, names)).toEqual(names.slice(2));
  });

  // guarantee: memory-limit
  // proves: The interpreters that a worker keeps use at most 512 MiB together, unless the interpreter that was used last is larger.
  test('use at most 512 MiB together, unless the one used last is larger', () => {
    const guests = new SessionGuests();
    expect(put(guests, 'a', 200 * MiB)).toEqual([]);
    expect(put(guests, 'b', 200 * MiB)).toEqual([]);
    expect(put(guests, 'c', 200 * MiB)).toEqual(['a']);
    expect(put(guests, 'd', 600 * MiB)).toEqual(['b', 'c']);
    expect(kept(guests, ['a', 'b', 'c', 'd'])).toEqual(['d']);
  });
});

const APPEND = `
n = globalThis.n = (globalThis.n ?? 0) + 1;
for (const path of ['/app/log', '/tmp/log']) require('fs').appendFileSync(path, String(n));
`;
const READ = `[n, ...['/app/log', '/tmp/log'].map((path) => require('fs').readFileSync(path, 'utf8'))].join(' ')`;

for (const isolation of ['thread', 'process'] as const)
  describe(`sessions of one worker (${isolation})`, {
    ...(isolation === 'process' && { tags: 'full' }),
  }, () => {
    const open = (pool: ReturnType<typeof createPool>) =>
      createSandbox({ runtime: 'javascript', pool, auto_persist_globals: true }) as Promise<Session>;
    const read = async (session: Session) => (await session.execute(READ)).metadata.result;

    test('continue with their state, whether or not their interpreters are still in the worker', async () => {
      await using pool = createPool({ isolation, maxWorkers: 1, optimization: 'demand' });
      const sessions: Session[] = [];
      for (let i = 0; i < 10; i++) sessions.push(await open(pool));
      // In the second round the interpreters of all sessions have been evicted, and later only some of them.
      for (const order of [sessions, sessions, sessions.slice(7), sessions.slice(4), [...sessions].reverse()])
        for (const session of order) expect(await session.execute(APPEND)).toMatchObject({ success: true });
      const counts = [3, 3, 3, 3, 4, 4, 4, 5, 5, 5];
      for (const [i, session] of sessions.entries()) {
        const log = '12345'.slice(0, counts[i]);
        expect(await read(session)).toBe(`${counts[i]} ${log} ${log}`);
        await session.close();
      }
    });

    test('continue with their state after a rollback, a call that a limit ends, and edits of the host', async () => {
      await using pool = createPool({ isolation, maxWorkers: 1, optimization: 'demand' });
      await using session = await open(pool);
      await session.execute(APPEND);
      await session.execute(APPEND);
      await session.rollback();
      expect(await read(session)).toBe('1 1 1');
      const stopped = await session.execute(`${APPEND} for (;;);`, { fuel_budget: 1_000_000 });
      expect(stopped.metadata.trap_reason).toBe('out_of_fuel');
      const before = await read(session);
      await session.writeFile('log', 'edited');
      const [n, , log] = String(before).split(' ');
      expect(await read(session)).toBe(`${n} edited ${log}`);
      await session.execute(APPEND);
      expect(await read(session)).toBe(`${Number(n) + 1} edited${Number(n) + 1} ${log}${Number(n) + 1}`);
    });
  });
