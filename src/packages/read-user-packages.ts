/**
 * Python packages installed by the user, beyond the vendored ones: wheels and folders of sources. Wheels are verified
 * against their RECORD, code for a processor is rejected, links are not followed, and bytecode is ignored. Libraries for
 * WebAssembly are replaced by stubs and returned separately: their bytes never enter a guest.
 */
import { statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { sideModuleStub } from '../engine/side-module-stub.ts';
import { SandboxError } from '../errors.ts';
import { sha256Hex } from '../framing/digest.ts';
import type { Entry } from '../fs/flat-entries.ts';
import { readHostTree } from '../host/read-host-tree.ts';
import { formatBytes, formatCount } from '../quantities.ts';
import { pythonPackage } from './catalog.ts';
import { filesDigest, type PackageFile } from './package-contents.ts';
import { readZip } from './read-zip.ts';
import { checkRecord, checkTags, isSideModule, parseWheelName, pureFiles } from './wheel-files.ts';

const MAX_BYTES = 128 * 1024 * 1024;
const MAX_FILES = 20_000;
/** Folders of a working copy that are not part of its packages. */
const IGNORED = /(^|\/)(\.[^/]*|__pycache__|node_modules|[^/]+\.egg-info)(\/|$)/;

/** A library as it is in a wheel. */
export interface PackageLibrary {
  readonly path: string;
  readonly sha256: string;
  readonly bytes: Uint8Array;
}

export interface UserPackages {
  /** The files, with stubs in place of the libraries. */
  readonly entries: readonly Entry[];
  readonly libraries: readonly PackageLibrary[];
  /** Top-level modules, which are listed in `imports` of results when a program imports them. */
  readonly topLevel: readonly string[];
  readonly sha256: string;
}

/**
 * Reads the given paths. Each is a wheel, a folder of wheels, a package (a folder with `__init__.py`) or a folder of
 * modules and packages such as site-packages.
 */
export async function readUserPackages(paths: readonly string[]): Promise<UserPackages> {
  const files = new Map<string, PackageFile>();
  let bytes = 0;
  for (const path of paths) {
    for (const file of await readPath(path)) {
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
  if (paths.length > 0 && !all.some(({ path }) => path.endsWith('.py')))
    throw invalid(`no Python source found in ${paths.join(', ')}`);
  const topLevel = new Set(all.map(({ path }) => path.split('/')[0]!.replace(/\.py$|(\.[\w-]+)?\.so$/, '')));
  const libraries = all
    .filter(isSideModule)
    .map(({ path, data }): PackageLibrary => ({ path, sha256: sha256Hex(data), bytes: data }));
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
    topLevel: [...topLevel].filter((name) => /^[A-Za-z_]\w*$/.test(name)),
    sha256: filesDigest(all),
  };
}

async function readPath(path: string): Promise<PackageFile[]> {
  if (path.endsWith('.whl') && statSync(path, { throwIfNoEntry: false })?.isFile()) return readWheel(path);
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
  const unpacked = await Promise.all(wheels.map((wheel) => readWheel(join(path, wheel.path))));
  return [...unpacked.flat(), ...pureFiles(path, sources, {})];
}

async function readWheel(path: string): Promise<PackageFile[]> {
  const file = basename(path);
  const wheel = parseWheelName(file);
  if (wheel === undefined) throw invalid(`${file} is not a valid wheel file name`);
  let files: PackageFile[];
  try {
    files = await readZip(path);
  } catch (cause) {
    throw invalid(`cannot unpack ${path}: ${(cause as Error).message}`);
  }
  checkRecord(`packages: ${file}`, files);
  checkTags(`packages: ${file}`, wheel, files);
  const compiled = pythonPackage(wheel.name)?.compiled;
  return pureFiles(`packages: ${file}`, files, compiled === undefined ? {} : { compiled });
}

const invalid = (problem: string) => new SandboxError('invalid_argument', `packages: ${problem}.`);
