/** `packages`: lists the packages that programs can import. */
import { formatFuel } from '../../quantities.ts';
import { LANGUAGE_RUNTIMES, type LanguageName } from '../../schema.ts';
import type { CommandDetails } from '../command.ts';
import { jsonOption, languageOption } from '../options.ts';
import { formatTable } from '../terminal-text.ts';

interface PackagesFlags {
  readonly json?: boolean;
  readonly language?: LanguageName;
}

async function listPackages(_: unknown, flags: PackagesFlags): Promise<void> {
  const library = await import('../../runtimes/available-packages.ts');
  const packages = library.listPackages(flags.language && LANGUAGE_RUNTIMES[flags.language]);
  if (flags.json) {
    process.stdout.write(`${JSON.stringify(packages, null, 2)}\n`);
    return;
  }
  const rows = packages.map((one) => [
    one.name,
    one.version,
    one.import_names.join(', '),
    one.available ? `${formatFuel(one.fuel_first_import)}${one.heavy ? ' heavy' : ''}` : 'MISSING',
    one.available ? one.use : `${one.problem}; fix this and run "npm run build"`,
  ]);
  console.log(formatTable(['PACKAGE', 'VERSION', 'IMPORT', 'FIRST IMPORT', 'USE'], rows));
}

export const packagesCommand: CommandDetails<PackagesFlags> = {
  options: [languageOption('List packages for this language only'), jsonOption()],
  examples: ['packages', 'packages --language python --json'],
  action: listPackages,
};
