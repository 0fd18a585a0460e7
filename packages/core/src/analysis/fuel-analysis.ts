/**
 * The `fuel_analysis` block of a result: how much fuel a run used, why, and which budget a similar run needs. The texts are
 * those of docs/specification.md; package costs are measured, in the run itself or beforehand.
 */
import { formatFuel } from '../quantities.ts';
import type { FuelAnalysis } from '../schema.ts';
import { type HeavyImport, heavyImports, NOTICEABLE_FUEL, packageImports } from './heavy-imports.ts';
import type { AnalysisInput } from './input.ts';
import { backtrackingText, causeToFix, isStoppedByLimit, runFindings } from './limit-cause.ts';
import { failedLocation } from './quote-guest-text.ts';
import { type AdviceLine, renderable, renderLines } from './reader.ts';
import { type FuelStatus, fuelStatus, suggestedBudgets } from './suggested-limits.ts';

/** Above this share of the budget, and without a heavy package, the data or the algorithm is the likely cause. */
const LARGE_DATA_PERCENT = 70;

/** The fuel that a run needs if its loop continues at the same rate; undefined if its progress is unknown. */
function estimatedNeed(input: AnalysisInput): number | undefined {
  const { progress } = runFindings(input);
  return progress && input.fuelConsumed + progress.remainingFuel;
}

/**
 * The budget to try next: twice the sum of the consumption and the known cost of packages that are still to be imported;
 * more if the progress of the run shows that it needs more.
 */
export function budgetToTry(input: AnalysisInput): number {
  const { fuel_budget: budget } = input.capabilities.limits;
  const pending = heavyImports(input).reduce((sum, { missing }) => sum + missing, 0);
  const estimate = estimatedNeed(input) ?? 0;
  const need = isPractical(estimate) ? suggestedBudgets(estimate, budget).low : 0;
  // Fuel beyond the budget was spent on stopping the program.
  return Math.max(need, suggestedBudgets(Math.min(input.fuelConsumed, budget) + pending, budget).high);
}

/** The reason for a budget that is derived from the progress of a loop. */
export function progressText(input: AnalysisInput): string | undefined {
  const { progress } = runFindings(input);
  if (progress === undefined) return undefined;
  const { name, value, bound, inner } = progress;
  const need = estimatedNeed(input)!;
  const innerText = inner === undefined ? '' : ` and ${inner.name} ${inner.value} of ${inner.bound}`;
  const reached = `${name} had reached ${value} of ${bound}${innerText}: at this rate the run needs`;
  return isPractical(need)
    ? `${reached} about ${formatFuel(need)} fuel`
    : `${reached} more than ${formatFuel(MAX_PRACTICAL_FUEL)} fuel, and no practical fuel_budget is enough`;
}

/** Larger budgets are not suggested: they take minutes on a fast machine. */
const MAX_PRACTICAL_FUEL = 1e12;
const isPractical = (fuel: number) => fuel <= MAX_PRACTICAL_FUEL;

/** Whether the progress of the run shows that no practical budget is enough. */
export function needsTooMuchFuel(input: AnalysisInput): boolean {
  const need = estimatedNeed(input);
  return need !== undefined && !isPractical(need);
}

/** Whether the run reached a limit for a reason that no practical budget removes. */
function needsCodeChange(input: AnalysisInput): boolean {
  return causeToFix(input) !== undefined || backtrackingText(input) !== undefined || needsTooMuchFuel(input);
}

// ---- causes ----

/** The line that was running when the limit on fuel or time stopped the program. */
export function stoppedLocation(input: AnalysisInput): string | undefined {
  return isStoppedByLimit(input) ? failedLocation(input) : undefined;
}

/** The text for a run without a known cause (docs/specification.md). */
export const GUESSED_CAUSE =
  'Complex data processing or large dataset detected (a guess: most of the budget was used without a heavy import)';

/** Why the run used its fuel, as far as the run shows, the largest share first. */
export function likelyCauses(input: AnalysisInput): string[] {
  const heavy = heavyImports(input).filter(({ cached }) => !cached);
  const causes = heavy.map(
    (one) => `Heavy package import detected: ${one.package.name} (requires ${formatFuel(one.fuel)} fuel)`,
  );
  const noticeable = packageImports(input).filter(({ cost }) => !cost.cached && cost.fuel >= NOTICEABLE_FUEL);
  const packages = new Set([...noticeable, ...heavy].map((one) => one.package.name));
  if (packages.size > 1) causes.push('Multiple package imports (cumulative fuel cost)');
  const location = stoppedLocation(input);
  if (location !== undefined) {
    const running = `Long-running code: stopped at ${location}`;
    const importFuel = heavy.reduce((sum, { fuel }) => sum + fuel, 0);
    if (importFuel * 2 < input.fuelConsumed) causes.unshift(running);
    else causes.push(running);
  }
  const percent = (input.fuelConsumed / input.capabilities.limits.fuel_budget) * 100;
  if (percent > LARGE_DATA_PERCENT && heavy.length === 0) {
    causes.push(GUESSED_CAUSE);
  }
  const { cause } = runFindings(input);
  if (cause !== undefined) causes.unshift(cause.text);
  const regex = backtrackingText(input);
  if (regex !== undefined && causeToFix(input) === undefined) causes.unshift(regex);
  return causes;
}

// ---- recommendation ----

/** The next power of ten, for "less than". */
function upperBound(fuel: number): string {
  return formatFuel(10 ** Math.ceil(Math.log10(Math.max(fuel, 1) + 1)));
}

/** How sessions change the cost of the run's imports. */
function sessionNotes({ earlier }: AnalysisInput, heavy: readonly HeavyImport[]): AdviceLine[] {
  const complete = heavy.filter(({ cached, missing }) => !cached && missing === 0);
  const isImportedEarlier = (one: HeavyImport) => earlier.heavyImports.has(one.package.name);
  if (!earlier.persistent) {
    return complete.some(isImportedEarlier)
      ? [
          ({ hasSessions }) =>
            hasSessions
              ? 'Consider using persistent session with auto_persist_globals=True to cache imports across executions.'
              : undefined,
        ]
      : [];
  }
  const notes = complete.map(
    (one) =>
      `First import of ${one.package.name} consumed ${formatFuel(one.fuel)} fuel. Subsequent imports will use <${upperBound(one.package.fuel_cached_import)} fuel due to caching.`,
  );
  if (heavy.some((one) => one.cached && isImportedEarlier(one)))
    notes.push('Fuel usage low due to cached imports from previous executions in this session.');
  return notes;
}

const CODE_CHANGE = 'Change the code: more fuel does not help.';

function statusTexts(input: AnalysisInput, status: FuelStatus, hasGuidance: boolean): AdviceLine[] {
  const { name: language } = input.language;
  if (status === 'efficient') return [];
  const { fuel_budget: budget } = input.capabilities.limits;
  const percent = Math.floor((input.fuelConsumed / budget) * 100);
  const { low, high } = suggestedBudgets(input.fuelConsumed, budget);
  const mustChangeCode = needsCodeChange(input);
  switch (status) {
    case 'moderate':
      return [`Code used ${percent}% of fuel budget - acceptable for current workload`];
    case 'warning':
      if (mustChangeCode) return [`Code used ${percent}% of fuel budget. ${CODE_CHANGE}`];
      return [
        `Code used ${percent}% of fuel budget. Consider increasing budget to ${formatFuel(low)}+ instructions for similar workloads to avoid exhaustion.`,
        (reader) => {
          const [first, second] = [low, high].map((value) => reader.raise('fuel_budget', value, language));
          const more = high > low ? ` to ${second} (2x)` : '';
          return first && `Suggested: ${first} (1.5x current consumption)${more}, rounded up.`;
        },
      ];
    case 'critical':
      return [
        mustChangeCode
          ? `CRITICAL: Code used ${percent}% of fuel budget. ${CODE_CHANGE}`
          : `CRITICAL: Code used ${percent}% of fuel budget. Increase budget to at least ${formatFuel(high)} instructions for future executions to prevent OutOfFuel errors.`,
      ];
    case 'exhausted': {
      const next = formatFuel(budgetToTry(input));
      const advice = mustChangeCode ? CODE_CHANGE : `Increase budget to at least ${next} instructions.`;
      return [
        `Execution exceeded budget. ${hasGuidance ? 'See error_guidance for solutions.' : advice}`,
        ...(mustChangeCode ? [] : packageTexts(input, next)),
      ];
    }
  }
}

function packageTexts(input: AnalysisInput, next: string): string[] {
  return heavyImports(input)
    .filter(({ cached }) => !cached)
    .map((one) => {
      const { name } = one.package;
      return `${name} requires ${formatFuel(one.fuel)} fuel for first import. Increase budget to ${next}+ for reliable ${name} usage.`;
    });
}

/** Undefined if the consumption is unknown. `hasGuidance`: the result has an `error_guidance` block to refer to. */
export function analyseFuel(input: AnalysisInput, hasGuidance: boolean): FuelAnalysis | undefined {
  if (input.trap?.reason === 'worker_lost') return undefined;
  const { fuel_budget: budget } = input.capabilities.limits;
  const consumed = input.fuelConsumed;
  const status = fuelStatus(consumed, budget, input.trap?.reason === 'out_of_fuel');
  const { cause } = runFindings(input);
  const texts = [...statusTexts(input, status, hasGuidance), ...sessionNotes(input, heavyImports(input))];
  return renderable((reader) => ({
    consumed,
    budget,
    utilization_percent: Math.min(100, Math.round((consumed / budget) * 1000) / 10),
    status,
    recommendation: renderLines(texts, reader).join(' ') || null,
    likely_causes: likelyCauses(input),
    ...(cause && { cause: cause.kind }),
  }));
}
