/**
 * Access to import-costs.json: the packages with the fuel of their imports as scripts/packages-measure.mjs measured it. It is
 * the only source of these figures for guidance, listings and documentation.
 */
import { readFileSync } from 'node:fs';
import { installedFile } from '../host/install-folder.ts';
import type { ImportRecord } from '../kernel/module-import-log.ts';
import type { PackageFacts, RuntimeName } from '../schema.ts';
import { COSTLY_FUEL, VENDORED_PACKAGES } from './vendored-package-table.ts';

/** A module of the standard library that is costly to import or already loaded. */
interface StdlibModule {
  readonly language: RuntimeName;
  readonly name: string;
  readonly fuel_first_import: number;
  /** Loaded in the boot image, so that importing it costs almost no fuel. */
  readonly warm: boolean;
}

interface ImportCosts {
  readonly fuel_budget: number;
  /** Share of `fuel_budget` from which a package is heavy. */
  readonly heavy_share: number;
  readonly costly_fuel: number;
  readonly packages: readonly PackageFacts[];
  readonly stdlib: readonly StdlibModule[];
}

let importCosts: ImportCosts | undefined;

export function readImportCosts(): ImportCosts {
  importCosts ??= JSON.parse(
    readFileSync(installedFile('packages/import-costs.json'), 'utf8'),
  ) as ImportCosts;
  return importCosts;
}

const packagesByRuntime = new Map<RuntimeName, readonly PackageFacts[]>();

/** The vendored packages of a runtime. */
export function vendoredPackagesOf(runtime: RuntimeName): readonly PackageFacts[] {
  let packages = packagesByRuntime.get(runtime);
  if (packages === undefined) {
    packages = readImportCosts().packages.filter(({ language }) => language === runtime);
    packagesByRuntime.set(runtime, packages);
  }
  return packages;
}

let notableNames: ReadonlySet<string> | undefined;

/** The names of packages and of modules of the standard library that are costly to import. */
function namesToList(): ReadonlySet<string> {
  notableNames ??= new Set([
    ...VENDORED_PACKAGES.flatMap((one) => one.import_names),
    ...readImportCosts()
      .stdlib.filter(({ warm }) => !warm)
      .map(({ name }) => name),
  ]);
  return notableNames;
}

/** Selects the imports that results list: packages, and costly modules of the standard library. */
export function notableImports(
  imports: readonly ImportRecord[],
  userPackages: readonly string[],
): ImportRecord[] {
  const names = namesToList();
  const userNames = new Set(userPackages);
  return imports.filter(({ name, fuel }) => names.has(name) || userNames.has(name) || fuel >= COSTLY_FUEL);
}

/** Translates the name of a vendored or added package to its import names; any other name is returned unchanged. */
export function importNames(
  runtime: RuntimeName,
  name: string,
  added: readonly PackageFacts[] = [],
): readonly string[] {
  const wanted = name.toLowerCase();
  const measured = added.map((one) => ({ ...one, import_names: one.measured_imports }));
  const row = [...measured, ...VENDORED_PACKAGES].find(
    (one) => one.language === runtime && one.name.toLowerCase() === wanted,
  );
  return row === undefined || row.import_names.length === 0 || row.import_names.includes(name)
    ? [name]
    : row.import_names;
}
