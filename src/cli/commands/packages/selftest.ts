/** `packages selftest`: imports each added package in a guest and runs a short program with it. */

import { escapeControls } from '../../../analysis/escape-controls.ts';
import { findAdded, readAddedPackages } from '../../../packages/added-packages.ts';
import { readPyodideLock } from '../../../packages/pyodide-lock.ts';
import { SELFTEST_PROGRAMS } from '../../../packages/selftest-programs.ts';
import { formatFuel } from '../../../quantities.ts';
import { LANGUAGES } from '../../../runtimes/languages.ts';
import { PACKAGE_RUNTIME } from '../../../runtimes/program-files.ts';
import { failureOf, openTestSandbox } from '../../../sandbox/measure-import.ts';
import { EXIT, UsageError } from '../../exit-codes.ts';
import { formatTable } from '../../format-table.ts';
import { withProgress } from '../../progress-line.ts';
import type { PackagesAction } from './subcommand.ts';

interface SelftestRow {
  readonly name: string;
  readonly version: string;
  /** Whether the wheel is the file that Pyodide distributes. */
  readonly official: boolean;
  readonly fuel: number;
  readonly problem: string | null;
}

export const packagesSelftest: PackagesAction = async (names, { json }) => {
  const added = readAddedPackages();
  const chosen =
    names.length === 0
      ? added
      : names.map((name) => {
          const found = findAdded(added, name);
          if (found !== undefined) return found;
          throw new UsageError(`${name} is not an added package. "packages list" shows the added packages.`);
        });
  if (chosen.length === 0) throw new UsageError('There are no added packages. Add some with "packages add".');
  const { packages: distributed } = readPyodideLock();
  const rows: SelftestRow[] = [];
  for (const { name, version, sha256, measured_imports } of chosen) {
    const imports = measured_imports.map((module) => LANGUAGES[PACKAGE_RUNTIME].importStatement(module));
    const program = SELFTEST_PROGRAMS[name] ?? imports.join('\n');
    await using sandbox = await openTestSandbox([name]);
    const result = await withProgress(`Testing ${name}`, async () => sandbox.execute(program));
    rows.push({
      name,
      version,
      official: distributed.get(name)?.sha256 === sha256,
      fuel: result.fuel_consumed,
      problem: result.success ? null : failureOf(result),
    });
  }
  if (json) process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
  else console.log(table(rows));
  if (rows.some(({ problem }) => problem !== null)) process.exitCode = EXIT.unavailable;
};

const table = (rows: readonly SelftestRow[]) =>
  formatTable(
    ['PACKAGE', 'VERSION', "PYODIDE'S FILE", 'FUEL', 'RESULT'],
    rows.map((one) => [
      one.name,
      one.version,
      one.official ? 'yes' : 'no',
      formatFuel(one.fuel),
      one.problem === null ? 'ok' : escapeControls(one.problem),
    ]),
  );
