/** Suggested limits, and the status of a fuel budget. Thresholds and arithmetic of fuel: docs/specification.md. */
import type { FuelAnalysis } from '../schema.ts';

export type FuelStatus = FuelAnalysis['status'];

/** Lower bounds in percent of the budget, highest first. A run that reached the limit is `exhausted` instead. */
export const THRESHOLDS: readonly (readonly [percent: number, status: FuelStatus])[] = [
  [90, 'critical'],
  [75, 'warning'],
  [50, 'moderate'],
  [0, 'efficient'],
];

export function fuelStatus(consumed: number, budget: number, exhausted: boolean): FuelStatus {
  if (exhausted) return 'exhausted';
  const percent = (consumed / budget) * 100;
  return THRESHOLDS.find(([from]) => percent >= from)?.[1] ?? 'efficient';
}

/** Factors of the consumption for the lower and the higher suggestion. */
const LOW_MARGIN = 1.5;
const HIGH_MARGIN = 2;
/** From this budget on, suggestions are multiples of LARGE_STEP. */
const LARGE_BUDGET = 1e9;
const LARGE_STEP = 5e9;

/** Rounds up to a multiple of 5B for large budgets, and to a multiple of 5 in the second digit (150M, 600M) for others. */
function roundUp(fuel: number, budget: number): number {
  const small = 5 * 10 ** Math.max(0, Math.floor(Math.log10(Math.max(fuel, 1))) - 1);
  const step = budget >= LARGE_BUDGET ? LARGE_STEP : Math.min(LARGE_STEP, small);
  return Math.min(Math.ceil(fuel / step) * step, Number.MAX_SAFE_INTEGER);
}

/** Budgets with a safety margin of 50% and of 100% above the consumption, rounded up. */
export function suggestedBudgets(consumed: number, budget: number): { low: number; high: number } {
  return {
    low: roundUp(consumed * LOW_MARGIN, budget),
    high: roundUp(consumed * HIGH_MARGIN, budget),
  };
}

/** The largest values that the policy accepts. */
const BYTES_MAX = 2 ** 32;
const FILES_MAX = 1_000_000;
const SECONDS_MAX = 86_400;
/** Suggested even if the limit is close to zero. More files than this also raise the limit on the length of the paths. */
const FILES_MIN = 256;

export const suggestedBytes = (limit: number) => Math.min(limit * 2, BYTES_MAX);
export const suggestedFiles = (limit: number) => Math.min(Math.max(limit * 2, FILES_MIN), FILES_MAX);
export const suggestedSeconds = (limit: number) => Math.min(Math.ceil(limit * 2), SECONDS_MAX);
