/**
 * Reads wheels. Each is verified against its RECORD and unpacked when a process first uses it; after that, its description is
 * used for as long as the file does not change, and its contents are read again only if an image must be built.
 */
import { type BigIntStats, readFileSync, statSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { SandboxError } from '../errors.ts';
import { fileVersion, isSettled } from '../host/file-version.ts';
import type { PackageFacts } from '../schema.ts';
import { checkRecord, checkTags, isSideModule, parseWheelName, usableFiles } from './check-wheel-contents.ts';
import { computeDigests, filesDigest, type PackageFile, packageFileDigest } from './package-files.ts';
import { readZip } from './read-zip.ts';
import { pythonPackage } from './vendored-package-table.ts';

/** Descriptions that a process keeps. The oldest are discarded first. */
const MAX_DESCRIPTIONS = 512;

/** A library of a package, by its SHA-256. */
export interface LibraryFile {
  readonly path: string;
  readonly sha256: string;
}

/** What is known about a wheel or a folder without its contents. */
interface PackageDescription {
  /** Digest of the files that guests see. */
  readonly digest: string;
  readonly topLevel: readonly string[];
  readonly libraries: readonly LibraryFile[];
  /** It contains no files that guests see. */
  readonly isEmpty: boolean;
}

/** One wheel or folder. */
export interface PackagePart extends PackageDescription {
  readonly facts?: PackageFacts;
  files(): Promise<readonly PackageFile[]>;
}

/** By path and version of the file. */
const descriptions = new Map<string, Promise<PackageDescription>>();

/** The wheel at a path. */
export async function wheelPart(path: string): Promise<PackagePart> {
  const stat = statSync(path, { bigint: true });
  const key = `${resolve(path)}\0${fileVersion(stat)}`;
  const known = await descriptions.get(key)?.catch(() => undefined);
  if (known !== undefined) return { ...known, files: () => readUnchanged(path, known) };
  const files = readWheelFile(path);
  const description = files.then(describe);
  remember(key, stat, description);
  return { ...(await description), files: () => files };
}

function remember(key: string, stat: BigIntStats, description: Promise<PackageDescription>): void {
  if (!isSettled(stat)) return;
  descriptions.set(key, description);
  if (descriptions.size > MAX_DESCRIPTIONS) descriptions.delete(descriptions.keys().next().value!);
  description.catch(() => descriptions.delete(key));
}

async function readUnchanged(path: string, { digest }: PackageDescription): Promise<PackageFile[]> {
  const files = await readWheelFile(path);
  if (filesDigest(files) !== digest)
    throw invalid(`${basename(path)} changed while it was being read; try again`);
  return files;
}

/** Packages whose files are in memory. */
export function partOf(files: readonly PackageFile[]): PackagePart {
  return { ...describe(files), files: async () => files };
}

function describe(files: readonly PackageFile[]): PackageDescription {
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

// Asynchronous, so that errors reject the promise.
const readWheelFile = async (path: string) => readWheel(basename(path), readFileSync(path));

/** Verifies a wheel and returns the files that guests see. `file` is its name. */
export async function readWheel(file: string, bytes: Uint8Array): Promise<PackageFile[]> {
  const wheel = parseWheelName(file);
  if (wheel === undefined) throw invalid(`${file} is not a valid wheel file name`);
  let files: PackageFile[];
  try {
    files = await readZip(bytes);
  } catch (cause) {
    throw invalid(`cannot unpack ${file}: ${(cause as Error).message}`);
  }
  await computeDigests(files);
  checkRecord(`packages: ${file}`, files);
  checkTags(`packages: ${file}`, wheel, files);
  const compiled = pythonPackage(wheel.name)?.compiled;
  return usableFiles(`packages: ${file}`, files, compiled === undefined ? {} : { compiled });
}

const invalid = (problem: string) => new SandboxError('invalid_argument', `packages: ${problem}.`);
