/** Runs every program of the corpus under each limit that it exceeds. The sandbox stays usable afterwards. */
import { createSandbox, type PolicyInput, type SandboxResult } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { CORPUS, type CorpusProgram } from '../../bench/corpus.mjs';
import { GRACE } from '../../src/engine/guest.ts';

type Limit = CorpusProgram['breaks'][number];

const MiB = 1024 * 1024;
const FUEL = 200_000_000;
const CAP = 10_000;
const MEMORY = 64 * MiB;

/** The limit under test, with all other limits far above what the program uses. */
const POLICIES: Record<Limit, PolicyInput> = {
  fuel: { fuel_budget: FUEL, timeout_seconds: 60 },
  time: { fuel_budget: 1e15, timeout_seconds: 0.3 },
  memory: { memory_bytes: MEMORY, fuel_budget: 30e9, timeout_seconds: 60 },
  output: { stdout_max_bytes: CAP, stderr_max_bytes: CAP, fuel_budget: 800_000_000, timeout_seconds: 60 },
};

const size = (text: string) => new TextEncoder().encode(text).length;

const CHECKS: Record<Limit, (result: SandboxResult, program: CorpusProgram) => void> = {
  fuel: (result) => {
    expect(result).toMatchObject({ exit_code: 152, metadata: { trap_reason: 'out_of_fuel' } });
    expect(result.metadata.trap_message).toContain('Execution trapped: OutOfFuel');
    expect(result.fuel_consumed).toBeGreaterThan(FUEL);
    expect(result.fuel_consumed).toBeLessThanOrEqual(FUEL + GRACE.fuel);
  },
  time: (result) => {
    expect(result).toMatchObject({ exit_code: 124, metadata: { trap_reason: 'timeout' } });
    expect(result.metadata.trap_message).toContain('Execution trapped: Timeout');
  },
  memory: (result) => {
    expect(result.memory_used_bytes).toBeLessThanOrEqual(MEMORY);
    if (result.metadata.trap_reason === 'memory_limit') expect(result.exit_code).toBe(137);
    else expect(result.metadata.error?.type).toMatch(/^(MemoryError|InternalError|RangeError)$/);
  },
  output: (result, program) => {
    expect(size(result.stdout)).toBeLessThanOrEqual(CAP);
    expect(size(result.stderr)).toBeLessThanOrEqual(CAP + 1);
    const { stdout_truncated, stderr_truncated, stdout_dropped_bytes, stderr_dropped_bytes } =
      result.metadata;
    expect(stdout_truncated || stderr_truncated).toBe(true);
    expect(stdout_dropped_bytes + stderr_dropped_bytes).toBeGreaterThan(1000);
    expect(result.metadata.trapped).toBe(program.ends !== true);
  },
};

describe('limit corpus', () => {
  test('has at least 40 programs, in both languages and for every limit', () => {
    expect(CORPUS.length).toBeGreaterThanOrEqual(40);
    for (const runtime of ['python', 'javascript'] as const) {
      const own = CORPUS.filter((program) => program.runtime === runtime);
      expect(own.length).toBeGreaterThanOrEqual(20);
      expect(new Set(own.map(({ name }) => name)).size).toBe(own.length);
      expect(new Set(own.flatMap(({ breaks }) => breaks))).toEqual(
        new Set(['fuel', 'time', 'memory', 'output']),
      );
    }
  });
});

describe.each(Object.keys(POLICIES) as Limit[])('limit on corpus programs: %s', (limit) => {
  const programs = CORPUS.filter(({ breaks }) => breaks.includes(limit));
  // guarantee: fuel-limit, time-limit
  test.each(programs.map((program) => [program.runtime, program.name, program] as const))(
    'stops the program and leaves the sandbox usable: %s, %s',
    async (runtime, _, program) => {
      await using sandbox = await createSandbox({ runtime, policy: POLICIES[limit] });
      const started = performance.now();
      const result = await sandbox.execute(program.code);
      CHECKS[limit](result, program);
      expect(result.success).toBe(program.ends === true);
      // Detects a hang. bench/overshoot.mjs measures how promptly the limit fires.
      if (limit === 'time') expect(performance.now() - started).toBeLessThan(5_300);
      const next = await sandbox.execute('6 * 7', { timeout_seconds: 60, fuel_budget: 1e9 });
      expect(next).toMatchObject({ success: true, metadata: { result: 42 } });
    },
  );
});
