/**
 * What a guest gets of a wheel: its pure files. Compiled code cannot be loaded by a guest, so a wheel that has some is
 * refused, unless the package is known to work without. Tests and installation records are left out.
 */
import { createHash } from 'node:crypto';
import { SandboxError } from '../errors.ts';
import type { ZipFile } from './read-zip.ts';

/** Code for a machine, which a guest is not. */
const COMPILED = /\.(so|pyd|dylib|dll|a|lib|exe)$/;
/** Sources of such code, tests, type stubs, and of the installation records all but name, plug-ins and licence. */
const LEFT_OUT =
  /\.(c|cc|cpp|h|hpp|pyx|pxd|pxi|pyi|pyc)$|(^|\/)(tests|__pycache__)\/|\.dist-info\/(?!METADATA$|entry_points\.txt$|licenses\/|LICEN[CS]E)|^[^/]+\.data\//;

export interface WheelName {
  readonly name: string;
  readonly version: string;
}

/** Name and version from a wheel's file name, or undefined for a file that is not named like a wheel. */
export function wheelName(file: string): WheelName | undefined {
  const match = /^([A-Za-z0-9_.]+)-([A-Za-z0-9_.!+]+)(-\d[^-]*)?-[^-]+-[^-]+-[^-]+\.whl$/.exec(file);
  return match === null ? undefined : { name: match[1]!, version: match[2]! };
}

/** The pure files; throws with the reason when the wheel cannot do without the rest. */
export function pureFiles(
  label: string,
  files: readonly ZipFile[],
  compiled: 'optional' | undefined,
): ZipFile[] {
  const machine = files.find(({ path }) => COMPILED.test(path));
  if (machine !== undefined && compiled !== 'optional') {
    throw new SandboxError(
      'invalid_argument',
      `${label} carries compiled code (${machine.path}), which a guest cannot load.`,
    );
  }
  return files.filter(({ path }) => !COMPILED.test(path) && !LEFT_OUT.test(path));
}

/** Digest of a set of files, the same on every machine. */
export function filesDigest(files: readonly ZipFile[]): string {
  const hash = createHash('sha256');
  for (const { path, data } of [...files].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    hash.update(`${path}\0${createHash('sha256').update(data).digest('hex')}\n`);
  }
  return hash.digest('hex');
}

/** Holds a wheel to its own record: every file listed with its digest, none besides. */
export function checkRecord(label: string, files: readonly ZipFile[]): void {
  const record = files.find(({ path }) => /^[^/]+\.dist-info\/RECORD$/.test(path));
  if (record === undefined) throw damaged(label, 'it has no RECORD');
  const listed = new Map<string, string>();
  for (const line of new TextDecoder().decode(record.data).split(/\r?\n/)) {
    const match = /^"?(.*?)"?,(?:sha256=([\w-]*))?,\d*$/.exec(line);
    if (match !== null) listed.set(match[1]!.replaceAll('""', '"'), match[2] ?? '');
  }
  for (const { path, data } of files) {
    if (/\.dist-info\/RECORD(\.\w+)?$/.test(path)) continue;
    const found = createHash('sha256').update(data).digest('base64url');
    if (listed.get(path) !== found) throw damaged(label, `${path} is not as its RECORD says`);
  }
}

const damaged = (label: string, problem: string) =>
  new SandboxError('invalid_argument', `${label} is not a whole wheel: ${problem}.`);
