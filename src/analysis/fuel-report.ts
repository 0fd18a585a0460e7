/**
 * How a run used its fuel, and which budget a run like it needs. Thresholds, texts and arithmetic are those of the
 * specification; costs of packages are measured ones, from the run itself or from the catalogue.
 */
import { formatFuel, formatLiteral } from '../quantities.ts';
import type { FuelAnalysis, ImportFacts } from '../schema.ts';
import { type Catalogue, type CataloguePackage, packageOf, type RunFacts } from './input.ts';
import { placeOf } from './quote.ts';

type Status = FuelAnalysis['status'];

/** Lower bounds in percent of the budget, highest first. A run that hit the limit is `exhausted` instead. */
export const THRESHOLDS: readonly (readonly [number, Status])[] = [
  [90, 'critical'],
  [75, 'warning'],
  [50, 'moderate'],
  [0, 'efficient'],
];
/** What a suggested budget is made of: what was consumed, times this, rounded up. */
export const MARGINS = { warning: 1.5, critical: 2 } as const;
/** Suggested budgets of a billion and more are multiples of this. */
export const GRID = 5e9;
const LARGE_BUDGET = 1e9;
/** Above this part of the budget, and without a heavy package, the data or the algorithm is the likely cause. */
const LARGE_DATA_PERCENT = 70;
/** An import below this was in the boot image or cached: no cause of anything. */
const NOTICEABLE_FUEL = 1e6;
/** How much of the program is searched for imports, and how long a line with one may be. */
const SOURCE_MAX = 32_768;
const LINE_MAX = 300;

/** The next round number: a multiple of 5B for large budgets; for small ones of 5 in their second digit: 150M, 600M. */
function roundUp(fuel: number, budget: number): number {
  const small = 5 * 10 ** Math.max(0, Math.floor(Math.log10(Math.max(fuel, 1))) - 1);
  const step = budget >= LARGE_BUDGET ? GRID : Math.min(GRID, small);
  return Math.min(Math.ceil(fuel / step) * step, Number.MAX_SAFE_INTEGER);
}

/** A budget with 50 and one with 100 % safety margin above what was consumed, both rounded up. */
export function suggestedBudgets(consumed: number, budget: number): { low: number; high: number } {
  return {
    low: roundUp(consumed * MARGINS.warning, budget),
    high: roundUp(consumed * MARGINS.critical, budget),
  };
}

export function statusOf(consumed: number, budget: number, exhausted: boolean): Status {
  if (exhausted) return 'exhausted';
  const percent = (consumed / budget) * 100;
  return THRESHOLDS.find(([from]) => percent >= from)?.[1] ?? 'efficient';
}

const isExhausted = (facts: RunFacts) => facts.trap?.reason === 'out_of_fuel';

// ---- packages ----

interface HeavyImport {
  readonly entry: CataloguePackage;
  /** What it costs: in this run or, where the run did not get to its end, as measured. */
  readonly fuel: number;
  readonly cached: boolean;
  /** What of that is still to come in the next run, when the fuel was gone before the import was done. */
  readonly missing: number;
}

/** An import that cost less than this part of what was measured was cut short. */
const WHOLE_IMPORT = 0.9;

const PYTHON_IMPORT = /^[ \t]*(?:from[ \t]+([\w.]+)|import[ \t]+([\w., \t]+))/;
const VENDOR_CALL = /requireVendor\(\s*['"]([^'"]{1,100})['"]/;

/** Packages the program's text asks for. Text is no proof that it ran: used only for what the run did not get to. */
function packagesNamed(facts: RunFacts, catalogue: Catalogue): Set<CataloguePackage> {
  const pattern = facts.runtime === 'python' ? PYTHON_IMPORT : VENDOR_CALL;
  const names = new Set<string>();
  for (const line of facts.source.slice(0, SOURCE_MAX).split('\n')) {
    const found = line.length > LINE_MAX ? null : pattern.exec(line);
    if (found === null) continue;
    for (const name of (found[1] ?? found[2] ?? '').split(',')) names.add(name.trim().split(/\s/)[0]!);
  }
  const packages = [...names].map((name) => packageOf(catalogue, facts.runtime, name));
  return new Set(packages.filter((entry) => entry !== undefined));
}

function paidImports(
  facts: RunFacts,
  catalogue: Catalogue,
): { entry: CataloguePackage; cost: ImportFacts }[] {
  return (facts.imports ?? []).flatMap((cost) => {
    const entry = packageOf(catalogue, facts.runtime, cost.name);
    return entry === undefined ? [] : [{ entry, cost }];
  });
}

/** Found once for a run and a catalogue: several texts need it. */
const heavyOf = new WeakMap<RunFacts, { catalogue: Catalogue; found: HeavyImport[] }>();

/** Heavy packages of the run: those that were imported and, when fuel ran out, those it did not get to. */
export function heavyImports(facts: RunFacts, catalogue: Catalogue): readonly HeavyImport[] {
  const known = heavyOf.get(facts);
  if (known?.catalogue === catalogue) return known.found;
  const found = findHeavyImports(facts, catalogue);
  heavyOf.set(facts, { catalogue, found });
  return found;
}

function findHeavyImports(facts: RunFacts, catalogue: Catalogue): HeavyImport[] {
  const paid = paidImports(facts, catalogue);
  const found = paid
    .filter(({ entry, cost }) => entry.heavy && (cost.cached || cost.fuel >= NOTICEABLE_FUEL))
    .map(({ entry, cost }) => ({ entry, fuel: cost.fuel, cached: cost.cached, missing: 0 }));
  if (!isExhausted(facts)) return found;
  const whole = found.map((one) => {
    const { fuel_first_import: fuel } = one.entry;
    const isCut = !one.cached && one.fuel < fuel * WHOLE_IMPORT;
    return isCut ? { ...one, fuel, missing: fuel - one.fuel } : one;
  });
  const notReached = [...packagesNamed(facts, catalogue)].filter(
    (entry) =>
      entry.heavy &&
      entry.fuel_first_import >= NOTICEABLE_FUEL &&
      !paid.some((other) => other.entry === entry),
  );
  const pending = notReached.map((entry) => {
    const { fuel_first_import: fuel } = entry;
    return { entry, fuel, cached: false, missing: fuel };
  });
  return [...whole, ...pending];
}

/** The budget to try next: twice what was used, and what packages still to be imported are known to cost. */
export function budgetToTry(facts: RunFacts, catalogue: Catalogue): number {
  const { fuel_budget: budget } = facts.limits;
  const pending = heavyImports(facts, catalogue).reduce((sum, { missing }) => sum + missing, 0);
  // What came after the limit, while the program was being stopped, is not what it needs.
  return suggestedBudgets(Math.min(facts.fuel_consumed, budget) + pending, budget).high;
}

// ---- causes ----

/** The line that was running when a limit stopped the program. */
export function hottestPlace(facts: RunFacts): string | undefined {
  const reason = facts.trap?.reason;
  return reason === 'out_of_fuel' || reason === 'timeout' ? placeOf(facts) : undefined;
}

/** Why the run used what it used, as far as the run itself tells. */
export function likelyCauses(facts: RunFacts, catalogue: Catalogue): string[] {
  const { fuel_budget: budget } = facts.limits;
  const heavy = heavyImports(facts, catalogue).filter(({ cached }) => !cached);
  const causes = heavy.map(
    ({ entry, fuel }) => `Heavy package import detected: ${entry.name} (requires ${formatFuel(fuel)} fuel)`,
  );
  const paid = paidImports(facts, catalogue).filter(
    ({ cost }) => !cost.cached && cost.fuel >= NOTICEABLE_FUEL,
  );
  const together = new Set([...paid.map(({ entry }) => entry.name), ...heavy.map(({ entry }) => entry.name)]);
  if (together.size > 1) causes.push('Multiple package imports (cumulative fuel cost)');
  const place = hottestPlace(facts);
  if (place !== undefined) {
    const running = `Long-running code: stopped at ${place}`;
    // What the imports cost is a part of the total: the larger part comes first.
    const imported = heavy.reduce((sum, { fuel }) => sum + fuel, 0);
    if (imported * 2 < facts.fuel_consumed) causes.unshift(running);
    else causes.push(running);
  }
  const percent = (facts.fuel_consumed / budget) * 100;
  if (percent > LARGE_DATA_PERCENT && heavy.length === 0) {
    causes.push('Complex data processing or large dataset detected');
  }
  return causes;
}

// ---- recommendation ----

/** A round number above a small one, for "less than". */
function below(fuel: number): string {
  return formatFuel(10 ** Math.ceil(Math.log10(Math.max(fuel, 1) + 1)));
}

/** What sessions change about the cost of imports. */
function sessionNotes(facts: RunFacts, heavy: readonly HeavyImport[]): string[] {
  const { session } = facts;
  const notes: string[] = [];
  const paid = heavy.filter(({ cached, missing }) => !cached && missing === 0);
  if (session.persistent) {
    for (const { entry, fuel } of paid) {
      notes.push(
        `First import of ${entry.name} consumed ${formatFuel(fuel)} fuel. Subsequent imports will use <${below(entry.fuel_cached_import)} fuel due to caching.`,
      );
    }
    if (heavy.some(({ entry, cached }) => cached && session.earlier_heavy_imports.has(entry.name))) {
      notes.push('Fuel usage low due to cached imports from previous executions in this session.');
    }
  } else if (paid.some(({ entry }) => session.earlier_heavy_imports.has(entry.name))) {
    notes.push(
      'Consider using persistent session with auto_persist_globals=True to cache imports across executions.',
    );
  }
  return notes;
}

function statusText(facts: RunFacts, status: Status, guided: boolean, catalogue: Catalogue): string[] {
  const { fuel_budget: budget } = facts.limits;
  const percent = Math.floor((facts.fuel_consumed / budget) * 100);
  const { low, high } = suggestedBudgets(facts.fuel_consumed, budget);
  switch (status) {
    case 'efficient':
      return [];
    case 'moderate':
      return [`Code used ${percent}% of fuel budget - acceptable for current workload`];
    case 'warning':
      return [
        `Code used ${percent}% of fuel budget. Consider increasing budget to ${formatFuel(low)}+ instructions for similar workloads to avoid exhaustion.`,
        `Concretely: fuel_budget=${formatLiteral(low)} (1.5x current consumption)${high > low ? ` to fuel_budget=${formatLiteral(high)} (2x)` : ''}, rounded up.`,
      ];
    case 'critical':
      return [
        `CRITICAL: Code used ${percent}% of fuel budget. Increase budget to at least ${formatFuel(high)} instructions for future executions to prevent OutOfFuel errors.`,
      ];
    case 'exhausted': {
      const next = formatFuel(budgetToTry(facts, catalogue));
      return [
        guided
          ? 'Execution exceeded budget. See error_guidance for solutions.'
          : `Execution exceeded budget. Increase budget to at least ${next} instructions.`,
        ...packageTexts(facts, catalogue, next),
      ];
    }
  }
}

function packageTexts(facts: RunFacts, catalogue: Catalogue, next: string): string[] {
  return heavyImports(facts, catalogue)
    .filter(({ cached }) => !cached)
    .map(
      ({ entry, fuel }) =>
        `${entry.name} requires ${formatFuel(fuel)} fuel for first import. Increase budget to ${next}+ for reliable ${entry.name} usage.`,
    );
}

/** The report, or undefined when what the run used is not known. `guided`: error_guidance is there to refer to. */
export function analyseFuel(
  facts: RunFacts,
  catalogue: Catalogue,
  guided: boolean,
): FuelAnalysis | undefined {
  if (facts.trap?.reason === 'worker_lost') return undefined;
  const { fuel_budget: budget } = facts.limits;
  const consumed = facts.fuel_consumed;
  const status = statusOf(consumed, budget, isExhausted(facts));
  const texts = [
    ...statusText(facts, status, guided, catalogue),
    ...sessionNotes(facts, heavyImports(facts, catalogue)),
  ];
  return {
    consumed,
    budget,
    utilization_percent: Math.min(100, Math.round((consumed / budget) * 1000) / 10),
    status,
    recommendation: texts.length === 0 ? null : texts.join(' '),
    likely_causes: likelyCauses(facts, catalogue),
  };
}
