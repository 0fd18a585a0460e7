/** What models are told about languages and their packages. Figures are computed from the import costs of packages. */
import { selectAdded } from '../packages/added-packages.ts';
import { AUTO } from '../packages/package-set.ts';
import { formatItems } from '../quantities.ts';
import { listPackages } from '../runtimes/packages/available-packages.ts';
import { LANGUAGES } from '../runtimes/registry/languages.ts';
import type { RuntimeName } from '../schema.ts';

/** The packages that were added and are available. */
export interface PackageSettings {
  readonly packages?: Parameters<typeof selectAdded>[0];
}

/** The packages that programs of the server can import. */
export function packagesOf({ packages }: PackageSettings, language?: RuntimeName) {
  const added = new Set(selectAdded(packages).map(({ name }) => name));
  return listPackages(language).filter(
    (one) => one.available && (one.source === 'vendored' || added.has(one.name)),
  );
}

/** The best known packages of a language by purpose; only those that are available. */
function packagesByPurpose(
  settings: PackageSettings,
  language: RuntimeName,
): [purpose: string, names: string[]][] {
  const available = new Set(packagesOf(settings, language).map(({ name }) => name));
  return Object.entries(LANGUAGES[language].packagesByPurpose)
    .map(([purpose, names]): [string, string[]] => [purpose, names.filter((name) => available.has(name))])
    .filter(([, names]) => names.length > 0);
}

export const notablePackages = (settings: PackageSettings, language: RuntimeName) =>
  packagesByPurpose(settings, language).flatMap(([, names]) => names);

/** What is said about well-known packages that are missing. */
export function missingPackagesText(settings: PackageSettings, language: RuntimeName): string {
  const { unavailable } = LANGUAGES[language];
  if (unavailable === undefined || settings.packages?.includes(AUTO)) return '';
  const added = settings.packages ?? [];
  const available = new Set([...packagesOf(settings, language).map(({ name }) => name), ...added]);
  const missing = unavailable.packages.filter((name) => !available.has(name.toLowerCase()));
  if (missing.length === 0) return '';
  return ` ${formatList(missing)} ${missing.length === 1 ? 'is' : 'are'} not available: ${unavailable.instead}.`;
}

/** `a, b and c`. */
export const formatList = (names: readonly string[], conjunction = 'and') =>
  names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} ${conjunction} ${names.at(-1)}`;

function packagesPhrase(settings: PackageSettings, language: RuntimeName): string {
  const { length } = packagesOf(settings, language);
  if (length === 0) return 'no packages';
  const purposes = packagesByPurpose(settings, language).map(
    ([purpose, names]) => `${purpose} (${names.join(', ')})`,
  );
  const examples = purposes.length > 0 ? `, e.g. for ${purposes.join(', ')}` : '';
  return `${formatItems(length, 'package')}${examples}`;
}

/** A language and its packages, in one line. */
export function languageLine(settings: PackageSettings, language: RuntimeName): string {
  const { title, summary } = LANGUAGES[language];
  return `${title}: ${summary(packagesPhrase(settings, language))}.`;
}
