/** Lists the vendored packages, whether the guests of this installation contain them, and the added packages. */
import { partProblem } from '../../host/parts.ts';
import { addedFacts, readAddedPackages } from '../../packages/added-packages.ts';
import { readImportCosts } from '../../packages/import-costs.ts';
import type { PackageFacts, RuntimeName } from '../../schema.ts';
import { missingPackages } from '../artifacts/guest-artifacts.ts';
import { LANGUAGES } from '../registry/languages.ts';

/** A vendored or added package, and whether this installation contains it. */
export interface ListedPackage extends PackageFacts {
  /** `vendored`: the package is part of this library. `added`: the package was added with `packages add`. */
  readonly source: 'vendored' | 'added';
  /** Whether the guests of this installation contain the package. */
  readonly available: boolean;
  /** Why the package is not available. Null if the package is available. */
  readonly problem: string | null;
}

/**
 * Returns the packages that are part of this library, followed by the added packages. Without `language`, returns the
 * packages of all languages.
 */
export function listPackages(language?: RuntimeName): ListedPackage[] {
  const { packages } = readImportCosts();
  const wanted = packages.filter((one) => language === undefined || one.language === language);
  const missing = new Map(wanted.map((one) => [one.language, missingPackages(one.language)]));
  const absent = partProblem('packages');
  const vendored = wanted.map((facts): ListedPackage => {
    const omitted = missing.get(facts.language)!.find(({ name }) => name === facts.name);
    const problem = absent ?? omitted?.reason ?? null;
    return { ...facts, source: 'vendored', available: problem === null, problem };
  });
  const added = readAddedPackages()
    .map(addedFacts)
    .filter((one) => language === undefined || one.language === language)
    .map((facts): ListedPackage => ({ ...facts, source: 'added', available: true, problem: null }));
  return [...vendored, ...added];
}

/** Other words for purposes, by which models search for packages. */
const OTHER_WORDS: Readonly<Record<string, string>> = {
  arrays: 'matrix linear algebra',
  'data frames': 'dataframe table',
  charts: 'plot figure',
  images: 'picture photo',
};

/** Whether the names, the use or the purpose of a package contain all words of a query in lower case. */
export function matchesQuery(
  { language, name, import_names, use }: Pick<PackageFacts, 'language' | 'name' | 'import_names' | 'use'>,
  query: string,
): boolean {
  const purposes = Object.entries(LANGUAGES[language].packagesByPurpose)
    .filter(([, names]) => names.includes(name))
    .map(([purpose]) => `${purpose} ${OTHER_WORDS[purpose] ?? ''}`);
  const text = [name, ...import_names, use, ...purposes].join(' ').toLowerCase();
  return query.split(/\s+/).every((word) => text.includes(word));
}
