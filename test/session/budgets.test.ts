/**
 * Restoring and saving a session have budgets of their own, apart from the time limit of the program.
 *
 * @module-tag full
 */
import { createPool, createSandbox, memoryStore } from 'llm-wasm-sandbox';
import { expect, test } from 'vitest';

/** Restoring this much takes far longer than the interval at which a guest checks its time. */
const SIZE = 50_000_000;
const LIMIT_SECONDS = 0.3;

// guarantee: time-limit
test('restoring a session does not count against the time limit of the program', async () => {
  const store = memoryStore();
  const policy = { memory_bytes: 256 * 1024 * 1024, fuel_budget: 50_000_000_000, timeout_seconds: 120 };
  const options = { runtime: 'python', session_id: 'large', store, policy } as const;
  await using first = createPool({ maxWorkers: 1, optimization: 'demand' });
  const session = await createSandbox({ ...options, pool: first });
  const { metadata } = await session.execute(`import os\ndata = os.urandom(5_000_000) * 10\nlen(data)`);
  expect(metadata).toMatchObject({ result: SIZE, state: 'committed' });
  await session.close();

  await using second = createPool({ maxWorkers: 1, optimization: 'demand' });
  await using restored = await createSandbox({ ...options, pool: second });
  // The first call restores the session. Its program gets the whole limit, so that it runs for at least this long.
  const { metadata: stopped, duration_ms } = await restored.execute('while True: pass', {
    timeout_seconds: LIMIT_SECONDS,
  });
  expect(stopped.trap_reason).toBe('timeout');
  expect(duration_ms).toBeGreaterThanOrEqual(LIMIT_SECONDS * 1000);
  expect((await restored.execute('len(data)')).metadata).toMatchObject({ result: SIZE, state: 'committed' });
}, 300_000);
