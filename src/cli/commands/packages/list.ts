/** `packages list`: the vendored and the added packages. */
import { formatFuel } from '../../../quantities.ts';
import { LANGUAGE_RUNTIMES } from '../../../schema.ts';
import { escapeControls, formatTable } from '../../terminal-text.ts';
import type { PackagesAction } from './subcommand.ts';

export const listPackages: PackagesAction = async (_, { language, json }) => {
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
    one.available ? escapeControls(one.use) : `${one.problem}; fix this and run "npm run build"`,
  ]);
  console.log(formatTable(['PACKAGE', 'VERSION', 'SOURCE', 'IMPORT', 'FIRST IMPORT', 'USE'], rows));
};
