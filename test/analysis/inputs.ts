/** Inputs of the analysis for tests, with a few vendored packages whose costs are round numbers. */
import type { AnalysisInput, AvailablePackage } from '../../packages/core/src/analysis/input.ts';
import { bashSource } from '../../packages/core/src/runtimes/bash/source-reader.ts';
import { javascriptSource } from '../../packages/core/src/runtimes/javascript/source-reader.ts';
import { pythonSource } from '../../packages/core/src/runtimes/python/source-reader.ts';
import { LANGUAGES } from '../../packages/core/src/runtimes/registry/languages.ts';
import type { GuestError, RuntimeName } from '../../packages/core/src/schema.ts';
import { exampleInput, type GuidanceExample } from './examples/example-failure.ts';

const vendored = (
  name: string,
  fuel_first_import: number,
  fuel_cached_import: number,
  more: Partial<AvailablePackage> = {},
): AvailablePackage => ({
  name,
  import_names: [name],
  heavy: fuel_first_import > 1e9,
  fuel_first_import,
  fuel_cached_import,
  use: 'tests',
  ...more,
});

const PACKAGES: Readonly<Record<RuntimeName, readonly AvailablePackage[]>> = {
  python: [
    vendored('openpyxl', 6_500_000_000, 60_000_000),
    vendored('PyPDF2', 5_500_000_000, 40_000_000),
    vendored('tabulate', 80_000_000, 1_000),
    vendored('pyyaml', 90_000_000, 1_000, { import_names: ['yaml'] }),
  ],
  javascript: [vendored('dayjs', 1_000_000, 1_000), vendored('decimal.js', 6_000_000, 1_000)],
  bash: [],
};

/** How workers read the source of programs. */
export const READERS = { python: pythonSource, javascript: javascriptSource, bash: bashSource };

/** A run that exited with 1, or ended with `error` if there is one. */
export function run(runtime: RuntimeName, change: GuidanceExample['run'] = {}): AnalysisInput {
  const others = Object.values(LANGUAGES).filter(({ name }) => name !== runtime);
  const ending = change.error === undefined ? 'exited' : 'exception';
  const isStopped = change.trap != null;
  const program =
    'program' in change
      ? change.program
      : READERS[runtime].examine(change.source ?? '', {
          language: runtime,
          isStopped,
          error: change.error,
        });
  const base = { ending, packages: PACKAGES[runtime], program } as const;
  return exampleInput(LANGUAGES[runtime], { ...base, ...change }, others);
}

export const pythonRun = (change: GuidanceExample['run'] = {}) => run('python', change);
export const javascriptRun = (change: GuidanceExample['run'] = {}) => run('javascript', change);

/** A successful Python run that used `consumed` of `budget`. */
export function successfulRun(
  consumed: number,
  budget = 10_000_000_000,
  change: GuidanceExample['run'] = {},
): AnalysisInput {
  const { capabilities } = pythonRun();
  return pythonRun({
    exitCode: 0,
    ending: 'returned',
    fuelConsumed: consumed,
    capabilities: { ...capabilities, limits: { ...capabilities.limits, fuel_budget: budget } },
    ...change,
  });
}

export const OUT_OF_FUEL = { reason: 'out_of_fuel', message: 'Execution trapped: OutOfFuel' } as const;

/** A built-in exception of Python. */
export function exception(type: string, message: string, more: Partial<GuestError> = {}): GuestError {
  return { type, message, module: 'builtins', kind: type, line: 1, ...more };
}
