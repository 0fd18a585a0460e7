/**
 * Finds the wheels of requested packages and their dependencies, and describes each in the form of packages.json. Vendored
 * packages and packages that were added before satisfy requirements.
 */
import { invalidArgument, SandboxError } from '../errors.ts';
import { sha256Hex } from '../framing/digest.ts';
import { formatCount } from '../quantities.ts';
import { type AddedPackage, checkDescription, findAdded } from './added-packages.ts';
import { parseWheelName } from './check-wheel-contents.ts';
import type { PackageFile } from './package-files.ts';
import { topLevelModules, type UnpackWheel } from './unpack-wheel.ts';
import { usualImport } from './usual-imports.ts';
import { pythonPackage } from './vendored-package-table.ts';
import { satisfies } from './version-specifiers.ts';
import { normalisedName, type Requirement } from './wheel-metadata.ts';
import { findWheel, type WheelSources } from './wheel-sources.ts';

/** Names for sets of packages, for example in `packages add scientific`. */
export const PRESETS: Readonly<Record<string, readonly string[]>> = {
  scientific: ['numpy', 'pandas', 'scipy', 'matplotlib', 'pillow', 'scikit-learn'],
};

/** A package whose imports are not measured yet. */
export interface ResolvedPackage extends Omit<AddedPackage, 'fuel_first_import' | 'fuel_cached_import'> {
  readonly bytes: Uint8Array;
}

export interface PackageRequest extends Requirement {
  /** The wheel must have this digest. */
  readonly sha256?: string;
  /** A vendored package does not satisfy the request: the caller specified a wheel, or the package is already added. */
  readonly isFile?: boolean;
  /** False if the package is only a dependency of another. */
  readonly requested?: boolean;
}

interface PackageResolution {
  readonly packages: readonly ResolvedPackage[];
  /** Requested names that are vendored. */
  readonly vendored: readonly string[];
  /** Requirements that the chosen versions do not satisfy. */
  readonly conflicts: readonly string[];
}

export interface ResolutionSources extends WheelSources {
  readonly unpack: UnpackWheel;
}

const MAX_PACKAGES = 500;
/** Requirements of all packages together. Several packages may have the same. */
const MAX_REQUIREMENTS = 5000;
/** After this time, no further package is looked for. A program may wait for the result. */
const MAX_SEARCH_MS = 20 * 60_000;

interface Pending extends PackageRequest {
  readonly requiredBy: string | undefined;
}

/** `kept` are the added packages that do not change. */
export async function resolvePackages(
  requests: readonly PackageRequest[],
  kept: readonly AddedPackage[],
  sources: ResolutionSources,
): Promise<PackageResolution> {
  const resolved = new Map<string, ResolvedPackage>();
  const vendored: string[] = [];
  const conflicts: string[] = [];
  const pending: Pending[] = requests.map((one) => ({ ...one, requiredBy: undefined }));
  const startedAt = performance.now();
  // Finding the wheels is half of the work.
  const onStep = (text: string) => sources.onStep(text, resolved.size / pending.length / 2);
  for (const { requiredBy, ...request } of pending) {
    const { name, specifiers } = request;
    const present = resolved.get(name) ?? findAdded(kept, name);
    if (present !== undefined) {
      if (!satisfies(present.version, specifiers))
        conflicts.push(
          `${requiredBy ?? 'the command line'} requires ${name}${specifiers}, but version ${present.version} is used`,
        );
      continue;
    }
    if (pythonPackage(name) !== undefined && request.isFile !== true) {
      if (requiredBy === undefined) vendored.push(name);
      continue;
    }
    if (resolved.size >= MAX_PACKAGES || pending.length > MAX_REQUIREMENTS)
      throw invalidArgument(
        `The packages have more than ${MAX_PACKAGES} dependencies or ${formatCount(MAX_REQUIREMENTS)} requirements.`,
      );
    if (performance.now() - startedAt > MAX_SEARCH_MS)
      throw new SandboxError(
        'store_failed',
        `Finding the packages took more than ${MAX_SEARCH_MS / 60_000} minutes. Add some of them at a time, or use a faster package index.`,
      );
    const { found, requires } = await resolveOne(
      request,
      requiredBy === undefined && request.requested !== false,
      { ...sources, onStep },
    );
    resolved.set(name, found);
    for (const one of requires) if (one.name !== name) pending.push({ ...one, requiredBy: name });
  }
  const names = new Set([...resolved.keys(), ...kept.map((one) => one.name)]);
  const packages = [...resolved.values()].map((one) => ({
    ...one,
    requires: one.requires.filter((required) => names.has(required)),
  }));
  return { packages, vendored, conflicts };
}

async function resolveOne(
  request: PackageRequest,
  requested: boolean,
  sources: ResolutionSources,
): Promise<{ found: ResolvedPackage; requires: readonly Requirement[] }> {
  const { file, bytes, source } = await findWheel(request, sources, request.sha256);
  sources.onStep(`checking ${file}`);
  const { files, description: contents, metadata } = await sources.unpack({ name: file, source: bytes });
  const { summary, licence, requires } = metadata;
  const needed = [...requires, ...distributedRequirements(request.name, source, sources)];
  const importNames = importableModules(files, request.name);
  const description: Omit<ResolvedPackage, 'bytes'> = {
    name: request.name,
    version: parseWheelName(file)!.version,
    file,
    sha256: sha256Hex(bytes),
    wheel_bytes: bytes.length,
    source,
    requested,
    requires: [...new Set(needed.map(({ name }) => name))],
    contents_sha256: contents.digest,
    libraries: [...contents.libraries],
    import_names: importNames,
    measured_imports: importNames.slice(0, 1).map(usualImport),
    use: summary || `The package ${request.name}`,
    licence,
  };
  checkDescription(description);
  return { found: { ...description, bytes }, requires: needed };
}

/** Requirements of a wheel of Pyodide's distribution that its metadata does not contain. */
function distributedRequirements(
  name: string,
  source: AddedPackage['source'],
  { pyodideLock }: WheelSources,
) {
  const depends = source === 'pyodide' ? (pyodideLock.packages.get(name)?.depends ?? []) : [];
  return depends
    .map(normalisedName)
    .filter((one) => pyodideLock.packages.has(one))
    .map((one): Requirement => ({ name: one, specifiers: '' }));
}

/** The modules of a package: first the one with the name of the package, then those with the most files. */
function importableModules(files: readonly PackageFile[], name: string): string[] {
  const isCode = ({ path }: PackageFile) => /\.(py|so)$/.test(path);
  const fileCounts = new Map<string, number>();
  for (const { path } of files) {
    const [folder, ...rest] = path.split('/');
    if (rest.length > 0) fileCounts.set(folder!, (fileCounts.get(folder!) ?? 0) + 1);
  }
  const weight = (module: string) =>
    normalisedName(module) === name ? Number.POSITIVE_INFINITY : (fileCounts.get(module) ?? 0);
  return topLevelModules(files.filter(isCode))
    .filter((module) => !module.startsWith('_'))
    .map((module) => ({ module, weight: weight(module) }))
    .sort((a, b) => (a.weight === b.weight ? 0 : b.weight - a.weight))
    .map(({ module }) => module);
}
