import { createPool, createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, it } from 'vitest';
import { FuelAllowance } from '../../packages/core/dist/worker/pool/tenant-fuel.js';

describe('fuel allowance', () => {
  it('accrues steadily, up to one minute, and can be overdrawn by one call', () => {
    let now = 0;
    const allowance = new FuelAllowance(60_000, () => now);
    const isLimited = () => {
      try {
        allowance.check('ann');
        return undefined;
      } catch (cause) {
        return (cause as Error).message.match(/in (\d+) s/)?.[1];
      }
    };
    allowance.charge('ann', 59_000);
    expect(isLimited()).toBeUndefined();
    allowance.charge('ann', 11_000);
    expect(isLimited()).toBe('10');
    now += 10_001;
    expect(isLimited()).toBeUndefined();
    now += 3_600_000;
    allowance.charge('bob', 1);
    allowance.charge('ann', 60_000);
    expect(isLimited()).toBe('1');
  });
});

describe('createPool', () => {
  it('limits the number of threads', async () => {
    await using pool = createPool({ maxWorkers: 1, optimization: 'demand' });
    const sandboxes = await Promise.all(
      Array.from({ length: 3 }, () => createSandbox({ runtime: 'javascript', pool })),
    );
    const results = await Promise.all(sandboxes.map((sandbox, i) => sandbox.execute(`${i}`)));
    expect(results.map(({ metadata }) => metadata.result)).toEqual([0, 1, 2]);
    expect([pool.maxWorkers, pool.workers, pool.running, pool.queued]).toEqual([1, 1, 0, 0]);
  });

  it('lets calls of one tenant wait, but only as many as allowed', async () => {
    await using pool = createPool({ maxWorkers: 1, maxQueuedPerTenant: 1, optimization: 'demand' });
    const create = () => createSandbox({ runtime: 'javascript', pool, tenant: 'ann' });
    const [one, two, three] = await Promise.all([create(), create(), create()]);
    const running = one.execute('for (;;) {}', { timeout_seconds: 30 });
    const waiting = two.execute('2');
    await expect(three.execute('3')).rejects.toMatchObject({ code: 'queue_full' });
    running.cancel();
    expect((await waiting).metadata.result).toBe(2);
    await running;
  });

  it('limits the fuel of a tenant per minute', async () => {
    await using pool = createPool({ maxWorkers: 1, fuelPerMinutePerTenant: 100_000, optimization: 'demand' });
    const create = (tenant: string) => createSandbox({ runtime: 'javascript', pool, tenant });
    const [ann, again, bob] = await Promise.all([create('ann'), create('ann'), create('bob')]);
    const { fuel_consumed } = await ann.execute('for (let i = 0; i < 1e5; i++);');
    expect(fuel_consumed).toBeGreaterThan(1_000_000);
    await expect(again.execute('1')).rejects.toMatchObject({
      code: 'rate_limited',
      message: expect.stringMatching(/100K fuel.*Retry in \d+ s/),
    });
    expect((await bob.execute('1')).metadata.result).toBe(1);
  });

  it('starts a thread for a call that is made while it closes', async () => {
    const pool = createPool({ maxWorkers: 1, optimization: 'demand' });
    const sandbox = await createSandbox({ runtime: 'javascript', pool });
    await sandbox.execute('1');
    const closing = pool.close();
    expect((await sandbox.execute('2')).metadata.result).toBe(2);
    await closing;
    await pool.close();
  });

  it('is usable again after close', async () => {
    const pool = createPool({ maxWorkers: 1, optimization: 'demand' });
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
    expect(() => createPool({ size: 3 } as object)).toThrow('options has no field "size".');
    await expect(createSandbox({ runtime: 'python', pool: {} as never })).rejects.toThrow('createPool()');
  });
});
