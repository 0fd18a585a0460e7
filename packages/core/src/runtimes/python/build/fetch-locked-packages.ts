/**
 * Downloads the locked Python packages with the pip of the build machine and selects their pure files. The lock contains
 * the digest of those files instead of the wheel's, because wheels of some packages differ between platforms. A package
 * that cannot be downloaded is reported as missing; the build continues without it.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readCached, writeCached } from '../../../host/disk-cache.ts';
import { installedFile } from '../../../host/install-folder.ts';
import { parseWheelName, usableFiles } from '../../../packages/check-wheel-contents.ts';
import {
  filesDigest,
  type PackageFile,
  packFiles,
  sortedFiles,
  unpackFiles,
} from '../../../packages/package-files.ts';
import { readZip } from '../../../packages/read-zip.ts';
import { pipDownload } from '../../../packages/run-pip.ts';
import {
  type MissingPackage,
  PYTHON_PACKAGES,
  pythonPackage,
} from '../../../packages/vendored-package-table.ts';

interface LockedPackage {
  readonly name: string;
  readonly version: string;
  /** `filesDigest` of the pure files. */
  readonly sha256: string;
}

interface FetchedPackages {
  readonly files: readonly PackageFile[];
  readonly missing: readonly MissingPackage[];
}

const PIP_FLAGS = '--retries 2 --ignore-requires-python'.split(' ');

export function lockedPackages(): readonly LockedPackage[] {
  return JSON.parse(readFileSync(new URL('../../../packages/lock.json', import.meta.url), 'utf8')).python;
}

/** The first-party packages that cannot work because the package that they are based on is missing. */
function withoutBase(missing: readonly MissingPackage[]): MissingPackage[] {
  return PYTHON_PACKAGES.flatMap(({ name, first_party }) => {
    const base = missing.find((one) => one.name === first_party?.version_of);
    if (base === undefined) return [];
    return [{ name, version: base.version, reason: `requires ${base.name}, which is missing` }];
  });
}

/** Names and versions of the first-party packages that are not missing, in the form in which programs look for them. */
function firstPartyMetadata(missing: readonly MissingPackage[]): PackageFile[] {
  const project = JSON.parse(readFileSync(installedFile('../package.json'), 'utf8')) as { version: string };
  return PYTHON_PACKAGES.flatMap(({ name, first_party }) => {
    if (first_party === undefined || missing.some((one) => one.name === name)) return [];
    const base = lockedPackages().find((one) => one.name === first_party.version_of);
    const version = base?.version ?? project.version;
    return {
      path: `${name.replaceAll('-', '_')}-${version}.dist-info/METADATA`,
      data: new TextEncoder().encode(`Metadata-Version: 2.1\nName: ${name}\nVersion: ${version}\n`),
    };
  });
}

/** Files of the first-party packages that are not missing, with paths relative to site-packages. */
export function firstPartyFiles(missing: readonly MissingPackage[]): PackageFile[] {
  const folders = new Set(missing.flatMap(({ name }) => pythonPackage(name)?.import_names ?? []));
  const folder = new URL('../../../packages/first-party/python/', import.meta.url);
  const names = readdirSync(folder, { recursive: true }) as string[];
  const sources = names
    .map((name) => name.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.py') && !folders.has(path.split('/')[0]!))
    .map((path) => ({ path, data: new Uint8Array(readFileSync(new URL(path, folder))) }));
  return [...sources, ...firstPartyMetadata(missing)];
}

export async function fetchLockedPackages(locked: readonly LockedPackage[]): Promise<FetchedPackages> {
  const cached = new Map(locked.map((one) => [one.name, readFromCache(one)]));
  const wanted = locked.filter(({ name }) => cached.get(name) === undefined);
  const downloads = await downloadWheels(wanted.map(({ name, version }) => `${name}==${version}`));
  const files: PackageFile[] = [];
  const missing: MissingPackage[] = [];
  for (const one of locked) {
    const { name, version } = one;
    try {
      for (const file of cached.get(name) ?? verify(one, downloads)) files.push(file);
    } catch (cause) {
      missing.push({ name, version, reason: (cause as Error).message });
    }
  }
  return { files, missing: [...missing, ...withoutBase(missing)] };
}

/** Returns the files of a downloaded package if they match the lock, and adds them to the cache. */
function verify(locked: LockedPackage, { wheels, failure }: Downloads): readonly PackageFile[] {
  const wheel = wheels.find(
    ({ name, version }) => pythonPackage(name)?.name === locked.name && version === locked.version,
  );
  if (wheel === undefined) throw new Error(`download failed: ${failure}`);
  const files = usableFiles(wheel.name, wheel.files, pythonPackage(locked.name) ?? {});
  const digest = filesDigest(files);
  if (digest !== locked.sha256) {
    throw new Error(`does not match the lock: expected SHA-256 ${locked.sha256}, found ${digest}`);
  }
  writeCached('packages', cacheKey(locked), packFiles(sortedFiles(files)));
  return files;
}

/** The last part changes with the form of the bytes. */
const cacheKey = ({ sha256 }: LockedPackage) => `${sha256}-files`;

function readFromCache(locked: LockedPackage): PackageFile[] | undefined {
  const bytes = readCached('packages', cacheKey(locked));
  if (bytes === undefined) return undefined;
  const files = unpackFiles(bytes);
  return filesDigest(files) === locked.sha256 ? files : undefined;
}

interface Downloads {
  readonly wheels: readonly { name: string; version: string; files: PackageFile[] }[];
  /** The error of pip if some wheels are missing. */
  readonly failure: string;
}

async function downloadWheels(requirements: readonly string[]): Promise<Downloads> {
  if (requirements.length === 0) return { wheels: [], failure: '' };
  const folder = mkdtempSync(join(tmpdir(), 'llm-wasm-sandbox-'));
  try {
    const failure = await downloadAll(requirements, folder);
    const wheels = [];
    for (const file of readdirSync(folder)) {
      const name = parseWheelName(file);
      if (name !== undefined) wheels.push({ ...name, files: readZip(readFileSync(join(folder, file))) });
    }
    return { wheels, failure };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Downloads all packages in one call, which is fast. If that fails, downloads each in a call of its own, because one
 * missing package fails the whole call. Returns the error of pip, or an empty text.
 */
async function downloadAll(requirements: readonly string[], folder: string): Promise<string> {
  const failure = await pipDownload(PIP_FLAGS, requirements, folder);
  if (failure === undefined) return '';
  const isAvailable = failure.kind !== 'no_pip';
  for (const one of isAvailable && requirements.length > 1 ? requirements : [])
    await pipDownload(PIP_FLAGS, [one], folder);
  return failure.message;
}

/** Locks the newest versions that the table allows. Throws if any package cannot be downloaded. */
export async function createLock(): Promise<LockedPackage[]> {
  const rows = PYTHON_PACKAGES.filter(({ first_party }) => first_party === undefined);
  const { wheels, failure } = await downloadWheels(
    rows.map(({ name, version_bounds }) => name + (version_bounds ?? '')),
  );
  return rows.map((row) => {
    const { name } = row;
    const wheel = wheels.find((one) => pythonPackage(one.name)?.name === name);
    if (wheel === undefined) throw new Error(`cannot download ${name}: ${failure}`);
    return {
      name,
      version: wheel.version,
      sha256: filesDigest(usableFiles(name, wheel.files, row)),
    };
  });
}
