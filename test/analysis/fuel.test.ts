import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { analyseFuel, budgetToTry, statusOf, suggestedBudgets } from '../../src/analysis/fuel-report.ts';
import { CATALOGUE, facts, outOfFuel, used } from './facts.ts';

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

  test('always leave the margin and never three times more than that', () => {
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

describe('status', () => {
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
    expect(statusOf(percent * 100, 10_000, false)).toBe(status);
  });

  test('is exhausted only when the limit ended the run', () => {
    expect(statusOf(10, 10, true)).toBe('exhausted');
    expect(analyseFuel(used(10 * G), CATALOGUE, true)?.status).toBe('critical');
  });

  test('is not reported for a run of which nothing is known', () => {
    const lost = facts({ trap: { reason: 'worker_lost', message: '' } });
    expect(analyseFuel(lost, CATALOGUE, true)).toBeUndefined();
  });
});

describe('an exhausted budget', () => {
  const exhausted = (source: string, more: Parameters<typeof used>[2] = {}) =>
    used(10 * G, 10 * G, { trap: outOfFuel, exit_code: 152, source, ...more });

  test('is doubled, without what was spent after the limit', () => {
    expect(budgetToTry({ ...exhausted(''), fuel_consumed: 10.05 * G }, CATALOGUE)).toBe(20 * G);
  });

  test('counts packages that the program still had to import', () => {
    const facts = { ...exhausted('import openpyxl\nfrom PyPDF2 import PdfReader'), imports: [] };
    expect(budgetToTry(facts, CATALOGUE)).toBe(45 * G);
  });

  test('does not count them again once they are imported', () => {
    const imports = [{ name: 'openpyxl', fuel: 6.5 * G, cached: false }];
    expect(budgetToTry(exhausted('import openpyxl', { imports }), CATALOGUE)).toBe(20 * G);
  });

  test('counts the rest of an import that was cut short', () => {
    const imports = [{ name: 'openpyxl', fuel: 1 * G, cached: false }];
    expect(budgetToTry(exhausted('import openpyxl', { imports }), CATALOGUE)).toBe(35 * G);
  });

  test('names the packages in the recommendation', () => {
    const imports = [{ name: 'openpyxl', fuel: 6.5 * G, cached: false }];
    expect(analyseFuel(exhausted('import openpyxl', { imports }), CATALOGUE, true)?.recommendation).toBe(
      'Execution exceeded budget. See error_guidance for solutions. openpyxl requires 6.5B fuel for first import. Increase budget to 20B+ for reliable openpyxl usage.',
    );
  });

  test('does not refer to guidance that is switched off', () => {
    const report = analyseFuel(exhausted(''), CATALOGUE, false);
    expect(report?.recommendation).toBe(
      'Execution exceeded budget. Increase budget to at least 20B instructions.',
    );
  });
});

describe('likely causes', () => {
  test('do not take a cached or preloaded package for a cause', () => {
    const imports = [
      { name: 'openpyxl', fuel: 50_000, cached: true },
      { name: 'PyPDF2', fuel: 900, cached: false },
    ];
    expect(analyseFuel(used(2 * G, 10 * G, { imports }), CATALOGUE, false)?.likely_causes).toEqual([]);
  });

  test('do not believe the text of a program that came to its end', () => {
    const report = analyseFuel(used(8 * G, 10 * G, { source: 'import openpyxl' }), CATALOGUE, false);
    expect(report?.likely_causes).toEqual(['Complex data processing or large dataset detected']);
  });

  test('put the larger part first', () => {
    const error = { type: 'OutOfFuel', message: '', line: 2 };
    const imports = [{ name: 'openpyxl', fuel: 6.5 * G, cached: false }];
    const change = { trap: outOfFuel, exit_code: 152, source: 'import openpyxl\nwork()', error, imports };
    const first = (budget: number) =>
      analyseFuel(used(budget, budget, change), CATALOGUE, true)?.likely_causes[0];
    expect(first(10 * G)).toBe('Heavy package import detected: openpyxl (requires 6.5B fuel)');
    expect(first(20 * G)).toBe('Long-running code: stopped at line 2: work()');
  });
});
