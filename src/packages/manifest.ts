/**
 * The figures about packages, measured by scripts/packages-measure.mjs and taken from manifest.json by everything that
 * tells one: guidance, listings, documentation. Nothing else holds a figure.
 */
import { readFileSync } from 'node:fs';
import type { ImportRecord } from '../kernel/import-log.ts';
import type { PackageFacts, RuntimeName } from '../schema.ts';
import { CATALOG, COSTLY_FUEL } from './catalog.ts';

/** A module of the standard library whose first import is worth knowing about. */
export interface StdlibFacts {
  readonly language: RuntimeName;
  readonly name: string;
  readonly fuel_first_import: number;
  /** Loaded in the boot image: importing it costs next to nothing. */
  readonly warm: boolean;
}

export interface Manifest {
  /** The budget that `heavy_share` is a share of. */
  readonly fuel_budget: number;
  readonly heavy_share: number;
  readonly costly_fuel: number;
  readonly packages: readonly PackageFacts[];
  readonly stdlib: readonly StdlibFacts[];
}

let manifest: Manifest | undefined;

export function readManifest(): Manifest {
  manifest ??= JSON.parse(readFileSync(new URL('./manifest.json', import.meta.url), 'utf8')) as Manifest;
  return manifest;
}

/** Of what a program imported, the packages and whatever of the standard library is costly. */
export function notableImports(
  imports: readonly ImportRecord[],
  ownPackages: readonly string[],
): ImportRecord[] {
  const names = new Set([
    ...CATALOG.flatMap((one) => one.import_names),
    ...readManifest()
      .stdlib.filter(({ warm }) => !warm)
      .map(({ name }) => name),
    ...ownPackages,
  ]);
  return imports.filter(({ name, fuel }) => names.has(name) || fuel >= COSTLY_FUEL);
}

/** Import names of a package by either of its names; of anything else, the name itself. */
export function importNames(runtime: RuntimeName, name: string): readonly string[] {
  const wanted = name.toLowerCase();
  const row = CATALOG.find((one) => one.language === runtime && one.name.toLowerCase() === wanted);
  return row === undefined || row.import_names.includes(name) ? [name] : row.import_names;
}
