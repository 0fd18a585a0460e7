/** Lists the vendored packages, whether the guests of this installation contain them, and the added packages. */
import { addedFacts, readAddedPackages } from '../packages/added-packages.ts';
import { readImportCosts } from '../packages/import-costs.ts';
import type { PackageFacts, RuntimeName } from '../schema.ts';
import { missingPackages } from './guest-artifacts.ts';

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
  const vendored = wanted.map((facts): ListedPackage => {
    const problem = missing.get(facts.language)!.find(({ name }) => name === facts.name);
    return {
      ...facts,
      source: 'vendored',
      available: problem === undefined,
      problem: problem?.reason ?? null,
    };
  });
  const added = readAddedPackages()
    .map(addedFacts)
    .filter((one) => language === undefined || one.language === language)
    .map((facts): ListedPackage => ({ ...facts, source: 'added', available: true, problem: null }));
  return [...vendored, ...added];
}
