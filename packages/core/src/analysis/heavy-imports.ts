/** Packages that a run imported, with their cost, and heavy ones that it did not get to before fuel ran out. */
import type { ImportFacts } from '../schema.ts';
import { type AnalysisInput, type AvailablePackage, availablePackage } from './input.ts';

/** An import that cost less was in the boot image or cached. */
export const NOTICEABLE_FUEL = 1e6;
/** An import that cost less than this share of the measured cost was interrupted. */
const COMPLETE_IMPORT_SHARE = 0.9;
/** Longer lines are not searched for imports. */
const LINE_MAX = 300;

export interface HeavyImport {
  readonly package: AvailablePackage;
  /** The cost in this run or, if the run ended before the import was complete, the measured cost. */
  readonly fuel: number;
  readonly cached: boolean;
  /** The part of `fuel` that this run did not get to spend. */
  readonly missing: number;
}

/** Packages that the source imports. Used only for imports that the run did not get to, since source need not run. */
function packagesInSource(input: AnalysisInput): Set<AvailablePackage> {
  const lines = input.source.split('\n');
  const modules = new Set(
    lines
      .filter(({ length }) => length <= LINE_MAX)
      .flatMap((line) => input.language.guidance.importedModules(line)),
  );
  const packages = [...modules].map((module) => availablePackage(input, module));
  return new Set(packages.filter((one) => one !== undefined));
}

/** The packages that the run imported. */
export function packageImports(
  input: AnalysisInput,
): { readonly package: AvailablePackage; readonly cost: ImportFacts }[] {
  return (input.imports ?? []).flatMap((cost) => {
    const found = availablePackage(input, cost.name);
    return found === undefined ? [] : [{ package: found, cost }];
  });
}

const cache = new WeakMap<AnalysisInput, readonly HeavyImport[]>();

/** Heavy packages that the run imported and, if fuel ran out, those that it did not get to. */
export function heavyImports(input: AnalysisInput): readonly HeavyImport[] {
  let found = cache.get(input);
  if (found === undefined) {
    found = findHeavyImports(input);
    cache.set(input, found);
  }
  return found;
}

function findHeavyImports(input: AnalysisInput): readonly HeavyImport[] {
  const imported = packageImports(input);
  const heavy = imported
    .filter((one) => one.package.heavy && (one.cost.cached || one.cost.fuel >= NOTICEABLE_FUEL))
    .map((one) => ({ package: one.package, fuel: one.cost.fuel, cached: one.cost.cached, missing: 0 }));
  if (input.trap?.reason !== 'out_of_fuel') return heavy;
  const withMissing = heavy.map((one) => {
    const { fuel_first_import: fuel } = one.package;
    const isInterrupted = !one.cached && one.fuel < fuel * COMPLETE_IMPORT_SHARE;
    return isInterrupted ? { ...one, fuel, missing: fuel - one.fuel } : one;
  });
  const notReached = [...packagesInSource(input)].filter(
    (one) =>
      one.heavy &&
      one.fuel_first_import >= NOTICEABLE_FUEL &&
      !imported.some((other) => other.package === one),
  );
  const pending = notReached.map((one) => {
    const { fuel_first_import: fuel } = one;
    return { package: one, fuel, cached: false, missing: fuel };
  });
  return [...withMissing, ...pending];
}
