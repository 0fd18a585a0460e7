/**
 * Adds packages for all later runs of the user: finds the wheels, imports each package once in a guest, and records them. If a
 * step fails, nothing is added. Must be called within `withPackagesLock`.
 */
import { invalidArgument } from '../errors.ts';
import {
  type AddedPackage,
  deleteUnusedWheels,
  storeWheel,
  wheelPath,
  withRequirements,
  writeAddedPackages,
} from './added-packages.ts';
import { NATIVE_PLATFORM } from './python-abi.ts';
import {
  type PackageRequest,
  type ResolutionSources,
  type ResolvedPackage,
  resolvePackages,
} from './resolve-packages.ts';

export interface ImportFuel {
  readonly fuel_first_import: number;
  readonly fuel_cached_import: number;
}

/** Measures the import of a module in a guest with these packages, or returns why it cannot be imported. */
export type MeasureImport = (
  module: string,
  packages: readonly string[],
) => Promise<ImportFuel | { readonly failure: string }>;

interface Installation {
  readonly sources: ResolutionSources;
  /** The added packages that do not change. */
  readonly kept: readonly AddedPackage[];
  readonly measure: MeasureImport;
}

export interface InstalledPackages {
  readonly added: readonly AddedPackage[];
  /** Requested names that are vendored. */
  readonly vendored: readonly string[];
  readonly warnings: readonly string[];
}

const NOT_MEASURED: ImportFuel = { fuel_first_import: 0, fuel_cached_import: 0 };

export async function installPackages(
  requests: readonly PackageRequest[],
  { sources, kept, measure }: Installation,
): Promise<InstalledPackages> {
  const { packages, vendored, conflicts } = await resolvePackages(requests, kept, sources);
  const requestedNames = new Set(requests.filter((one) => one.requested !== false).map(({ name }) => name));
  const others = kept.map((one) => (requestedNames.has(one.name) ? { ...one, requested: true } : one));
  const warnings = [...conflicts];
  try {
    for (const one of packages) storeWheel(one, one.bytes);
    const wheels = [...others, ...packages].map(wheelPath);
    const added: AddedPackage[] = [];
    for (const one of packages) {
      const [module] = one.measured_imports;
      if (module !== undefined)
        sources.onStep(`importing ${module}`, (1 + added.length / packages.length) / 2);
      const outcome = module === undefined ? NOT_MEASURED : await measure(module, wheels);
      added.push(record(one, outcome, warnings));
    }
    const all = [...others, ...added];
    const requested = all.filter((one) => one.requested);
    writeAddedPackages(withRequirements(requested, all));
    return { added, vendored, warnings };
  } catch (cause) {
    deleteUnusedWheels();
    throw cause;
  }
}

/** The record of a package. A dependency that cannot be imported is only a warning. */
function record(
  { bytes: _, ...one }: ResolvedPackage,
  outcome: ImportFuel | { readonly failure: string },
  warnings: string[],
): AddedPackage {
  if (!('failure' in outcome)) return { ...one, ...outcome };
  const failure = `importing ${one.measured_imports[0]} fails: ${outcome.failure}`;
  if (one.requested)
    throw invalidArgument(
      `${one.name} was not added: ${failure}. Add another version, or a wheel for ${NATIVE_PLATFORM}.`,
    );
  warnings.push(`${one.name}: ${failure}`);
  return { ...one, ...NOT_MEASURED, measured_imports: [] };
}
