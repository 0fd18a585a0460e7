/** The fuel analysis of docs/specification.md, in its order. */
import { createSandbox, type FuelAnalysis } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { analyse } from '../../packages/core/src/analysis/analyse.ts';
import type { AnalysisInput, EarlierCalls } from '../../packages/core/src/analysis/input.ts';
import { suggestedBudgets } from '../../packages/core/src/analysis/suggested-limits.ts';
import { LANGUAGES } from '../../packages/core/src/runtimes/registry/languages.ts';
import { OUT_OF_FUEL, successfulRun } from '../analysis/inputs.ts';
import { sharedByFile } from '../support/shared.ts';

const G = 1_000_000_000;
const LOOP = 'total = 0\nfor i in range(200_000):\n    total += i';
const BOTH = { error_guidance: true, fuel_analysis: true };
const report = (input: AnalysisInput) => analyse(input, LANGUAGES.python.rules, BOTH).fuel_analysis!;

const sandbox = await sharedByFile(createSandbox({ runtime: 'python', policy: { deterministic: true } }));
const needed = (await sandbox.execute(LOOP)).fuel_consumed;

/** Runs the loop with a budget of which it uses this share. */
async function using(percent: number): Promise<FuelAnalysis> {
  const result = await sandbox.execute(LOOP, { fuel_budget: Math.ceil((needed * 100) / percent) });
  expect(result.success).toBe(true);
  expect(result.metadata.fuel_analysis?.consumed).toBe(result.fuel_consumed);
  return result.metadata.fuel_analysis!;
}

describe('Requirement: Proactive Fuel Utilization Monitoring', () => {
  test('Scenario: Efficient Fuel Usage (<50%)', async () => {
    const analysis = await using(25);
    expect(analysis).toEqual({
      consumed: needed,
      budget: Math.ceil(needed * 4),
      utilization_percent: 25,
      status: 'efficient',
      recommendation: null,
      likely_causes: [],
    });
  });

  test('Scenario: Moderate Fuel Usage (50-75%)', async () => {
    expect(await using(62)).toMatchObject({
      utilization_percent: 62,
      status: 'moderate',
      recommendation: expect.stringMatching(
        /^Code used 6[12]% of fuel budget - acceptable for current workload$/,
      ),
      likely_causes: [],
    });
  });

  test('Scenario: Warning Fuel Usage (75-90%)', async () => {
    const analysis = await using(85);
    expect(analysis.status).toBe('warning');
    expect(analysis.recommendation).toMatch(
      /^Code used 8[45]% of fuel budget\. Consider increasing budget to \d+(\.\d+)?M\+ instructions/,
    );
    expect(analysis.likely_causes).toEqual([
      'Complex data processing or large dataset detected (a guess: most of the budget was used without a heavy import)',
    ]);
    expect(report(successfulRun(8.5 * G)).recommendation).toContain(
      'Code used 85% of fuel budget. Consider increasing budget to 15B+ instructions for similar workloads to avoid exhaustion.',
    );
  });

  test('Scenario: Critical Fuel Usage (90-100%)', async () => {
    const analysis = await using(97);
    expect(analysis.status).toBe('critical');
    expect(analysis.recommendation).toMatch(
      /^CRITICAL: Code used 9[67]% of fuel budget\. Increase budget to at least /,
    );
    expect(report(successfulRun(9.7 * G)).recommendation).toBe(
      'CRITICAL: Code used 97% of fuel budget. Increase budget to at least 20B instructions for future executions to prevent OutOfFuel errors.',
    );
  });

  test('Scenario: Fuel Exhaustion (100%)', async () => {
    const { metadata } = await sandbox.execute(LOOP, { fuel_budget: Math.floor(needed / 2) });
    expect(metadata.fuel_analysis).toMatchObject({
      status: 'exhausted',
      utilization_percent: 100,
      recommendation: 'Execution exceeded budget. See error_guidance for solutions.',
    });
    expect(metadata.error_guidance?.error_type).toBe('OutOfFuel');
    expect(metadata.error_guidance?.actionable_guidance.join()).toContain('fuel_analysis');
  });
});

describe('Requirement: Fuel Consumption Pattern Detection', () => {
  const openpyxl = { name: 'openpyxl', fuel: 6.5 * G, cached: false };
  const tabulate = { name: 'tabulate', fuel: 0.08 * G, cached: false };

  test('Scenario: Heavy Package Import Detection', () => {
    expect(report(successfulRun(7 * G, 10 * G, { imports: [openpyxl] })).likely_causes).toEqual([
      'Heavy package import detected: openpyxl (requires 6.5B fuel)',
    ]);
  });

  test('Scenario: Large Dataset Processing Detection', () => {
    const cause =
      'Complex data processing or large dataset detected (a guess: most of the budget was used without a heavy import)';
    expect(report(successfulRun(7.1 * G)).likely_causes).toContain(cause);
    expect(report(successfulRun(7 * G)).likely_causes).not.toContain(cause);
    expect(report(successfulRun(9 * G, 10 * G, { imports: [openpyxl] })).likely_causes).not.toContain(cause);
    expect(report(successfulRun(9 * G, 10 * G, { imports: [tabulate] })).likely_causes).toContain(cause);
  });

  test('Scenario: Multiple Package Imports Detection', () => {
    const cause = 'Multiple package imports (cumulative fuel cost)';
    expect(report(successfulRun(8 * G, 10 * G, { imports: [openpyxl, tabulate] })).likely_causes).toContain(
      cause,
    );
    expect(report(successfulRun(8 * G, 10 * G, { imports: [openpyxl] })).likely_causes).not.toContain(cause);
  });
});

describe('Requirement: Session-Aware Fuel Analysis', () => {
  const earlierCalls = (persistent: boolean, heavyImports: [string, number][] = []): EarlierCalls => ({
    persistent,
    sources: [],
    heavyImports: new Map(heavyImports),
  });
  const openpyxl = { name: 'openpyxl', fuel: 6.5 * G, cached: false };

  test('Scenario: First Import in Session', () => {
    const run = successfulRun(7 * G, 10 * G, { imports: [openpyxl], earlier: earlierCalls(true) });
    expect(report(run).recommendation).toContain(
      'First import of openpyxl consumed 6.5B fuel. Subsequent imports will use <100M fuel due to caching.',
    );
  });

  test('Scenario: Cached Import in Existing Session', () => {
    const imports = [{ ...openpyxl, fuel: 50_000, cached: true }];
    const run = successfulRun(0.1 * G, 10 * G, { imports, earlier: earlierCalls(true, [['openpyxl', 1]]) });
    expect(report(run).recommendation).toBe(
      'Fuel usage low due to cached imports from previous executions in this session.',
    );
  });

  test('Scenario: Session Recommendation', () => {
    const run = successfulRun(7 * G, 10 * G, {
      imports: [openpyxl],
      earlier: earlierCalls(false, [['openpyxl', 1]]),
    });
    expect(report(run).recommendation).toContain(
      'Consider using persistent session with auto_persist_globals=True to cache imports across executions',
    );
    const first = successfulRun(7 * G, 10 * G, { imports: [openpyxl], earlier: earlierCalls(false) });
    expect(report(first).recommendation).not.toContain('persistent session');
  });
});

describe('Requirement: Fuel Budget Recommendation Accuracy', () => {
  test('Scenario: Incremental Budget Increase', () => {
    const { recommendation } = report(successfulRun(8.5 * G));
    expect(recommendation).toContain('Consider increasing budget to 15B');
    expect(recommendation).toContain('fuel_budget=15_000_000_000 (1.5x current consumption)');
  });

  test('Scenario: Safety Margin Recommendations', () => {
    expect(suggestedBudgets(8 * G, 10 * G)).toEqual({ low: 15 * G, high: 20 * G });
    expect(suggestedBudgets(15 * G, 20 * G)).toEqual({ low: 25 * G, high: 30 * G });
  });

  test('Scenario: Package-Specific Recommendations', () => {
    const run = successfulRun(5 * G, 5 * G, {
      source: 'import openpyxl',
      trap: OUT_OF_FUEL,
      exitCode: 152,
      imports: [],
    });
    expect(report(run).recommendation).toContain(
      'openpyxl requires 6.5B fuel for first import. Increase budget to 25B+ for reliable openpyxl usage.',
    );
  });

  test.each([
    ['a loop', LOOP, 0.55],
    ['a comprehension', 'sum([x * x for x in range(100_000)])', 0.7],
    ['sorting', 'import random\nrandom.seed(1)\nsorted(random.random() for _ in range(30_000))', 0.9],
    ['recursion', 'def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(19)', 0.6],
    ['text', "' '.join(str(i) for i in range(50_000)).split()", 0.52],
    ['JSON', 'import json\njson.loads(json.dumps(list(range(50_000))))', 0.8],
    ['a late burst', 'x = 0\nfor i in range(1000): x += i\ny = 3 ** 60_000 % 7', 0.51],
  ])('a program that ran out of fuel succeeds with the suggested budget: %s', async (_, code, share) => {
    const complete = await sandbox.execute(code);
    expect(complete.success).toBe(true);
    const stopped = await sandbox.execute(code, { fuel_budget: Math.floor(complete.fuel_consumed * share) });
    expect(stopped.metadata.trap_reason).toBe('out_of_fuel');
    const lines = stopped.metadata.error_guidance!.actionable_guidance.join('\n');
    const suggested = Number(/fuel_budget=([\d_]+)/.exec(lines)![1]!.replaceAll('_', ''));
    const again = await sandbox.execute(code, { fuel_budget: suggested });
    expect(again.metadata.trap_reason).toBeNull();
    expect(again.success).toBe(true);
  });
});

describe('Requirement: Backward Compatibility', () => {
  test('Scenario: Existing Clients Ignore Fuel Analysis', async () => {
    const off = await createSandbox({
      runtime: 'python',
      policy: { fuel_analysis: false, deterministic: true },
    });
    const result = await off.execute(LOOP);
    await off.close();
    expect(result.metadata).not.toHaveProperty('fuel_analysis');
    expect(result.fuel_consumed).toBe(needed);
  });

  test('Scenario: New Clients Consume Fuel Analysis', async () => {
    const { fuel_analysis } = (await sandbox.execute('print(1)')).metadata;
    expect(Object.keys(fuel_analysis!)).toEqual([
      'consumed',
      'budget',
      'utilization_percent',
      'status',
      'recommendation',
      'likely_causes',
    ]);
  });
});

describe('Requirement: Performance Impact Minimization', () => {
  test('Scenario: Analysis Computation Overhead', () => {
    // tools/bench/analysis.mjs measures times. Here: a long standard error is not read at all.
    const stderr = `${'x'.repeat(10_000_000)}\n`;
    const accessed: string[] = [];
    const observed = new Proxy(new String(stderr), {
      get: (target, key) => {
        if (typeof key === 'string') accessed.push(key);
        const value = Reflect.get(target, key);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    }) as unknown as string;
    report({ ...successfulRun(1 * G), exitCode: 1, ending: 'unknown', stderr: observed });
    expect(new Set(accessed)).toEqual(new Set(['length']));
  });
});
