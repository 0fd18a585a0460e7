/** The subcommands of `packages` that change nothing: `list` and `verify`. */
import {
  type AddedPackage,
  COMPANION,
  describeMissing,
  escapeControls,
  findAdded,
  formatFuel,
  LANGUAGE_RUNTIMES,
  type LanguageName,
  listPackages,
  partProblem,
  readAddedPackages,
  readPackageSet,
  unpackInThread,
  verifyCompanion,
} from '@llm-wasm-sandbox/core/internal';
import { printNote, printWarning } from '../../diagnostics.ts';
import { EXIT, UsageError } from '../../exit-codes.ts';
import { formatTable } from '../../format-table.ts';
import { withProgress } from '../../progress-line.ts';

/** Flags of the subcommands; each uses some of them. */
export interface PackagesFlags {
  readonly json?: boolean;
  readonly language?: LanguageName;
  readonly pip: boolean;
  readonly pyodide: boolean;
  readonly lock?: string;
  readonly remove?: boolean;
}

export type PackagesAction = (names: readonly string[], flags: PackagesFlags) => Promise<void>;

/** The added package with this name. */
export function requirePackage(name: string, added: readonly AddedPackage[]): AddedPackage {
  const found = findAdded(added, name);
  if (found !== undefined) return found;
  throw new UsageError(`${name} is not an added package. "packages list" shows the added packages.`);
}

export const packagesList: PackagesAction = async (_, { language, json }) => {
  const packages = listPackages(language && LANGUAGE_RUNTIMES[language]);
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

export const packagesVerify: PackagesAction = async (_, { json }) => {
  const added = readAddedPackages();
  if (added.length === 0) printNote('there are no added packages');
  const rows = [];
  for (const { name, version, sha256, contents_sha256, libraries } of added) {
    const problem = await withProgress(`Verifying ${name}`, () => problemOf(contents_sha256, libraries));
    rows.push({ name, version, sha256, problem });
  }
  const companion = await withProgress(`Verifying ${COMPANION}`, async () => verifyCompanion());
  if (companion !== undefined) rows.push({ name: COMPANION, ...companion });
  if (json) process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`);
  else if (rows.length > 0)
    console.log(
      formatTable(
        ['PACKAGE', 'VERSION', 'SHA-256', 'RESULT'],
        rows.map((one) => [one.name, one.version, one.sha256, one.problem ?? 'ok']),
      ),
    );
  if (rows.some(({ problem }) => problem !== null)) process.exitCode = EXIT.unavailable;
};

/** Reads the package as a sandbox does. */
async function problemOf(
  contents: string,
  libraries: readonly { readonly path: string; readonly sha256: string }[],
): Promise<string | null> {
  try {
    const { load } = await readPackageSet([`sha256:${contents}`], unpackInThread);
    const found = await load();
    const digests = new Map(found.libraries.map(({ path, sha256 }) => [path, sha256]));
    const changed = libraries.find(({ path, sha256 }) => digests.get(path) !== sha256);
    return changed === undefined ? null : `packages.json records a different digest for ${changed.path}`;
  } catch (cause) {
    return (cause as Error).message;
  }
}
