/** Sessions whose calls run in different threads: no thread continues an interpreter that is not the current one. */
import { createPool, createSandbox, diskStore, type Pool } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { folderOfTest } from '../support/folders.ts';

/** Occupies the first free thread until the returned function is called. */
async function occupyThread(pool: Pool): Promise<() => Promise<void>> {
  const sandbox = await createSandbox({ runtime: 'javascript', pool });
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  async function* stdin() {
    await ended;
    yield 'end';
  }
  await new Promise<void>((resolve, reject) => {
    sandbox
      .execute('console.log("running"); std.in.readAsString()', { stdin: stdin(), onStdout: () => resolve() })
      .catch(reject);
  });
  return async () => {
    end();
    // `close` would cancel the call; another call waits until it has ended.
    await sandbox.execute('1');
    await sandbox.close();
  };
}

const MB = 1_000_000;
const write = (name: string, length: number) =>
  `{ const f = std.open(${JSON.stringify(name)}, 'w'); f.puts('x'.repeat(${length})); f.close(); }`;

for (const isolation of ['thread', 'process'] as const)
  describe(`a session with isolation "${isolation}"`, {
    ...(isolation === 'process' && { tags: 'full' }),
  }, () => {
    /** Runs `second` in another thread than the calls before it, and returns to the first thread. */
    async function inOtherThread(pool: Pool, second: () => Promise<unknown>): Promise<() => Promise<void>> {
      const freeFirst = await occupyThread(pool);
      await second();
      const freeSecond = await occupyThread(pool);
      expect([pool.workers, pool.running]).toEqual([2, 2]);
      await freeFirst();
      return freeSecond;
    }

    test('does not continue a refused call after a call in another thread', async () => {
      await using pool = createPool({
        maxWorkers: 2,
        maxHeldBytes: 2.5 * MB,
        isolation,
        optimization: 'demand',
      });
      const store = diskStore(folderOfTest(), { durability: 'relaxed' });
      await using session = await createSandbox({
        runtime: 'javascript',
        session_id: 'one',
        store,
        pool,
        commit: 'answer',
      });
      await session.execute(`var x = 1; ${write('f', MB)}`);
      await expect(session.execute(`x = 2; ${write('g', 2 * MB)}`)).rejects.toMatchObject({
        code: 'session_limit',
      });
      await session.flush();
      const free = await inOtherThread(pool, async () => {
        await session.execute('x += 10');
        await session.flush();
      });
      expect((await session.execute('[x, std.loadFile("g")]')).metadata.result).toEqual([11, null]);
      await free();
    });

    test('sees a file that the host wrote before a call in another thread that was rolled back', async () => {
      await using pool = createPool({ maxWorkers: 2, isolation, optimization: 'demand' });
      await using session = await createSandbox({ runtime: 'javascript', auto_persist_globals: true, pool });
      await session.execute('var x = 1; std.open("f", "w").puts("guest")');
      await session.flush();
      const free = await inOtherThread(pool, async () => {
        await session.writeFile('f', 'host');
        const { metadata } = await session.execute('x = 2; std.exit(4)');
        expect(metadata.state).toBe('rolled_back');
        await session.flush();
      });
      expect((await session.execute('[x, std.loadFile("f")]')).metadata.result).toEqual([1, 'host']);
      await free();
    });
  });
