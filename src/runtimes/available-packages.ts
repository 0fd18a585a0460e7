/** What a program can import here: the manifest, held against what the build of this installation really has. */
import { readManifest } from '../packages/manifest.ts';
import type { PackageFacts, RuntimeName } from '../schema.ts';
import { missingPackages } from './guest-artifacts.ts';

export interface ListedPackage extends PackageFacts {
  /** Whether it is in this installation's guests. */
  readonly available: boolean;
  /** Why not. */
  readonly problem: string | null;
}

/** All vendored packages, or those of one language, in the order of the catalogue. */
export function listPackages(language?: RuntimeName): ListedPackage[] {
  const { packages } = readManifest();
  const wanted = packages.filter((one) => language === undefined || one.language === language);
  const missing = new Map(wanted.map((one) => [one.language, missingPackages(one.language)]));
  return wanted.map((facts) => {
    const problem = missing.get(facts.language)!.find(({ name }) => name === facts.name);
    return { ...facts, available: problem === undefined, problem: problem?.reason ?? null };
  });
}
