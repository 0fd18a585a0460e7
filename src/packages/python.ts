/**
 * Fetches the locked Python packages with the machine's own pip and takes their pure files. The lock holds the digest
 * of those files, not of the wheel: wheels differ between machines, what a guest gets must not. A package that cannot
 * be had is left out, and the build says so.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readZip, type ZipFile } from '../runtimes/zip.ts';

export interface LockedPackage {
  readonly name: string;
  readonly version: string;
  /** SHA-256 over the paths and digests of the pure files. */
  readonly sha256: string;
}

export interface FetchedPackages {
  readonly files: readonly ZipFile[];
  /** One sentence for each package that is not there. */
  readonly missing: readonly string[];
}

const PIP_TIMEOUT_MS = 5 * 60_000;
/** Compiled code, which a guest cannot load, and installation records, of which only the metadata is of use. */
const NOT_PURE = /\.(so|pyd|dylib|dll|c|h|pyx|pxd)$|\.dist-info\/(?!METADATA$|licenses\/|LICENSE)|\.data\//;

const run = promisify(execFile);

export function lockedPackages(): readonly LockedPackage[] {
  return JSON.parse(readFileSync(new URL('./lock.json', import.meta.url), 'utf8')).python;
}

/** Digest of a set of files, the same on every machine. */
export function filesDigest(files: readonly ZipFile[]): string {
  const hash = createHash('sha256');
  for (const { path, data } of [...files].sort((a, b) => (a.path < b.path ? -1 : 1))) {
    hash.update(`${path}\0${createHash('sha256').update(data).digest('hex')}\n`);
  }
  return hash.digest('hex');
}

export async function fetchPackages(locked: readonly LockedPackage[]): Promise<FetchedPackages> {
  const folder = mkdtempSync(join(tmpdir(), 'llm-wasm-sandbox-'));
  try {
    const failure = await download(locked, folder);
    const found = await Promise.all(locked.map((one) => pureFiles(one, folder, failure)));
    return { files: found.flatMap(({ files }) => files), missing: found.flatMap(({ missing }) => missing) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** All packages in one call; when that fails, each by itself, so that one that is missing does not take the rest along. */
async function download(locked: readonly LockedPackage[], folder: string): Promise<string> {
  const flags = [
    '-m',
    'pip',
    'download',
    '--quiet',
    '--no-deps',
    '--retries',
    '0',
    '--only-binary=:all:',
    '-d',
    folder,
  ];
  const pip = async (packages: readonly LockedPackage[]) => {
    const names = packages.map(({ name, version }) => `${name}==${version}`);
    await run('python3', [...flags, ...names], { timeout: PIP_TIMEOUT_MS });
  };
  try {
    await pip(locked);
    return '';
  } catch (cause) {
    for (const one of locked.length > 1 ? locked : []) await pip([one]).catch(() => {});
    const { stderr, message } = cause as { stderr?: string; message: string };
    return (stderr || message).trim().split('\n').at(-1) ?? '';
  }
}

async function pureFiles(locked: LockedPackage, folder: string, failure: string) {
  const label = `${locked.name} ${locked.version}`;
  const prefix = `${locked.name.replaceAll('-', '_')}-${locked.version}-`.toLowerCase();
  const wheel = readdirSync(folder).find(
    (file) => file.toLowerCase().startsWith(prefix) && file.endsWith('.whl'),
  );
  if (wheel === undefined) return { files: [], missing: [`${label} could not be fetched: ${failure}`] };
  const files = (await readZip(join(folder, wheel))).filter(({ path }) => !NOT_PURE.test(path));
  const found = filesDigest(files);
  if (found === locked.sha256) return { files, missing: [] };
  return {
    files: [],
    missing: [`${label} is not what the lock says: expected ${locked.sha256}, found ${found}`],
  };
}
