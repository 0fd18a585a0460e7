/**
 * Runs guests that end in every possible way, in random order, eight at a time. Every outcome is correct, and neither
 * the memory of the threads nor the number of workers grows.
 *
 * @module-tag full
 */
import { createPool, createSandbox, type Pool } from 'llm-wasm-sandbox';
import { expect, test } from 'vitest';
import { TRAPS } from '../../packages/core/src/schema.ts';
import { repetitions } from '../support/repetitions.ts';
import type { TestProgram } from '../support/sandbox.ts';
import { ThreadMemoryReader } from '../support/thread-memory.ts';

const GUESTS = repetitions(50, 300);
const AT_ONCE = 8;
const WORKERS = 2;
/** Far less than one guest in ten holds. */
const MAX_GROWTH_BYTES = 16 * 1024 * 1024;
const MiB = 1024 * 1024;

interface ExpectedEnding extends TestProgram {
  readonly expected: object;
}

const trap = (trap_reason: string, exit_code: number) => ({ exit_code, metadata: { trap_reason } });

const ENDINGS: readonly ExpectedEnding[] = [
  {
    runtime: 'python',
    code: '6 * 7',
    expected: { exit_code: 0, metadata: { result: 42, trap_reason: null } },
  },
  {
    runtime: 'javascript',
    code: '6 * 7',
    expected: { exit_code: 0, metadata: { result: 42, trap_reason: null } },
  },
  {
    runtime: 'python',
    code: '1 / 0',
    expected: { exit_code: 1, metadata: { error: { type: 'ZeroDivisionError' } } },
  },
  {
    runtime: 'javascript',
    code: 'null.x',
    expected: { exit_code: 1, metadata: { error: { type: 'TypeError' } } },
  },
  {
    runtime: 'python',
    code: 'while True: pass',
    policy: { fuel_budget: 20_000_000 },
    expected: trap('out_of_fuel', 152),
  },
  {
    runtime: 'javascript',
    code: 'for (;;) {}',
    policy: { fuel_budget: 20_000_000 },
    expected: trap('out_of_fuel', 152),
  },
  {
    runtime: 'python',
    code: 'sum(range(10**12))',
    policy: { fuel_budget: 20_000_000 },
    expected: trap('out_of_fuel', 152),
  },
  {
    runtime: 'python',
    code: 'import time; time.sleep(60)',
    policy: { timeout_seconds: 0.05 },
    expected: trap('timeout', 124),
  },
  {
    runtime: 'javascript',
    code: 'setTimeout(() => {}, 1e6)',
    policy: { timeout_seconds: 0.05 },
    expected: trap('timeout', 124),
  },
  {
    runtime: 'python',
    code: 'import time; time.sleep(60)',
    options: () => ({ signal: AbortSignal.timeout(30) }),
    expected: trap('cancelled', 130),
  },
  {
    runtime: 'javascript',
    code: 'for (;;) {}',
    policy: { fuel_budget: 1e15 },
    options: () => ({ signal: AbortSignal.timeout(30) }),
    expected: trap('cancelled', 130),
  },
  {
    runtime: 'python',
    code: "x = b'x' * 10**9",
    policy: { memory_bytes: 64 * MiB },
    expected: { exit_code: 1, metadata: { error: { type: 'MemoryError' } } },
  },
  {
    runtime: 'javascript',
    code: 'const a = []; for (;;) a.push(new Uint8Array(1e6));',
    policy: { memory_bytes: 32 * MiB },
    expected: { exit_code: 1, metadata: { error: { type: 'InternalError' } } },
  },
  {
    runtime: 'python',
    code: 'import ctypes\nx = []\ntry:\n    while True: x.append(bytes(100_000))\nexcept MemoryError: ctypes.c_int.from_address(0xffffffff).value',
    policy: { memory_bytes: 40 * MiB },
    expected: trap('memory_limit', 137),
  },
  {
    runtime: 'python',
    code: "print('x' * 5_000_000)",
    expected: { exit_code: 0, metadata: { stdout_truncated: true } },
  },
  {
    runtime: 'python',
    code: "open('x', 'wb').write(bytes(10**8))",
    expected: { exit_code: 1, metadata: { error: { type: 'OSError' } } },
  },
  {
    runtime: 'python',
    code: `import os; os.system('f() { echo "$(f)"; }; f')`,
    policy: { max_process_depth: 3 },
    expected: trap('process_limit', 153),
  },
  { runtime: 'python', code: 'import os; os.abort()', expected: trap('unreachable', 134) },
  {
    runtime: 'python',
    code: 'import ctypes; ctypes.c_int.from_address(-1 & 0xffffffff).value',
    expected: trap('unreachable', 134),
  },
  {
    runtime: 'python',
    code: 'x = ()\nfor i in range(1_000_000): x = (x,)\nhash(x)',
    expected: trap('stack_overflow', 139),
  },
  {
    runtime: 'python',
    code: 'import ctypes\nm = ctypes.c_uint.from_address(id(len) + 8).value\nctypes.c_uint.from_address(m + 4).value = 3\nlen([1])',
    expected: trap('denied_call', 159),
  },
  {
    runtime: 'javascript',
    code: "new Array(4e8).join('')",
    policy: { fuel_budget: 20_000_000 },
    expected: trap('out_of_fuel', 152),
  },
  {
    runtime: 'javascript',
    code: "for (let i = 0; i < 5e4; i++) console.log('x'.repeat(100));",
    expected: { exit_code: 0, metadata: { stdout_truncated: true } },
  },
  {
    runtime: 'javascript',
    code: "writeText('x', 'y'.repeat(2e6))",
    policy: { workspace_max_bytes: 1_000_000 },
    expected: { exit_code: 1, metadata: { error: { type: 'Error', errno: 28 } } },
  },
  {
    runtime: 'python',
    code: 'def f(): f()\nf()',
    expected: { exit_code: 1, metadata: { error: { type: 'RecursionError' } } },
  },
  {
    runtime: 'javascript',
    code: 'function f() { f(); } f()',
    expected: { exit_code: 1, metadata: { error: { type: 'RangeError' } } },
  },
];

/** A worker holds two guests of each runtime that it has run in reserve. */
const RESERVE = 2 * new Set(ENDINGS.map(({ runtime }) => runtime)).size;

/** Shuffles with a seed, so that a failing order can be repeated. */
function shuffled(count: number, seed: number): number[] {
  let state = seed;
  const random = () => {
    state = (state * 1_103_515_245 + 12_345) & 0x7fffffff;
    return state / 0x7fffffff;
  };
  const order = Array.from({ length: count }, (_, i) => i % ENDINGS.length);
  for (let i = count - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1));
    [order[i], order[j]] = [order[j]!, order[i]!];
  }
  return order;
}

async function endOne(pool: Pool, ending: ExpectedEnding): Promise<void> {
  const { runtime, code, policy, options, expected } = ending;
  await using sandbox = await createSandbox({ runtime, pool, ...(policy && { policy }) });
  const result = await sandbox.execute(code, options?.());
  expect(result, code).toMatchObject(expected);
}

async function round(pool: Pool, count: number, seed: number): Promise<void> {
  const waiting = shuffled(count, seed);
  const lane = async () => {
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop())
      await endOne(pool, ENDINGS[next]!);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, lane));
}

test('the endings include every trap reason except worker_lost, which would end eight guests', () => {
  const met = ENDINGS.map(
    ({ expected }) => (expected as Partial<ReturnType<typeof trap>>).metadata?.trap_reason,
  );
  const missing = Object.keys(TRAPS).filter((reason) => !met.includes(reason));
  expect(missing).toEqual(['worker_lost']);
});

// guarantee: no-leaks
test('guests that end in every possible way leave no memory and no threads behind', {
  timeout: 300_000,
}, async () => {
  await using pool = createPool({ maxWorkers: WORKERS, optimization: 'demand' });
  // Caches are filled by the first guests: each ending occurs once.
  await round(pool, ENDINGS.length, 1);
  const reader = await ThreadMemoryReader.open();
  /** Bytes of the main thread and of each worker. */
  const bytes = async () => {
    const wasmMemories = async () => (await reader.ofWorkers()).map((memory) => memory.wasmMemories);
    // Workers create the guests of their reserve when they are idle. Any other guest is a leak.
    await expect.poll(wasmMemories, { timeout: 60_000 }).toEqual(Array(WORKERS).fill(RESERVE));
    const memories = [await reader.ofThisThread(), ...(await reader.ofWorkers())];
    return memories.map((memory) => memory.bytes);
  };
  const before = await bytes();
  await round(pool, GUESTS, 2);
  expect(pool.workers).toBe(WORKERS);
  for (const [i, after] of (await bytes()).entries())
    expect(after - before[i]!).toBeLessThan(MAX_GROWTH_BYTES);
  reader.close();
});
