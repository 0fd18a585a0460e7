/** Facts of a made-up run, for tests of the rules; and a small catalogue with round numbers. */
import { type Catalogue, NO_SESSION, type RunFacts } from '../../src/analysis/input.ts';
import type { GuestError } from '../../src/schema.ts';

export const CATALOGUE: Catalogue = {
  packages: [
    {
      name: 'openpyxl',
      language: 'python',
      import_names: ['openpyxl'],
      heavy: true,
      fuel_first_import: 6_500_000_000,
      fuel_cached_import: 60_000_000,
      use: 'Excel files',
    },
    {
      name: 'PyPDF2',
      language: 'python',
      import_names: ['PyPDF2'],
      heavy: true,
      fuel_first_import: 5_500_000_000,
      fuel_cached_import: 40_000_000,
      use: 'PDF files',
    },
    {
      name: 'tabulate',
      language: 'python',
      import_names: ['tabulate'],
      heavy: false,
      fuel_first_import: 80_000_000,
      fuel_cached_import: 1_000,
      use: 'text tables',
    },
    {
      name: 'pyyaml',
      language: 'python',
      import_names: ['yaml'],
      heavy: false,
      fuel_first_import: 90_000_000,
      fuel_cached_import: 1_000,
      use: 'YAML',
    },
    {
      name: 'dayjs',
      language: 'javascript',
      import_names: ['dayjs'],
      heavy: false,
      fuel_first_import: 1_000_000,
      fuel_cached_import: 1_000,
      use: 'dates',
    },
  ],
};

const GIGA = 1_000_000_000;

/** A run of a Python program that exited with 1; `change` says what is different. */
export function facts(change: Partial<RunFacts> = {}): RunFacts {
  return {
    runtime: 'python',
    source: '',
    exit_code: 1,
    ending: change.error === undefined ? 'exited' : 'exception',
    trap: null,
    error: undefined,
    exit_cause: undefined,
    stderr: '',
    stdout_dropped_bytes: 0,
    stderr_dropped_bytes: 0,
    fuel_consumed: 1_000_000,
    limits: {
      fuel_budget: 10 * GIGA,
      timeout_seconds: 30,
      memory_bytes: 256 * 2 ** 20,
      stdout_max_bytes: 2_000_000,
      stderr_max_bytes: 1_000_000,
      workspace_max_bytes: 64 * 2 ** 20,
      workspace_max_files: 10_000,
    },
    files: () => [],
    mounts: [],
    imports: [],
    session: NO_SESSION,
    ...change,
  };
}

/** A run that came to its end and used this much of this budget. */
export function used(consumed: number, budget = 10 * GIGA, change: Partial<RunFacts> = {}): RunFacts {
  const base = facts();
  return facts({
    exit_code: 0,
    ending: 'returned',
    fuel_consumed: consumed,
    limits: { ...base.limits, fuel_budget: budget },
    ...change,
  });
}

export const outOfFuel = { reason: 'out_of_fuel', message: 'Execution trapped: OutOfFuel' } as const;

/** A built-in exception of Python. */
export function exception(type: string, message: string, more: Partial<GuestError> = {}): GuestError {
  return { type, message, module: 'builtins', kind: type, line: 1, ...more };
}
