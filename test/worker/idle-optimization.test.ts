import { createPool, createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { RUNTIMES } from '../../packages/core/dist/runtimes/registry/runtime-registry.js';
import type { WorkerPool } from '../../packages/core/dist/worker/pool/pool.js';
import { IdleOptimization } from '../../packages/core/dist/worker/thread/idle-optimization.js';
import type { JobCallbacks } from '../../packages/core/dist/worker/thread/job-callbacks.js';
import { runScript } from '../support/cli.ts';

const PACKAGE = new URL('../../packages/core/dist/index.js', import.meta.url).href;

/** Programs whose fuel, output and result depend on all state that a guest could keep from an earlier program. */
const PROBES = {
  python: [
    'import sys\nprint(sorted(sys.modules) == sorted(sys.modules), len(sys.modules), sorted(globals()))',
    'import gc\nprint(len(gc.get_objects()))\n[hash("a"), id(object()) > 0]',
  ],
  javascript: [
    'console.log(Object.keys(globalThis).sort().join())',
    'const objects = Array.from({ length: 50 }, (_, i) => ({ i })); objects.length',
  ],
};

/** Everything about the calls that must not depend on optimisation. */
async function observe(pool: WorkerPool, runtime: 'python' | 'javascript') {
  const seen = [];
  const plain = await createSandbox({ runtime, pool });
  const session = await createSandbox({ runtime, pool, auto_persist_globals: true });
  for (const code of PROBES[runtime]) {
    for (const sandbox of [plain, session]) {
      const { stdout, stderr, success, fuel_consumed, metadata, memory_used_bytes } =
        await sandbox.execute(code);
      seen.push({ stdout, stderr, success, fuel_consumed, result: metadata.result, memory_used_bytes });
    }
  }
  await plain.close();
  await session.close();
  return seen;
}

const pools = (optimization: 'idle' | 'demand') => createPool({ maxWorkers: 1, optimization }) as WorkerPool;

describe.each(['python', 'javascript'] as const)('idle optimisation of the %s interpreter', (runtime) => {
  test('completes without a call, and changes neither the output nor the fuel of programs', {
    tags: 'full',
  }, async () => {
    await using demand = pools('demand');
    await using idle = pools('idle');
    const expected = await observe(demand, runtime);
    expect(expected.every(({ success }) => success)).toBe(true);
    await using _sandbox = await createSandbox({ runtime, pool: idle });
    expect(await idle.optimized()).toEqual([RUNTIMES[runtime].optimizationPrograms.length]);
    expect(await observe(idle, runtime)).toEqual(expected);
    expect(await demand.optimized()).toEqual([]);
  });

  test('is interrupted by calls, which keep their results and sessions', { tags: 'full' }, async () => {
    await using pool = pools('idle');
    await using session = await createSandbox({ runtime, pool, auto_persist_globals: true });
    await session.execute(runtime === 'python' ? 'x = 0' : 'let x = 0');
    // Optimisation begins 500 ms after a call, so these calls arrive before, while or after a program runs.
    for (let calls = 1; calls <= 4; calls++) {
      await new Promise((resolve) => setTimeout(resolve, 495 + 10 * calls));
      expect((await session.execute('x += 1\nx')).metadata.result).toBe(calls);
    }
    expect(await pool.optimized()).toEqual([RUNTIMES[runtime].optimizationPrograms.length]);
    expect((await session.execute('x')).metadata.result).toBe(4);
  });

  test('uses programs that run to their end', async () => {
    await using sandbox = await createSandbox({ runtime, auto_persist_globals: true });
    for (const program of RUNTIMES[runtime].optimizationPrograms) {
      const { success, stderr, fuel_consumed } = await sandbox.execute(program);
      expect({ success, stderr }, program).toEqual({ success: true, stderr: '' });
      expect(fuel_consumed, program).toBeLessThan(30_000_000);
    }
  });
});

test('an optimisation program that jobs interrupt is started again, but not forever', () => {
  const optimization = new IdleOptimization('image', {
    name: 'python',
    optimizationPrograms: ['first', 'second'],
  });
  const started: string[] = [];
  const saved = {
    deltaHeader: new Uint8Array(),
    keptParts: 0,
    newParts: [],
    tmp: [],
    evicted: [],
  };
  const run =
    (isCompleted: boolean) =>
    (id: number, { program }: { program: { code: string } }, services: JobCallbacks): void => {
      started.push(program.code);
      expect(services.isAbandoned?.()).toBe(!isCompleted);
      if (isCompleted) services.send({ type: 'saved', id, saved });
    };
  optimization.runNext(run(false), 1, () => true);
  optimization.runNext(run(true), 1, () => false);
  while (!optimization.isDone) optimization.runNext(run(false), 1, () => true);
  expect(started).toEqual(['first', 'first', 'second', 'second', 'second', 'second']);
  expect(optimization.report()).toMatchObject({ image: 'image', programs: 1 });
});

test('idle optimisation does not keep a process alive', { tags: 'full' }, async () => {
  const script = `
    import { createSandbox } from '${PACKAGE}';
    const sandbox = await createSandbox({ runtime: 'python' });
    // Optimisation begins 500 ms after the guest is ready and takes longer than the rest of this time.
    await new Promise((resolve) => setTimeout(resolve, 1000));
    console.log('end');`;
  const { stdout, status } = await runScript(script);
  expect({ stdout, status }).toEqual({ stdout: 'end\n', status: 0 });
});
