/** `packages list`: the vendored and the added packages. */

import { escapeControls } from '../../../analysis/escape-controls.ts';
import { partProblem } from '../../../host/parts.ts';
import { describeMissing } from '../../../packages/vendored-package-table.ts';
import { formatFuel } from '../../../quantities.ts';
import { LANGUAGE_RUNTIMES } from '../../../schema.ts';
import { printWarning } from '../../diagnostics.ts';
import { formatTable } from '../../format-table.ts';
import type { PackagesAction } from './subcommand.ts';

export const packagesList: PackagesAction = async (_, { language, json }) => {
  const library = await import('../../../runtimes/available-packages.ts');
  const packages = library.listPackages(language && LANGUAGE_RUNTIMES[language]);
  if (json) {
    process.stdout.write(`${JSON.stringify(packages, null, 2)}\n`);
    return;
  }
  const rows = packages.map((one) => [
    one.name,
    one.version,
    one.source,
    one.import_names.slice(0, 3).join(', '),
    one.available ? `${formatFuel(one.fuel_first_import)}${one.heavy ? ' heavy' : ''}` : 'MISSING',
    escapeControls(one.use),
  ]);
  console.log(formatTable(['PACKAGE', 'VERSION', 'SOURCE', 'IMPORT', 'FIRST IMPORT', 'USE'], rows));
  const missing = packages.flatMap(({ name, version, problem }) =>
    problem === null ? [] : [{ name, version, reason: problem }],
  );
  const absent = partProblem('packages');
  if (absent !== undefined) return printWarning(`${absent}.`);
  for (const sentence of describeMissing(missing))
    printWarning(`${sentence}. Fix this and run "npm run build".`);
};
