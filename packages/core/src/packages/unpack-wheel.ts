/**
 * Unpacks and verifies a wheel, which may be hostile, and describes its contents. Threads call this: for a large wheel it
 * takes seconds.
 */
import { invalidArgument, SandboxError } from '../errors.ts';
import { sha256Hex } from '../framing/digest.ts';
import { readBoundedFile } from '../host/read-bounded-file.ts';
import { formatBytes } from '../quantities.ts';
import {
  checkRecord,
  checkTags,
  checkWheelName,
  isSideModule,
  parseWheelName,
  usableFiles,
} from './check-wheel-contents.ts';
import { filesDigest, type PackageFile, packageFileDigest } from './package-files.ts';
import { MAX_WHEEL_BYTES, readZip } from './read-zip.ts';
import { pythonPackage } from './vendored-package-table.ts';
import { readMetadata, type WheelMetadata } from './wheel-metadata.ts';

/** Limit on the libraries of a wheel. They are compiled, which takes several times their size. */
const MAX_LIBRARY_BYTES = 128 * 1024 * 1024;

/** A library of a package, by its SHA-256. */
export interface LibraryFile {
  readonly path: string;
  readonly sha256: string;
}

/** What is known about a wheel or a folder without its contents. */
export interface PackageDescription {
  /** Digest of the files that guests see. */
  readonly digest: string;
  readonly topLevel: readonly string[];
  readonly libraries: readonly LibraryFile[];
  /** It contains no files that guests see. */
  readonly isEmpty: boolean;
}

export interface WheelFile {
  /** Its file name. */
  readonly name: string;
  /** Its path, or its bytes. */
  readonly source: string | Uint8Array;
  /** The digest that it must have. */
  readonly sha256?: string;
}

export interface UnpackedWheel {
  /** The files that guests see, in shared memory. */
  readonly files: readonly PackageFile[];
  readonly description: PackageDescription;
  readonly metadata: WheelMetadata;
}

/** Unpacks a wheel in a thread. */
export type UnpackWheel = (wheel: WheelFile) => Promise<UnpackedWheel>;

export function unpackWheel({ name, source, sha256 }: WheelFile): UnpackedWheel {
  const wheel = parseWheelName(name);
  if (wheel === undefined) throw invalid(`${name} is not a valid wheel file name`);
  const bytes = typeof source === 'string' ? readFile(name, source) : source;
  const found = sha256 === undefined ? undefined : sha256Hex(bytes);
  if (found !== sha256)
    throw new SandboxError(
      'store_failed',
      `packages: ${name} has changed: expected SHA-256 ${sha256}, found ${found}.`,
    );
  const label = `packages: ${name}`;
  const all = readMembers(name, bytes);
  checkRecord(label, all);
  checkWheelName(label, wheel, all);
  checkTags(label, wheel, all);
  const compiled = pythonPackage(wheel.name)?.compiled;
  const files = usableFiles(label, all, compiled === undefined ? {} : { compiled });
  const libraryBytes = files.filter(isSideModule).reduce((sum, { data }) => sum + data.length, 0);
  if (libraryBytes > MAX_LIBRARY_BYTES)
    throw invalid(`the libraries of ${name} exceed ${formatBytes(MAX_LIBRARY_BYTES)}`);
  return { files, description: describeContents(files), metadata: readMetadata(label, files) };
}

function readFile(name: string, path: string): Uint8Array {
  try {
    return readBoundedFile(path, MAX_WHEEL_BYTES);
  } catch (cause) {
    throw new SandboxError('store_failed', `packages: cannot read ${name}: ${(cause as Error).message}`);
  }
}

function readMembers(name: string, bytes: Uint8Array): PackageFile[] {
  try {
    return readZip(bytes);
  } catch (cause) {
    throw invalid(`cannot unpack ${name}: ${(cause as Error).message.replace(/\.$/, '')}`);
  }
}

export function describeContents(files: readonly PackageFile[]): PackageDescription {
  return {
    digest: filesDigest(files),
    topLevel: topLevelModules(files),
    libraries: files
      .filter(isSideModule)
      .map((file) => ({ path: file.path, sha256: packageFileDigest(file).toString('hex') })),
    isEmpty: files.length === 0,
  };
}

/** The modules and packages at the top level that programs can import. */
export function topLevelModules(files: readonly PackageFile[]): string[] {
  const names = files.map(({ path }) => path.split('/')[0]!.replace(/\.py$|(\.[\w-]+)?\.so$/, ''));
  return [...new Set(names)].filter((name) => /^[A-Za-z_]\w*$/.test(name));
}

const invalid = (problem: string) => invalidArgument(`packages: ${problem}.`);
