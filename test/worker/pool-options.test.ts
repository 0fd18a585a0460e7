import { createPool, createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, it } from 'vitest';

describe('createPool', () => {
  it('limits the number of threads', async () => {
    await using pool = createPool({ maxWorkers: 1 });
    const sandboxes = await Promise.all(
      Array.from({ length: 3 }, () => createSandbox({ runtime: 'javascript', pool })),
    );
    const results = await Promise.all(sandboxes.map((sandbox, i) => sandbox.execute(`${i}`)));
    expect(results.map(({ metadata }) => metadata.result)).toEqual([0, 1, 2]);
    expect([pool.maxWorkers, pool.workers, pool.running, pool.queued]).toEqual([1, 1, 0, 0]);
  });

  it('lets calls of one tenant wait, but only as many as allowed', async () => {
    await using pool = createPool({ maxWorkers: 1, maxQueuedPerTenant: 1 });
    const create = () => createSandbox({ runtime: 'javascript', pool, tenant: 'ann' });
    const [one, two, three] = await Promise.all([create(), create(), create()]);
    const running = one.execute('for (;;) {}', { timeout_seconds: 30 });
    const waiting = two.execute('2');
    await expect(three.execute('3')).rejects.toMatchObject({ code: 'queue_full' });
    running.cancel();
    expect((await waiting).metadata.result).toBe(2);
    await running;
  });

  it('starts a thread for a call that is made while it closes', async () => {
    const pool = createPool({ maxWorkers: 1 });
    const sandbox = await createSandbox({ runtime: 'javascript', pool });
    await sandbox.execute('1');
    const closing = pool.close();
    expect((await sandbox.execute('2')).metadata.result).toBe(2);
    await closing;
    await pool.close();
  });

  it('is usable again after close', async () => {
    const pool = createPool({ maxWorkers: 1 });
    const sandbox = await createSandbox({ runtime: 'javascript', pool });
    const lost = sandbox.execute('for (;;) {}');
    while (pool.running === 0) await new Promise((next) => setTimeout(next, 10));
    await new Promise((next) => setTimeout(next, 200));
    await pool.close();
    expect((await lost).metadata.trap_reason).toBe('worker_lost');
    expect((await sandbox.execute('1')).metadata.result).toBe(1);
    await pool.close();
  });

  it('rejects wrong options', async () => {
    expect(() => createPool({ maxWorkers: 0 })).toThrow('options.maxWorkers');
    expect(() => createPool({ size: 3 } as object)).toThrow('Unrecognized key');
    await expect(createSandbox({ runtime: 'python', pool: {} as never })).rejects.toThrow('createPool()');
  });
});
