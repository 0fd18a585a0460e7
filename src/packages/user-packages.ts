/**
 * Packages that the caller of the library brings along: wheels, and folders of Python sources. Every wheel is held to
 * its own record, compiled code is refused, links are not followed, and bytecode that comes with them is not used.
 */
import { statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { SandboxError } from '../errors.ts';
import type { Entry } from '../fs/entries.ts';
import { readHostTree } from '../host/mount-files.ts';
import { catalogRow } from './catalog.ts';
import { readZip, type ZipFile } from './read-zip.ts';
import { checkRecord, filesDigest, pureFiles, wheelName } from './wheel.ts';

const MAX_BYTES = 128 * 1024 * 1024;
const MAX_FILES = 20_000;
/** What working copies hold besides sources. */
const NOT_INSTALLED = /(^|\/)(\.[^/]*|__pycache__|node_modules|[^/]+\.egg-info)(\/|$)/;

export interface OwnPackages {
  readonly entries: readonly Entry[];
  /** Names a program can import, for the record of what it imported. */
  readonly topLevel: readonly string[];
  readonly sha256: string;
}

/**
 * Reads what a caller named: a wheel, a folder of wheels, a folder that is a package (it has `__init__.py`), or a folder
 * that holds modules and packages as site-packages does.
 */
export async function readOwnPackages(paths: readonly string[]): Promise<OwnPackages> {
  const files = new Map<string, ZipFile>();
  let bytes = 0;
  for (const path of paths) {
    for (const file of await readOne(path)) {
      const other = files.get(file.path);
      if (other !== undefined && Buffer.compare(other.data, file.data) !== 0)
        throw refused(`two packages have a file ${file.path}`);
      files.set(file.path, file);
      bytes += file.data.length;
    }
    if (bytes > MAX_BYTES || files.size > MAX_FILES)
      throw refused(`they hold more than ${MAX_BYTES} bytes or ${MAX_FILES} files`);
  }
  const all = [...files.values()];
  if (paths.length > 0 && !all.some(({ path }) => path.endsWith('.py')))
    throw refused(`there is no Python source in ${paths.join(', ')}`);
  const tops = new Set(all.map(({ path }) => path.split('/')[0]!.replace(/\.py$/, '')));
  return {
    entries: all.map(({ path, data }) => ({ path, kind: 'file', mode: 0o444, mtimeMs: 0, data })),
    topLevel: [...tops].filter((name) => /^[A-Za-z_]\w*$/.test(name)),
    sha256: filesDigest(all),
  };
}

async function readOne(path: string): Promise<ZipFile[]> {
  if (path.endsWith('.whl') && statSync(path, { throwIfNoEntry: false })?.isFile()) return readWheel(path);
  const { entries, isFile } = readHostTree(path, (data) => data, 'packages');
  if (isFile) throw refused(`${path} is neither a wheel nor a folder`);
  const found = entries
    .filter((entry) => entry.kind === 'file' && !NOT_INSTALLED.test(entry.path))
    .map((entry) => ({ path: entry.path, data: entry.data! }));
  const wheels = found.filter((file) => /^[^/]+\.whl$/.test(file.path));
  const prefix = found.some((file) => file.path === '__init__.py') ? `${basename(path)}/` : '';
  const loose = found
    .filter((file) => !wheels.includes(file))
    .map((file) => ({ path: prefix + file.path, data: file.data }));
  const unpacked = await Promise.all(wheels.map((wheel) => readWheel(join(path, wheel.path))));
  return [...unpacked.flat(), ...pureFiles(path, loose, undefined)];
}

async function readWheel(path: string): Promise<ZipFile[]> {
  const named = wheelName(basename(path));
  if (named === undefined) throw refused(`${basename(path)} is not named like a wheel`);
  let files: ZipFile[];
  try {
    files = await readZip(path);
  } catch (cause) {
    throw refused(`${path} cannot be unpacked: ${(cause as Error).message}`);
  }
  checkRecord(`packages: ${basename(path)}`, files);
  return pureFiles(`packages: ${basename(path)}`, files, catalogRow(named.name)?.compiled);
}

const refused = (problem: string) => new SandboxError('invalid_argument', `packages: ${problem}.`);
