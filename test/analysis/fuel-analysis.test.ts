import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { analyseFuel, budgetToTry } from '../../packages/core/src/analysis/fuel-analysis.ts';
import { fuelStatus, suggestedBudgets } from '../../packages/core/src/analysis/suggested-limits.ts';
import { OUT_OF_FUEL, pythonRun, successfulRun } from './inputs.ts';

const G = 1_000_000_000;
const M = 1_000_000;

describe('suggested budgets', () => {
  test.each([
    [8.5 * G, 15 * G, 20 * G],
    [8 * G, 15 * G, 20 * G],
    [15 * G, 25 * G, 30 * G],
    [9.7 * G, 15 * G, 20 * G],
    [10 * G, 15 * G, 20 * G],
  ])('for %d consumed are %d to %d', (consumed, low, high) => {
    expect(suggestedBudgets(consumed, 10 * G)).toEqual({ low, high });
  });

  test.each([
    [850 * M, 900 * M, 1500 * M, 2 * G],
    [80 * M, 100 * M, 150 * M, 200 * M],
    [8_500, 10_000, 15_000, 20_000],
    [396 * M, 465 * M, 600 * M, 800 * M],
    [7, 10, 15, 15],
  ])('for %d of a small budget of %d are %d to %d', (consumed, budget, low, high) => {
    expect(suggestedBudgets(consumed, budget)).toEqual({ low, high });
  });

  test('always leave the margin and are never more than five times the consumption', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1_000, max: 4e15 }),
        fc.integer({ min: 1_000, max: 4e15 }),
        (consumed, budget) => {
          const { low, high } = suggestedBudgets(consumed, budget);
          expect(low).toBeGreaterThanOrEqual(consumed * 1.5);
          expect(high).toBeGreaterThanOrEqual(Math.min(consumed * 2, Number.MAX_SAFE_INTEGER));
          expect(high).toBeLessThanOrEqual(Math.max(consumed * 5, 5 * G));
        },
      ),
    );
  });
});

describe('fuel status', () => {
  test.each([
    [0, 'efficient'],
    [49.99, 'efficient'],
    [50, 'moderate'],
    [74.99, 'moderate'],
    [75, 'warning'],
    [89.99, 'warning'],
    [90, 'critical'],
    [100, 'critical'],
  ])('at %d percent is %s', (percent, status) => {
    expect(fuelStatus(percent * 100, 10_000, false)).toBe(status);
  });

  test('is exhausted only if the limit ended the run', () => {
    expect(fuelStatus(10, 10, true)).toBe('exhausted');
    expect(analyseFuel(successfulRun(10 * G), true)?.status).toBe('critical');
  });

  test('is not reported for a run whose worker was lost', () => {
    const lost = pythonRun({ trap: { reason: 'worker_lost', message: '' } });
    expect(analyseFuel(lost, true)).toBeUndefined();
  });
});

describe('suggested budget after exhaustion', () => {
  const exhausted = (source: string, more: Parameters<typeof successfulRun>[2] = {}) =>
    successfulRun(10 * G, 10 * G, { trap: OUT_OF_FUEL, exitCode: 152, source, ...more });

  test('doubles the budget and ignores fuel spent after the limit', () => {
    expect(budgetToTry({ ...exhausted(''), fuelConsumed: 10.05 * G })).toBe(20 * G);
  });

  test('adds the cost of packages that were not imported yet', () => {
    const input = { ...exhausted('import openpyxl\nfrom PyPDF2 import PdfReader'), imports: [] };
    expect(budgetToTry(input)).toBe(45 * G);
  });

  test('does not add the cost of packages that were imported', () => {
    const imports = [{ name: 'openpyxl', fuel: 6.5 * G, cached: false }];
    expect(budgetToTry(exhausted('import openpyxl', { imports }))).toBe(20 * G);
  });

  test('adds the rest of an interrupted import', () => {
    const imports = [{ name: 'openpyxl', fuel: 1 * G, cached: false }];
    expect(budgetToTry(exhausted('import openpyxl', { imports }))).toBe(35 * G);
  });

  test('names heavy packages in the recommendation', () => {
    const imports = [{ name: 'openpyxl', fuel: 6.5 * G, cached: false }];
    expect(analyseFuel(exhausted('import openpyxl', { imports }), true)?.recommendation).toBe(
      'Execution exceeded budget. See error_guidance for solutions. openpyxl requires 6.5B fuel for first import. Increase budget to 20B+ for reliable openpyxl usage.',
    );
  });

  test('is given in the recommendation if error guidance is switched off', () => {
    const report = analyseFuel(exhausted(''), false);
    expect(report?.recommendation).toBe(
      'Execution exceeded budget. Increase budget to at least 20B instructions.',
    );
  });
});

describe('recommendation for an endless loop that the time limit ended', () => {
  const frame = { file: 'program', function: '<module>', line: 2, origin: 'program' } as const;
  const states = [{ fuel: G, depth: 1, stack: [frame], variables: [{}], memoryBytes: 0 }];
  const profile = {
    programFile: 'program',
    samples: 1,
    fuel: G,
    firstMemoryBytes: 0,
    lines: [],
    functions: [],
    states,
  };
  const stopped = (consumed: number) =>
    successfulRun(consumed, 10 * G, {
      trap: { reason: 'timeout', message: '' },
      exitCode: 152,
      source: 'while True:\n    pass',
      profile,
    });

  test.each([
    [8 * G, 'Code used 80% of fuel budget. Change the code: more fuel does not help.'],
    [9.5 * G, 'CRITICAL: Code used 95% of fuel budget. Change the code: more fuel does not help.'],
  ])('is to change the code at %d', (consumed, recommendation) => {
    for (const hasGuidance of [true, false]) {
      const report = analyseFuel(stopped(consumed), hasGuidance);
      expect(report).toMatchObject({ cause: 'probably_endless', recommendation });
    }
  });
});

describe('likely causes', () => {
  test('do not include a cached or preloaded package', () => {
    const imports = [
      { name: 'openpyxl', fuel: 50_000, cached: true },
      { name: 'PyPDF2', fuel: 900, cached: false },
    ];
    expect(analyseFuel(successfulRun(2 * G, 10 * G, { imports }), false)?.likely_causes).toEqual([]);
  });

  test('do not include a package that the source mentions but the run did not import', () => {
    const report = analyseFuel(successfulRun(8 * G, 10 * G, { source: 'import openpyxl' }), false);
    expect(report?.likely_causes).toEqual([
      'Complex data processing or large dataset detected (a guess: most of the budget was used without a heavy import)',
    ]);
  });

  test('begin with the largest share', () => {
    const error = { type: 'OutOfFuel', message: '', line: 2 };
    const imports = [{ name: 'openpyxl', fuel: 6.5 * G, cached: false }];
    const change = { trap: OUT_OF_FUEL, exitCode: 152, source: 'import openpyxl\nwork()', error, imports };
    const first = (budget: number) =>
      analyseFuel(successfulRun(budget, budget, change), true)?.likely_causes[0];
    expect(first(10 * G)).toBe('Heavy package import detected: openpyxl (requires 6.5B fuel)');
    expect(first(20 * G)).toBe('Long-running code: stopped at line 2: work()');
  });
});
