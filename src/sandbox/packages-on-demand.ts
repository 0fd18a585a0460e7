/**
 * Packages that programs get when they import them. Before a program starts, the host reads its import statements, adds known
 * packages that are missing, and selects an image in which the imported packages are loaded. Only wheels with known digests are
 * added: those in Pyodide's list and those that the user approved.
 */
import { SandboxError } from '../errors.ts';
import { type AddedPackage, readAddedPackages, withRequirements } from '../packages/added-packages.ts';
import { readApprovedWheels } from '../packages/approved-wheels.ts';
import { type InstalledPackages, installPackages, type MeasureImport } from '../packages/install-packages.ts';
import { withPackagesLock } from '../packages/lock-packages.ts';
import { distributedModule, readPyodideLock } from '../packages/pyodide-lock.ts';
import { AUTO, readUserPackages } from '../packages/read-user-packages.ts';
import type { PackageRequest } from '../packages/resolve-packages.ts';
import { VENDORED_PACKAGES } from '../packages/vendored-package-table.ts';
import { normalisedName } from '../packages/wheel-metadata.ts';
import { pyodideUrl, readableWheels } from '../packages/wheel-sources.ts';
import { formatBytes } from '../quantities.ts';
import { LANGUAGES } from '../runtimes/languages.ts';
import type { PackageAddition, RuntimeName } from '../schema.ts';
import type { ImageExtension } from '../worker/guest-assets.ts';
import { unpackInThread } from '../worker/unpack-in-thread.ts';

/** Whether packages are added on demand. Throws if a list contains other sources as well. */
export function areOnDemand(packages: string | readonly string[]): boolean {
  if (packages === AUTO) return true;
  if (!packages.includes(AUTO)) return false;
  if (packages.length === 1) return true;
  throw new SandboxError(
    'invalid_argument',
    `packages: "${AUTO}" cannot be combined with other packages. Use it alone, or name all packages.`,
  );
}

/** The folder next to the project in which wheels are found. */
const WHEELS_FOLDER = 'wheels';
/** Submodules that programs usually import, and that take most of the time of the import. */
const USUAL_IMPORTS: Readonly<Record<string, string>> = { matplotlib: 'matplotlib.pyplot' };

/** How packages are added on demand. */
export interface OnDemandOptions {
  /** Accept wheels with unknown digests. */
  readonly trustNew?: boolean;
  /** Receives the steps of adding packages. */
  readonly onStep?: ((text: string) => void) | undefined;
}

/** The packages of a program. */
export interface ProgramPackages {
  /** Undefined if the program needs none. */
  readonly extension: ImageExtension | undefined;
  readonly additions: readonly PackageAddition[];
}

export class PackagesOnDemand {
  /** Packages that could not be added, and why. Searching again would only take time until the user approves other wheels. */
  readonly #failures = new Map<string, string>();
  /** The digests that were approved when the packages could not be added. */
  #approved = '';

  constructor(
    readonly runtime: RuntimeName,
    readonly options: OnDemandOptions,
    readonly measure: MeasureImport,
  ) {}

  /** Adds what is missing and returns the packages of a program. `exists` tells whether the workspace has a file. */
  async find(code: string, exists: (path: string) => boolean): Promise<ProgramPackages> {
    const { importedModules, importStatement, localImports } = LANGUAGES[this.runtime];
    const modules = importedModules(code);
    const isLocal = (name: string) => localImports(importStatement(name), '').some(exists);
    const imported = [...new Set(modules.map(topLevel))].filter((name) => !isLocal(name));
    const names = [...new Set(imported.flatMap((name) => neededOf(name)))];
    if (names.length === 0) return NO_PACKAGES;
    const additions: PackageAddition[] = [];
    const missing = names.filter((name) => packageOf(name, readAddedPackages()) === undefined);
    this.#forgetOldFailures();
    let refusal: string | undefined;
    for (const [index, request] of knownPackages(missing).entries()) {
      if (index >= MAX_ADDITIONS) refusal ??= TOO_MANY;
      const outcome =
        refusal === undefined
          ? await this.#install(request)
          : { additions: [{ name: request.name, problem: refusal }] };
      additions.push(...outcome.additions);
      if (outcome.isOffline) refusal = NOT_SEARCHED;
    }
    return { extension: await extensionFor(names, modules), additions };
  }

  #forgetOldFailures(): void {
    if (this.#failures.size === 0) return;
    const approved = approvedDigests();
    if (approved !== this.#approved) this.#failures.clear();
  }

  async #install(request: PackageRequest): Promise<{ additions: PackageAddition[]; isOffline?: boolean }> {
    const { name } = request;
    const failure = this.#failures.get(name);
    if (failure !== undefined) return { additions: [{ name, problem: failure }] };
    const startedAt = performance.now();
    try {
      const { added } = await withPackagesLock(
        () => install(request, this.options, this.measure),
        () => this.options.onStep?.('waiting for another process that changes the added packages'),
      );
      const seconds = Math.round((performance.now() - startedAt) / 100) / 10;
      return {
        additions: added.map(({ name, version, wheel_bytes: bytes }) => ({ name, version, bytes, seconds })),
      };
    } catch (cause) {
      if (!(cause instanceof SandboxError)) throw cause;
      this.#failures.set(name, cause.message);
      this.#approved = approvedDigests();
      return { additions: [{ name, problem: cause.message }], isOffline: cause.code === 'store_failed' };
    }
  }
}

/** Packages that are added for one program at most, not counting their dependencies. */
const MAX_ADDITIONS = 20;
const TOO_MANY = `a program gets at most ${MAX_ADDITIONS} new packages; add the others with "packages add"`;
/** Another search would only wait for the network again. */
const NOT_SEARCHED = 'it was not searched for, because the search for another package failed';

/** What was added, in one line. */
export function additionText({ name, version, bytes, seconds, problem }: PackageAddition): string {
  if (problem !== undefined) return `${name} could not be added: ${problem}`;
  return `${name} ${version} was added (${formatBytes(bytes!)}, ${seconds} s)`;
}

const approvedDigests = () =>
  readApprovedWheels()
    .map(({ sha256 }) => sha256)
    .join();

const NO_PACKAGES: ProgramPackages = { extension: undefined, additions: [] };

const topLevel = (module: string) => module.split('.', 1)[0]!;

/** The modules that are not vendored and that a module needs: itself, or what a vendored package needs. */
function neededOf(module: string): readonly string[] {
  const vendored = VENDORED_PACKAGES.find(({ import_names }) => import_names.includes(module));
  return vendored === undefined ? [module] : (vendored.needs ?? []);
}

const packageOf = (module: string, added: readonly AddedPackage[]) =>
  added.find(({ import_names }) => import_names.includes(module));

/** The packages that contain these modules, as far as their digests are known. */
function knownPackages(modules: readonly string[]): PackageRequest[] {
  if (modules.length === 0) return [];
  const approved = readApprovedWheels();
  const requests = modules.flatMap((module): PackageRequest[] => {
    const found =
      approved.find(({ import_names }) => import_names.includes(module)) ?? distributedModule(module);
    return found === undefined
      ? []
      : [{ name: normalisedName(found.name), specifiers: `==${found.version}` }];
  });
  return requests.filter(({ name }, index) => requests.findIndex((one) => one.name === name) === index);
}

async function install(
  request: PackageRequest,
  { trustNew = false, onStep = () => {} }: OnDemandOptions,
  measure: MeasureImport,
): Promise<InstalledPackages> {
  const pyodideLock = readPyodideLock();
  const sources = {
    files: readableWheels(WHEELS_FOLDER),
    pip: true,
    pyodideUrl: pyodideUrl(pyodideLock),
    pyodideLock,
    unpack: unpackInThread,
    ...(!trustNew && { approved: readApprovedWheels() }),
    onStep,
  };
  return installPackages([request], { sources, kept: readAddedPackages(), measure });
}

/** The packages of these modules with their dependencies, loaded into the image. */
async function extensionFor(
  names: readonly string[],
  modules: readonly string[],
): Promise<ImageExtension | undefined> {
  const added = readAddedPackages();
  const wanted = [...new Set(names.flatMap((name) => packageOf(name, added) ?? []))];
  if (wanted.length === 0) return undefined;
  const packages = await readUserPackages(
    wanted.map(({ name }) => name),
    unpackInThread,
  );
  // A package that another one requires is loaded with it.
  const required = new Set(
    wanted.flatMap((one) => withRequirements([one], added).filter((other) => other !== one)),
  );
  const preload = wanted
    .filter((one) => !required.has(one))
    .flatMap(({ import_names }) => names.filter((name) => import_names.includes(name)))
    .map((name) => (modules.includes(USUAL_IMPORTS[name] ?? '') ? USUAL_IMPORTS[name]! : name));
  return { preload: [...new Set(preload)].sort(), packages };
}
