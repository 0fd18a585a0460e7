/**
 * Python packages beyond the vendored ones: added packages, wheels and folders of sources. Wheels are verified against their
 * RECORD, machine code is rejected, links are not followed, and bytecode is ignored. Libraries for WebAssembly are
 * replaced by stubs and returned separately: their bytes never enter a guest. Added packages are read only if needed.
 */
import { existsSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { sideModuleStub } from '../engine/side-module-stub-file.ts';
import { invalidArgument, SandboxError } from '../errors.ts';
import { sha256Hex } from '../framing/digest.ts';
import type { Entry } from '../fs/flat-entries.ts';
import { readHostTree } from '../host/read-host-tree.ts';
import { formatBytes, formatCount } from '../quantities.ts';
import type { PackageFacts } from '../schema.ts';
import {
  type AddedPackage,
  addedFacts,
  findAdded,
  readAddedPackages,
  repairAdvice,
  wheelPath,
  withRequirements,
} from './added-packages.ts';
import { isSideModule, usableFiles } from './check-wheel-contents.ts';
import { type PackageFile, packageFileDigest } from './package-files.ts';
import { type PackagePart, partOf, wheelPart } from './read-wheel.ts';
import type { LibraryFile, UnpackedWheel, UnpackWheel } from './unpack-wheel.ts';
import { pythonPackage } from './vendored-package-table.ts';

/** The source that stands for packages on demand (see sandbox/packages-on-demand.ts). */
export const AUTO = 'auto' as const;

const MAX_BYTES = 512 * 1024 * 1024;
const MAX_FILES = 40_000;
/** Folders of a working copy that are not part of its packages. */
const IGNORED = /(^|\/)(\.[^/]*|__pycache__|node_modules|[^/]+\.egg-info)(\/|$)/;
/** A source that is an added package with these contents, without its dependencies. Sessions record packages in this form. */
const CONTENTS = /^sha256:([0-9a-f]{64})$/;

/** A library as it is in a wheel. */
export interface PackageLibrary extends LibraryFile {
  readonly bytes: Uint8Array;
}

/** The contents of packages. */
export interface PackageFiles {
  /** The files, with stubs in place of the libraries. */
  readonly entries: readonly Entry[];
  readonly libraries: readonly PackageLibrary[];
}

/** The packages that programs can import. Never changes: a session that gets more packages gets another set. */
export interface PackageSet {
  /** The digests of the packages, sorted. */
  readonly digests: readonly string[];
  /** Identifies the set of packages. */
  readonly sha256: string;
  /** Top-level modules, which are listed in `imports` of results when a program imports them. */
  readonly topLevel: readonly string[];
  readonly libraries: readonly LibraryFile[];
  /** Names and versions of the packages by digest, as far as they are known. */
  readonly labels: ReadonlyMap<string, string>;
  /** The set with which the image of a session was built, if the session has got more packages since. */
  readonly grownFrom?: { readonly packages: PackageSet | undefined } | undefined;
  /** What is known about the added packages. */
  readonly facts: readonly PackageFacts[];
  load(): Promise<PackageFiles>;
}

/**
 * Reads the given sources. Each is the name of an added package, a wheel, a folder of wheels, a package (a folder with
 * `__init__.py`) or a folder of modules and packages such as site-packages. Wheels are unpacked by `unpack`.
 */
export async function readPackageSet(sources: readonly string[], unpack: UnpackWheel): Promise<PackageSet> {
  const added = readAddedPackages();
  const parts = new Map<string, PackagePart>();
  for (const source of sources) {
    for (const part of await readSource(source, added, unpack)) parts.set(part.digest, part);
  }
  const all = [...parts.values()];
  const digests = [...parts.keys()].sort();
  return {
    digests,
    sha256: sha256Hex(digests.join('\n')),
    topLevel: [...new Set(all.flatMap((part) => part.topLevel))],
    libraries: all.flatMap((part) => part.libraries),
    labels: new Map(all.flatMap(({ digest, label }) => (label === undefined ? [] : [[digest, label]]))),
    facts: all.flatMap(({ facts }) => facts ?? []),
    load: () => loadParts(all, sources),
  };
}

async function loadParts(parts: readonly PackagePart[], sources: readonly string[]): Promise<PackageFiles> {
  const files = new Map<string, PackageFile>();
  let bytes = 0;
  for (const part of parts) {
    for (const file of await part.files()) {
      const other = files.get(file.path);
      if (other !== undefined && Buffer.compare(other.data, file.data) !== 0)
        throw invalid(`two packages contain different files named ${file.path}; remove one of the packages`);
      files.set(file.path, file);
      bytes += file.data.length;
    }
    if (bytes > MAX_BYTES || files.size > MAX_FILES)
      throw invalid(`the packages exceed ${formatBytes(MAX_BYTES)} or ${formatCount(MAX_FILES)} files`);
  }
  const all = [...files.values()];
  if (parts.length > 0 && !all.some((file) => file.path.endsWith('.py') || isSideModule(file)))
    throw invalid(`no Python module found in ${sources.join(', ')}`);
  const libraries = all.filter(isSideModule).map(
    (file): PackageLibrary => ({
      path: file.path,
      sha256: packageFileDigest(file).toString('hex'),
      bytes: file.data,
    }),
  );
  const stubs = new Map(libraries.map(({ path, sha256 }) => [path, sideModuleStub(sha256)]));
  return {
    entries: all.map(({ path, data }) => ({
      path,
      kind: 'file',
      mode: 0o444,
      mtimeMs: 0,
      data: stubs.get(path) ?? data,
    })),
    libraries,
  };
}

/** Throws if a source is neither an added nor a vendored package, and does not exist. */
export function checkSources(sources: readonly string[]): void {
  const added = readAddedPackages();
  for (const source of sources)
    if (
      source !== AUTO &&
      findAdded(added, source) === undefined &&
      !existsSync(source) &&
      pythonPackage(source) === undefined
    )
      throw notFound(source);
}

function notFound(source: string): SandboxError {
  const advice = `Add it with "llm-wasm-sandbox packages add ${source}", or give the path of a wheel`;
  return invalid(`${source} is not an added package, a wheel or a folder. ${advice}`);
}

async function readSource(
  source: string,
  added: readonly AddedPackage[],
  unpack: UnpackWheel,
): Promise<PackagePart[]> {
  const digest = CONTENTS.exec(source)?.[1];
  if (digest !== undefined) {
    const found = added.find(({ contents_sha256 }) => contents_sha256 === digest);
    if (found === undefined) throw invalid(`no added package has contents with the digest ${source}`);
    return [addedPart(found, unpack)];
  }
  const found = findAdded(added, source);
  if (found !== undefined) return withRequirements([found], added).map((one) => addedPart(one, unpack));
  const isName = /^[A-Za-z0-9][\w.-]*$/.test(source) && !source.endsWith('.whl');
  if (isName && !existsSync(source)) {
    // A vendored package is always available.
    if (pythonPackage(source) !== undefined) return [];
    throw notFound(source);
  }
  return readPath(source, unpack);
}

function addedPart(added: AddedPackage, unpack: UnpackWheel): PackagePart {
  return {
    digest: added.contents_sha256,
    topLevel: added.import_names,
    libraries: added.libraries,
    facts: addedFacts(added),
    label: `${added.name} ${added.version}`,
    isEmpty: false,
    files: async () => {
      const { files, description } = await unpackAdded(added, unpack);
      if (description.digest !== added.contents_sha256)
        throw invalid(`the files of ${added.name} do not match packages.json; add it again`);
      return files;
    },
  };
}

async function unpackAdded(added: AddedPackage, unpack: UnpackWheel): Promise<UnpackedWheel> {
  try {
    return await unpack({ name: added.file, source: wheelPath(added), sha256: added.sha256 });
  } catch (cause) {
    if (!(cause instanceof SandboxError) || cause.code !== 'store_failed') throw cause;
    throw new SandboxError('store_failed', `${cause.message} ${repairAdvice(added)}`);
  }
}

/** The packages at a path. */
async function readPath(path: string, unpack: UnpackWheel): Promise<PackagePart[]> {
  if (path.endsWith('.whl') && statSync(path, { throwIfNoEntry: false })?.isFile())
    return [await wheelPart(path, unpack)].filter(isUsed);
  const { entries, isFile } = readHostTree(path, { isShared: false, option: 'packages' });
  if (isFile) throw invalid(`${path} is neither a wheel nor a folder`);
  const found = entries
    .filter((entry) => entry.kind === 'file' && !IGNORED.test(entry.path))
    .map((entry) => ({ path: entry.path, data: entry.data! }));
  const wheels = found.filter((file) => /^[^/]+\.whl$/.test(file.path));
  const prefix = found.some((file) => file.path === '__init__.py') ? `${basename(path)}/` : '';
  const sources = found
    .filter((file) => !wheels.includes(file))
    .map((file) => ({ path: prefix + file.path, data: file.data }));
  const unpacked = await Promise.all(wheels.map((wheel) => wheelPart(join(path, wheel.path), unpack)));
  const parts = [...unpacked, await partOf(usableFiles(path, sources, {}))].filter(isUsed);
  if (parts.length === 0) throw invalid(`no Python module found in ${path}`);
  return parts;
}

const isUsed = ({ isEmpty }: PackagePart) => !isEmpty;

/** The digests of packages that are not added. */
export function notAdded(digests: readonly string[]): string[] {
  const added = new Set(readAddedPackages().map(({ contents_sha256 }) => contents_sha256));
  return digests.filter((digest) => !added.has(digest));
}

/** The source of an added package with this digest. */
export const contentsSource = (digest: string) => `sha256:${digest}`;

const invalid = (problem: string) => invalidArgument(`packages: ${problem}.`);
