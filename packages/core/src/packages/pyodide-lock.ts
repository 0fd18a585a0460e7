/**
 * The wheels that Pyodide distributes for the interpreter of the guests: file names, SHA-256 and dependencies. The build copies
 * the list from the pinned pyodide package, which does not contain the wheels themselves.
 */
import { readFileSync } from 'node:fs';
import { installedFile } from '../host/install-folder.ts';
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

/** The list of this build; empty if it cannot be read. */
export function readPyodideLock(): PyodideLock {
  lock ??= readLock();
  return lock;
}

function readLock(): PyodideLock {
  try {
    return parsePyodideLock(readFileSync(installedFile('packages/pyodide-lock.json'), 'utf8'));
  } catch {
    return { version: '', packages: new Map() };
  }
}

export function parsePyodideLock(text: string): PyodideLock {
  const { version, packages } = JSON.parse(text) as {
    version: string;
    packages: readonly DistributedPackage[];
  };
  return { version, packages: new Map(packages.map((one) => [normalisedName(one.name), one])) };
}

/** The distributed package that contains a top-level module. */
export function distributedModule(module: string): DistributedPackage | undefined {
  const { packages } = readPyodideLock();
  const byName = packages.get(normalisedName(module));
  if (byName?.imports.includes(module)) return byName;
  return [...packages.values()].find(({ imports }) => imports.includes(module));
}
