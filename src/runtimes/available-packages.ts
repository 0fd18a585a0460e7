/** Lists the vendored packages and whether the guests of this installation contain them. */
import { readManifest } from '../packages/manifest.ts';
import type { PackageFacts, RuntimeName } from '../schema.ts';
import { missingPackages } from './guest-artifacts.ts';

/** A vendored package, and whether this installation contains it. */
export interface ListedPackage extends PackageFacts {
  /** Whether the guests of this installation contain the package. */
  readonly available: boolean;
  /** Why the package is not available; null if it is available. */
  readonly problem: string | null;
}

/** Lists the vendored packages of one language, or of all, in the order of the catalogue. */
export function listPackages(language?: RuntimeName): ListedPackage[] {
  const { packages } = readManifest();
  const wanted = packages.filter((one) => language === undefined || one.language === language);
  const missing = new Map(wanted.map((one) => [one.language, missingPackages(one.language)]));
  return wanted.map((facts) => {
    const problem = missing.get(facts.language)!.find(({ name }) => name === facts.name);
    return { ...facts, available: problem === undefined, problem: problem?.reason ?? null };
  });
}
