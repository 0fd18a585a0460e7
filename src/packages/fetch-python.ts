/**
 * Fetches the locked Python packages with the machine's own pip and takes their pure files. The lock holds the digest
 * of those files, not of the wheel: wheels differ between machines, what a guest gets must not. A package that cannot
 * be had is left out, and the build says so.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { packEntries, unpackEntries } from '../fs/tree-codec.ts';
import { readCached, writeCached } from '../host/disk-cache.ts';
import { CATALOG, catalogRow } from './catalog.ts';
import { readZip, toEntries, type ZipFile } from './read-zip.ts';
import { filesDigest, pureFiles, wheelName } from './wheel.ts';

export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  /** SHA-256 over the paths and digests of the pure files. */
  readonly sha256: string;
}

export interface MissingPackage {
  readonly name: string;
  readonly version: string;
  readonly reason: string;
}

export interface FetchedPackages {
  readonly files: readonly ZipFile[];
  readonly missing: readonly MissingPackage[];
}

const PIP_TIMEOUT_MS = 5 * 60_000;
/** Names the machine's Python may have. */
const PYTHONS = ['python3', 'python'];
const PIP_FLAGS = '--quiet --no-deps --retries 0 --only-binary=:all: --ignore-requires-python'.split(' ');

const run = promisify(execFile);

export function lockedPackages(): readonly LockedPackage[] {
  return JSON.parse(readFileSync(new URL('./lock.json', import.meta.url), 'utf8')).python;
}

/** Packages written here: their sources, as they lie in the guest. */
export function ownPackages(): ZipFile[] {
  const folder = new URL('./first-party/python/', import.meta.url);
  const names = readdirSync(folder, { recursive: true }) as string[];
  return names
    .filter((name) => name.endsWith('.py'))
    .map((name) => ({
      path: name.replaceAll('\\', '/'),
      data: new Uint8Array(readFileSync(new URL(name, folder))),
    }));
}

export async function fetchPackages(locked: readonly LockedPackage[]): Promise<FetchedPackages> {
  const kept = new Map(locked.map((one) => [one.name, readKept(one)]));
  const wanted = locked.filter(({ name }) => kept.get(name) === undefined);
  const found = await downloadWheels(wanted.map(({ name, version }) => `${name}==${version}`));
  const files: ZipFile[] = [];
  const missing: MissingPackage[] = [];
  for (const one of locked) {
    const { name, version } = one;
    try {
      files.push(...(kept.get(name) ?? take(one, found)));
    } catch (cause) {
      missing.push({ name, version, reason: (cause as Error).message });
    }
  }
  return { files, missing };
}

/** The files of a fetched package, if they are what the lock says; kept for the next build. */
function take(locked: LockedPackage, { wheels, failure }: Downloaded): readonly ZipFile[] {
  const wheel = wheels.find(
    ({ name, version }) => catalogRow(name)?.name === locked.name && version === locked.version,
  );
  if (wheel === undefined) throw new Error(`could not be fetched: ${failure}`);
  const files = pureFiles(wheel.name, wheel.files, catalogRow(locked.name)?.compiled);
  const digest = filesDigest(files);
  if (digest !== locked.sha256) {
    throw new Error(`is not what the lock says: expected ${locked.sha256}, found ${digest}`);
  }
  writeCached('packages', locked.sha256, packEntries(toEntries(files, 0)));
  return files;
}

/** What an earlier build kept; believed only when it has the digest of the lock. */
function readKept({ sha256 }: LockedPackage): ZipFile[] | undefined {
  const bytes = readCached('packages', sha256);
  if (bytes === undefined) return undefined;
  const files = unpackEntries(bytes).flatMap(({ path, data }) =>
    data === undefined ? [] : [{ path, data }],
  );
  return filesDigest(files) === sha256 ? files : undefined;
}

interface Downloaded {
  readonly wheels: readonly { name: string; version: string; files: ZipFile[] }[];
  /** Why some may be missing. */
  readonly failure: string;
}

async function downloadWheels(requirements: readonly string[]): Promise<Downloaded> {
  if (requirements.length === 0) return { wheels: [], failure: '' };
  const folder = mkdtempSync(join(tmpdir(), 'llm-wasm-sandbox-'));
  try {
    const failure = await download(requirements, folder);
    const wheels = [];
    for (const file of readdirSync(folder)) {
      const found = wheelName(file);
      if (found !== undefined) wheels.push({ ...found, files: await readZip(join(folder, file)) });
    }
    return { wheels, failure };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** All packages in one call; when that fails, each by itself, so that one that is missing does not take the rest along. */
async function download(requirements: readonly string[], folder: string): Promise<string> {
  let failure = '';
  for (const python of PYTHONS) {
    const pip = (names: readonly string[]) =>
      run(python, ['-m', 'pip', 'download', ...PIP_FLAGS, '-d', folder, ...names], {
        timeout: PIP_TIMEOUT_MS,
      });
    try {
      await pip(requirements);
      return '';
    } catch (cause) {
      const { stderr, message, code } = cause as { stderr?: string; message: string; code?: string | number };
      failure = (stderr || message).trim().split('\n').at(-1) ?? '';
      if (code === 'ENOENT') continue;
      for (const one of requirements.length > 1 ? requirements : []) await pip([one]).catch(() => {});
      return failure;
    }
  }
  return failure;
}

/** The lock for the newest versions that the catalogue allows. Throws when one cannot be had: a lock has no holes. */
export async function newLock(): Promise<LockedPackage[]> {
  const rows = CATALOG.filter(({ language, own }) => language === 'python' && own === undefined);
  const { wheels, failure } = await downloadWheels(rows.map(({ name, bounds }) => name + (bounds ?? '')));
  return rows.map(({ name, compiled }) => {
    const wheel = wheels.find((one) => catalogRow(one.name)?.name === name);
    if (wheel === undefined) throw new Error(`${name} could not be fetched: ${failure}`);
    return {
      name,
      version: wheel.version,
      sha256: filesDigest(pureFiles(name, wheel.files, compiled)),
    };
  });
}
