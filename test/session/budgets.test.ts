/** Restoring and saving a session have budgets of their own, apart from the time limit of the program. */
import { createPool, createSandbox, memoryStore } from 'llm-wasm-sandbox';
import { expect, test } from 'vitest';

const SIZE = 200_000_000;
/** Less than restoring the session takes, and more than the program takes. */
const LIMIT = 0.3;
/** Runs for longer than the interval at which a guest checks its time. */
const LOOP = 'for i in range(100_000): pass\nlen(data)';

// guarantee: time-limit
test('restoring a session does not count against the time limit of the program', async () => {
  const store = memoryStore();
  const policy = { memory_bytes: 512 * 1024 * 1024, fuel_budget: 50_000_000_000, timeout_seconds: 120 };
  const options = { runtime: 'python', session_id: 'large', store, policy } as const;
  await using first = createPool({ maxWorkers: 1, optimization: 'demand' });
  const session = await createSandbox({ ...options, pool: first });
  const { metadata } = await session.execute(`import os\ndata = os.urandom(5_000_000) * 40\nlen(data)`);
  expect(metadata).toMatchObject({ result: SIZE, state: 'committed' });
  await session.close();

  await using second = createPool({ maxWorkers: 1, optimization: 'demand' });
  // Starts the thread and loads the image, so that only restoring is left.
  await using other = await createSandbox({ runtime: 'python', pool: second });
  await other.execute('1');
  await using restored = await createSandbox({ ...options, pool: second });
  const started = performance.now();
  const result = await restored.execute(LOOP, { timeout_seconds: LIMIT });
  const elapsed = performance.now() - started;
  expect(result.metadata).toMatchObject({ result: SIZE, state: 'committed', trap_reason: null });
  expect(elapsed).toBeGreaterThan(LIMIT * 1000);
  expect(result.duration_ms).toBeLessThan(elapsed);
  // The limit still holds for the program itself.
  const endless = await restored.execute('while True: pass', { timeout_seconds: LIMIT });
  expect(endless.metadata.trap_reason).toBe('timeout');
}, 300_000);
