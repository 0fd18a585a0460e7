/**
 * Packages that programs get when they import them. Before a program starts, the host reads its import statements, adds known
 * packages that are missing, and selects an image in which the imported packages are loaded. What a program asks for while it runs
 * is added when it starts again (see call-packages.ts). Only wheels with known digests are added: those in Pyodide's list and those
 * that the user approved.
 */
import { invalidArgument, SandboxError } from '../errors.ts';
import {
  type AddedPackage,
  addedFacts,
  findAdded,
  readAddedPackages,
  withRequirements,
} from '../packages/added-packages.ts';
import { type ApprovedWheel, readApprovedWheels } from '../packages/approved-wheels.ts';
import { vendoredPackagesOf } from '../packages/import-costs.ts';
import { type InstalledPackages, installPackages, type MeasureImport } from '../packages/install-packages.ts';
import { withPackagesLock } from '../packages/lock-packages.ts';
import { AUTO, contentsSource, type PackageSet, readPackageSet } from '../packages/package-set.ts';
import { distributedModule, readPyodideLock } from '../packages/pyodide-lock.ts';
import type { PackageRequest } from '../packages/resolve-packages.ts';
import { usualImport } from '../packages/usual-imports.ts';
import { VENDORED_PACKAGES } from '../packages/vendored-package-table.ts';
import { satisfies } from '../packages/version-specifiers.ts';
import { normalisedName, type Requirement } from '../packages/wheel-metadata.ts';
import { pyodideUrl, readableWheels } from '../packages/wheel-sources.ts';
import { formatBytes } from '../quantities.ts';
import { LANGUAGES } from '../runtimes/registry/languages.ts';
import { PACKAGE_RUNTIME } from '../runtimes/registry/program-files.ts';
import type { PackageAddition, PackageFacts } from '../schema.ts';
import type { ImageExtension } from '../worker/pool/guest-assets.ts';
import { unpackInThread } from '../worker/pool/unpack-in-thread.ts';

/** Whether packages are added on demand. Throws if a list contains other sources as well. */
export function areOnDemand(packages: string | readonly string[]): boolean {
  if (packages === AUTO) return true;
  if (!packages.includes(AUTO)) return false;
  if (packages.length === 1) return true;
  throw invalidArgument(
    `packages: "${AUTO}" cannot be combined with other packages. Use it alone, or name all packages.`,
  );
}

/** The folder next to the project in which wheels are found. */
const WHEELS_FOLDER = 'wheels';

/** How packages are added on demand. */
export interface OnDemandOptions {
  /** Accept wheels with unknown digests. */
  readonly trustNew?: boolean;
  /** Receives the steps of adding packages. */
  readonly onStep?: ((text: string) => void) | undefined;
}

interface AddedForProgram {
  readonly additions: readonly PackageAddition[];
  /** The added packages, also those that the program does not import. */
  readonly importable: readonly PackageFacts[];
}

/** A package that is about to be added. */
export type OfferedPackage = Pick<PackageAddition, 'name' | 'version' | 'bytes'>;

/** Whether packages are added. A text says why they are not. */
export type PackageDecision = boolean | { readonly reason: string };

/** A program whose packages are looked for. */
export interface ImportingProgram {
  readonly code: string;
  /** Whether a file is next to it. */
  exists(path: string): boolean;
}

/** What a program needs: what its source imports, and what it has asked for at run time. */
export interface NeededPackages extends ImportingProgram {
  readonly modules: Iterable<string>;
  readonly requirements: readonly Requirement[];
  /** Decides whether the packages are added. Without it, they are. */
  readonly approve?:
    | ((packages: readonly OfferedPackage[]) => PackageDecision | Promise<PackageDecision>)
    | undefined;
}

export class PackagesOnDemand {
  /** Packages that could not be added, and why. Searching again would only take time until the user approves other wheels. */
  readonly #failures = new Map<string, string>();
  /** The digests that were approved when the packages could not be added. */
  #approved = '';

  constructor(
    readonly options: OnDemandOptions,
    readonly measure: MeasureImport,
  ) {}

  /** Adds what is missing. Returns what was added, and all that the program could import. */
  async add(needed: NeededPackages): Promise<AddedForProgram> {
    const { names } = neededModules(needed);
    if (names.length + needed.requirements.length === 0) return { additions: [], importable: [] };
    const missing = this.missing(needed);
    const additions = missing.length === 0 ? [] : await this.#add(missing, needed.approve);
    return { additions, importable: readAddedPackages().map(addedFacts) };
  }

  /** The known packages that a program needs and that are not added. */
  missing(needed: NeededPackages): readonly PackageRequest[] {
    const { names } = neededModules(needed);
    const { added, approved } = readLists();
    const requests = [
      ...needed.requirements
        .filter(({ name }) => findAdded(added, name) === undefined)
        .map((one) => ({ ...one, specifiers: knownVersion(one, approved) ?? one.specifiers })),
      ...knownPackages(
        names.filter((name) => packageOf(name, added) === undefined),
        approved,
      ),
    ];
    return requests.filter(({ name }, index) => requests.findIndex((one) => one.name === name) === index);
  }

  /** The packages with modules that a program does not find, as far as they can be added. */
  packagesOf(modules: readonly string[]): string[] {
    const { added, approved } = readLists();
    return modules
      .flatMap(neededOf)
      .flatMap((name) => (packageOf(name, added) ?? knownPackages([name], approved)[0])?.name ?? []);
  }

  /** Why requirements cannot be fulfilled, by name. The others can be. */
  refusals(requirements: readonly Requirement[]): ReadonlyMap<string, string> {
    const lists = readLists();
    return new Map(
      requirements.flatMap((one): [string, string][] => {
        const problem = this.#refusal(one, lists);
        return problem === undefined ? [] : [[one.name, problem]];
      }),
    );
  }

  #refusal(requirement: Requirement, { added, approved }: PackageLists): string | undefined {
    const { name, specifiers } = requirement;
    const present = findAdded(added, name) ?? vendoredPackage(name);
    if (present !== undefined)
      return satisfies(present.version, specifiers)
        ? undefined
        : `programs use version ${present.version}, which is installed`;
    if (this.options.trustNew || knownVersion(requirement, approved) !== undefined) return undefined;
    const known = knownByName(name, approved);
    return known === undefined
      ? `it is not among the known packages: check the name, or approve its wheel with "llm-wasm-sandbox packages lock ${name}"`
      : `only the digest of version ${known.version} is known; add another version with "llm-wasm-sandbox packages add '${name}${specifiers}'"`;
  }

  /** Adds packages one after another. */
  async #add(
    requests: readonly PackageRequest[],
    approve: NeededPackages['approve'],
  ): Promise<PackageAddition[]> {
    this.#forgetOldFailures();
    const first = requests.slice(0, MAX_ADDITIONS);
    const isNew = ({ name }: PackageRequest) => !this.#failures.has(name);
    const offered = first.filter(isNew).map(offeredPackage);
    const decision = offered.length === 0 || approve === undefined || (await approve(offered));
    const additions: PackageAddition[] = [];
    let isOffline = false;
    for (const [index, request] of requests.entries()) {
      const { name } = request;
      const problem =
        this.#failures.get(name) ??
        (index >= MAX_ADDITIONS
          ? TOO_MANY
          : decision !== true
            ? declined(name, decision)
            : isOffline
              ? NOT_SEARCHED
              : undefined);
      if (problem !== undefined) additions.push({ name, problem });
      else {
        const outcome = await this.#install(request);
        additions.push(...outcome.additions);
        isOffline = outcome.isOffline === true;
      }
    }
    return additions;
  }

  #forgetOldFailures(): void {
    if (this.#failures.size === 0) return;
    const approved = approvedDigests();
    if (approved !== this.#approved) this.#failures.clear();
  }

  async #install(request: PackageRequest): Promise<{ additions: PackageAddition[]; isOffline?: boolean }> {
    const { name } = request;
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

const declined = (name: string, decision: Exclude<PackageDecision, true>) =>
  `${decision === false ? 'this was declined' : decision.reason}; to add it, run "llm-wasm-sandbox packages add ${name}"`;

const offeredPackage = ({ name, specifiers }: PackageRequest): OfferedPackage => {
  const bytes = readApprovedWheels().find((one) => one.name === name)?.wheel_bytes;
  return {
    name,
    ...(specifiers.startsWith('==') && { version: specifiers.slice(2) }),
    ...(bytes !== undefined && { bytes }),
  };
};

/** What was added, in one line. */
export function additionText({ name, version, bytes, seconds, problem }: PackageAddition): string {
  if (problem !== undefined) return `${name} could not be added: ${problem}`;
  return `${name} ${version} was added (${formatBytes(bytes!)}, ${seconds} s)`;
}

const approvedDigests = () =>
  readApprovedWheels()
    .map(({ sha256 }) => sha256)
    .join();

/** The packages that are there, and those that may be added. */
interface PackageLists {
  readonly added: readonly AddedPackage[];
  readonly approved: readonly ApprovedWheel[];
}

/** Reads both lists, once for all names in a question. */
const readLists = (): PackageLists => ({ added: readAddedPackages(), approved: readApprovedWheels() });

const topLevel = (module: string) => module.split('.', 1)[0]!;

/** The modules that are not vendored and that a module needs: itself, or what a vendored package needs. */
function neededOf(module: string): readonly string[] {
  const vendored = VENDORED_PACKAGES.find(({ import_names }) => import_names.includes(module));
  return vendored === undefined ? [module] : (vendored.needs ?? []).map(moduleOf);
}

/** The module with the name of a package, or its first one. */
function moduleOf(name: string): string {
  const imports = readPyodideLock().packages.get(name)?.imports ?? [];
  return imports.includes(name) ? name : (imports[0] ?? name);
}

const packageOf = (module: string, added: readonly AddedPackage[]) =>
  added.find(({ import_names }) => import_names.includes(module));

const vendoredPackage = (name: string) =>
  vendoredPackagesOf(PACKAGE_RUNTIME).find((one) => normalisedName(one.name) === name);

const knownByName = (name: string, approved: PackageLists['approved']) =>
  approved.find((one) => one.name === name) ?? readPyodideLock().packages.get(name);

/** The specifier of the known version, if it fulfils the requirement. */
function knownVersion(
  { name, specifiers }: Requirement,
  approved: PackageLists['approved'],
): string | undefined {
  const version = knownByName(name, approved)?.version;
  return version !== undefined && satisfies(version, specifiers) ? `==${version}` : undefined;
}

/** The packages that contain these modules, as far as their digests are known. */
function knownPackages(modules: readonly string[], approved: PackageLists['approved']): PackageRequest[] {
  return modules.flatMap((module): PackageRequest[] => {
    const found =
      approved.find(({ import_names }) => import_names.includes(module)) ?? distributedModule(module);
    return found === undefined
      ? []
      : [{ name: normalisedName(found.name), specifiers: `==${found.version}` }];
  });
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
    failsFast: true,
    pyodideUrl: pyodideUrl(pyodideLock),
    pyodideLock,
    unpack: unpackInThread,
    ...(!trustNew && { approved: readApprovedWheels() }),
    onStep,
  };
  return installPackages([request], { sources, kept: readAddedPackages(), measure });
}

/** The modules that a program imports, and the names of those that are not vendored and that they need. */
function neededModules({ code, exists, modules: others }: Omit<NeededPackages, 'requirements' | 'approve'>) {
  const { importedModules, importStatement, localImports } = LANGUAGES[PACKAGE_RUNTIME];
  const modules = [...importedModules(code), ...others];
  const isLocal = (name: string) => localImports(importStatement(name), '').some(exists);
  const imported = [...new Set(modules.map(topLevel))].filter((name) => !isLocal(name));
  return { modules, names: [...new Set(imported.flatMap((name) => neededOf(name)))] };
}

/**
 * The modules of the added packages among these that a program imports, in the form of `preload`. Those of wheels and folders are
 * not loaded in advance, because they may be under development and do something when they are imported.
 */
export function importsOf({ facts }: PackageSet, program: ImportingProgram): readonly string[] {
  const { modules, names } = neededModules({ ...program, modules: [] });
  const added = readAddedPackages();
  const found = names.filter((name) => facts.some((one) => one.import_names.includes(name)));
  const dependencies = dependenciesOf(found.map((name) => packageOf(name, added)));
  return preloadOf(
    found.filter((name) => !dependencies.has(packageOf(name, added))),
    modules,
  );
}

/** The packages that others of them require. They are loaded with those. */
function dependenciesOf(
  packages: readonly (AddedPackage | undefined)[],
): ReadonlySet<AddedPackage | undefined> {
  const added = readAddedPackages();
  const wanted = packages.filter((one) => one !== undefined);
  return new Set(wanted.flatMap((one) => withRequirements([one], added).filter((other) => other !== one)));
}

/** The usual submodules in place of the modules, if the program imports them. */
const preloadOf = (names: readonly string[], modules: readonly string[]): readonly string[] =>
  [...new Set(names.map((name) => (modules.includes(usualImport(name)) ? usualImport(name) : name)))].sort();

/** The added packages that a program needs with their dependencies, and others; its modules are loaded into the image. */
export async function extensionFor(needed: NeededPackages, others?: PackageSet): Promise<ImageExtension> {
  const { modules, names } = neededModules(needed);
  if (names.length + needed.requirements.length === 0) return { preload: [], packages: others };
  const added = readAddedPackages();
  const found = [
    ...names.map((name) => packageOf(name, added)),
    ...needed.requirements.map(({ name }) => findAdded(added, name)),
  ];
  const wanted = [...new Set(found)].filter((one) => one !== undefined);
  if (wanted.length === 0) return { preload: [], packages: others };
  const sources = [...(others?.digests ?? []).map(contentsSource), ...wanted.map(({ name }) => name)];
  const packages = await readPackageSet(sources, unpackInThread);
  const dependencies = dependenciesOf(wanted);
  const preload = wanted
    .filter((one) => !dependencies.has(one))
    .flatMap(({ import_names }) => names.filter((name) => import_names.includes(name)));
  return { preload: preloadOf(preload, modules), packages };
}
