/** `packages`: what programs can import. */
import type { Command } from 'commander';
import { formatFuel } from '../quantities.ts';
import type { RuntimeName } from '../schema.ts';
import { jsonOption, languageOption } from './flags.ts';
import { table } from './text-table.ts';

async function packages(flags: { json?: boolean; language?: RuntimeName }): Promise<void> {
  const { listPackages } = await import('../runtimes/available-packages.ts');
  const listed = listPackages(flags.language);
  if (flags.json) {
    process.stdout.write(`${JSON.stringify(listed, null, 2)}\n`);
    return;
  }
  const rows = listed.map((one) => [
    one.name,
    one.version,
    one.import_names.join(', '),
    one.available ? `${formatFuel(one.fuel_first_import)}${one.heavy ? ' heavy' : ''}` : 'MISSING',
    one.available ? one.use : `${one.problem}; mend that and run "npm run build"`,
  ]);
  console.log(table(['PACKAGE', 'VERSION', 'IMPORT', 'FIRST IMPORT', 'USE'], rows));
}

export function addPackagesCommand(program: Command): void {
  program
    .command('packages')
    .description('list what programs can import and what that costs in fuel')
    .addOption(jsonOption())
    .addOption(languageOption('only of this language'))
    .action(packages);
}
