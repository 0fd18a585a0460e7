/**
 * Selects the files of a Python wheel that a guest can use: its pure files. Guests cannot load compiled code, so a wheel
 * that contains some is rejected unless the package is known to work without it.
 */
import { SandboxError } from '../errors.ts';
import { sha256 } from '../framing/digest.ts';
import type { CatalogRow } from './catalog.ts';
import type { PackageFile } from './package-contents.ts';

/** Machine code. */
const COMPILED = /\.(so|pyd|dylib|dll|a|lib|exe)$/;
/** Sources of machine code, tests, type stubs, and installation records except metadata, entry points and licences. */
const EXCLUDED =
  /\.(c|cc|cpp|h|hpp|pyx|pxd|pxi|pyi|pyc)$|(^|\/)(tests|__pycache__)\/|\.dist-info\/(?!METADATA$|entry_points\.txt$|licenses\/|LICEN[CS]E)|^[^/]+\.data\//;

export interface WheelName {
  readonly name: string;
  readonly version: string;
}

/** Parses the file name of a wheel; undefined if it is not one. */
export function parseWheelName(file: string): WheelName | undefined {
  const match = /^([A-Za-z0-9_.]+)-([A-Za-z0-9_.!+]+)(-\d[^-]*)?-[^-]+-[^-]+-[^-]+\.whl$/.exec(file);
  return match === null ? undefined : { name: match[1]!, version: match[2]! };
}

/**
 * Returns the pure files of a wheel, without `omitted_files`. Throws if it contains compiled code, unless `compiled` says
 * that the package works without. `label` names the wheel in the error.
 */
export function pureFiles(
  label: string,
  files: readonly PackageFile[],
  { compiled, omitted_files }: Pick<CatalogRow, 'compiled' | 'omitted_files'>,
): PackageFile[] {
  const binary = files.find(({ path }) => COMPILED.test(path));
  if (binary !== undefined && compiled !== 'optional') {
    throw new SandboxError(
      'invalid_argument',
      `${label} contains compiled code (${binary.path}), which guests cannot load. Use a pure Python package.`,
    );
  }
  return files.filter(
    ({ path }) => !COMPILED.test(path) && !EXCLUDED.test(path) && omitted_files?.test(path) !== true,
  );
}

/** Throws unless the wheel's RECORD lists each of these files with its digest. */
export function checkRecord(label: string, files: readonly PackageFile[]): void {
  const record = files.find(({ path }) => /^[^/]+\.dist-info\/RECORD$/.test(path));
  if (record === undefined) throw damaged(label, 'it has no RECORD');
  const listed = new Map<string, string>();
  for (const line of new TextDecoder().decode(record.data).split(/\r?\n/)) {
    const match = /^"?(.*?)"?,(?:sha256=([\w-]*))?,\d*$/.exec(line);
    if (match !== null) listed.set(match[1]!.replaceAll('""', '"'), match[2] ?? '');
  }
  for (const { path, data } of files) {
    if (/\.dist-info\/RECORD(\.\w+)?$/.test(path)) continue;
    const found = sha256(data).toString('base64url');
    if (listed.get(path) !== found) throw damaged(label, `${path} does not match its RECORD`);
  }
}

const damaged = (label: string, problem: string) =>
  new SandboxError('invalid_argument', `${label} is a damaged wheel: ${problem}. Download it again.`);
