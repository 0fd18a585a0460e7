/**
 * The list of packages that Pyodide distributes for the interpreter of the guests, from the pyodide package that is
 * installed: file names, SHA-256 and dependencies. The files themselves are not part of that package.
 */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageFolders } from '../host/package-folders.ts';
import { normalisedName } from './wheel-metadata.ts';

export interface DistributedPackage {
  readonly name: string;
  readonly version: string;
  readonly file_name: string;
  readonly sha256: string;
  readonly imports: readonly string[];
  readonly depends: readonly string[];
}

export interface PyodideLock {
  /** Version of the distribution. */
  readonly version: string;
  /** By normalised name. Wheels only. */
  readonly packages: ReadonlyMap<string, DistributedPackage>;
}

let lock: PyodideLock | undefined;

/** The list of the installed pyodide package; empty if it cannot be read. */
export function readPyodideLock(): PyodideLock {
  lock ??= readLock();
  return lock;
}

function readLock(): PyodideLock {
  try {
    const folder = packageFolders('pyodide', dirname(fileURLToPath(import.meta.url)))[0]!;
    const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    return parsePyodideLock(readFileSync(join(folder, 'pyodide-lock.json'), 'utf8'), version);
  } catch {
    return { version: '', packages: new Map() };
  }
}

export function parsePyodideLock(text: string, version: string): PyodideLock {
  const { packages } = JSON.parse(text) as { packages: Readonly<Record<string, DistributedPackage>> };
  const wheels = Object.values(packages).filter(({ file_name }) => file_name.endsWith('.whl'));
  return { version, packages: new Map(wheels.map((one) => [normalisedName(one.name), one])) };
}

/** The distributed package that contains a top-level module. */
export function distributedModule(module: string): DistributedPackage | undefined {
  const { packages } = readPyodideLock();
  const byName = packages.get(normalisedName(module));
  if (byName?.imports.includes(module)) return byName;
  return [...packages.values()].find(({ imports }) => imports.includes(module));
}
