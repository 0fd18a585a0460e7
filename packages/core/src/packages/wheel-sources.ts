/**
 * Finds wheels for `packages add`, in this order: files that the caller specifies, pip, and Pyodide's distribution, whose
 * files must match the SHA-256 in its list. Nothing is executed.
 */
import { accessSync, constants, existsSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { invalidArgument, SandboxError } from '../errors.ts';
import { sha256Hex } from '../framing/digest.ts';
import { ensurePrivateFolder } from '../host/ensure-writable-folder.ts';
import { listFolder } from '../host/list-folder.ts';
import { readBoundedFile } from '../host/read-bounded-file.ts';
import { PRIVATE_FILE } from '../host/replace-file.ts';
import { packagesFolder } from '../host/user-folders.ts';
import type { AddedPackage } from './added-packages.ts';
import { parseWheelName } from './check-wheel-contents.ts';
import type { DistributedPackage, PyodideLock } from './pyodide-lock.ts';
import { NATIVE_TAGS } from './python-abi.ts';
import { MAX_WHEEL_BYTES } from './read-zip.ts';
import { downloadForGuests, type PipFailure } from './run-pip.ts';
import { satisfies } from './version-specifiers.ts';
import { normalisedName, type Requirement } from './wheel-metadata.ts';

interface FoundWheel {
  readonly file: string;
  readonly bytes: Uint8Array;
  readonly source: AddedPackage['source'];
}

export interface WheelSources {
  /** Paths of wheels. */
  readonly files: readonly string[];
  readonly pip: boolean;
  /** URL or folder of Pyodide's distribution; undefined if it is not used. */
  readonly pyodideUrl: string | undefined;
  readonly pyodideLock: PyodideLock;
  /** Whether a program waits: without a network, the search ends soon. */
  readonly failsFast?: boolean;
  /** A download fails when the server sends nothing for this long. Default: 60 seconds. */
  readonly idleTimeoutMs?: number;
  /** A download from Pyodide's distribution ends after this time; the next one resumes it. Default: 10 minutes. */
  readonly downloadTimeoutMs?: number;
  /** The wheels that are accepted besides those of Pyodide's list; undefined if every wheel is. */
  readonly approved?: readonly Pick<AddedPackage, 'name' | 'sha256'>[];
  /** Receives the steps. `share` is the part of the work that is done, if it is known. */
  onStep(text: string, share?: number): void;
  /** Text that suggests a package with a similar name for an unknown one; empty if there is none. */
  suggest?(name: string): string;
}

const IDLE_TIMEOUT_MS = 60_000;
const DOWNLOAD_TIMEOUT_MS = 10 * 60_000;
const MAX_REDIRECTS = 5;
/** How long the server of the distribution may take to answer if a program waits. */
const REACHABLE_TIMEOUT_MS = 1000;
/** If it does not answer, pip waits this many seconds for its index, which may be a mirror. */
const OFFLINE_PIP_TIMEOUT_SECONDS = 2;
const UNREACHABLE = 'the network or the server is not reachable';

/** The index with the wheels that are built for Pyodide. */
const PYODIDE_INDEX = 'https://pypi.anaconda.org/pyodide/simple';

/** The URL of the files of a Pyodide release. */
export const pyodideUrl = ({ version }: PyodideLock) =>
  process.env['LLM_WASM_SANDBOX_PYODIDE_URL'] || `https://cdn.jsdelivr.net/pyodide/v${version}/full/`;

/** Finds a wheel for a requirement. With `sha256`, the wheel must have this digest. Throws if no source has one. */
export async function findWheel(
  requirement: Requirement,
  sources: WheelSources,
  sha256?: string,
): Promise<FoundWheel> {
  const { name, specifiers } = requirement;
  const local = sources.files.filter((path) => isWheelOf(path, requirement));
  for (const path of local) {
    const found = {
      file: path.split(/[\\/]/).at(-1)!,
      bytes: readBoundedFile(path, MAX_WHEEL_BYTES),
      source: 'file',
    } as const;
    if (isKnown(found, name, sources)) return checkDigest(found, name, sha256);
  }
  const distributed = sources.pyodideLock.packages.get(name);
  const problems: string[] = [];
  /** Whether a source has a wheel that is not approved. */
  let isUnapproved = local.length > 0;
  if (sources.files.length > 0 && local.length === 0) problems.push(localProblem(name, sources.files));
  /** Whether a source could not be queried, so that it may still have the package. */
  let isUncertain = false;
  let isOffline = false;
  const isReachable = !sources.failsFast || (await canReach(sources.pyodideUrl));
  if (sources.pip) {
    const outcome = await findWithPip(requirement, distributed, { ...sources, isReachable });
    if ('bytes' in outcome) {
      if (isKnown(outcome, name, sources)) return checkDigest(outcome, name, sha256);
      isUnapproved = true;
    } else {
      if (outcome.kind === 'no_space') throw noSpace(`a wheel of ${name}`, tmpdir());
      isUncertain ||= outcome.kind !== 'no_wheel';
      isOffline = outcome.kind === 'no_network';
      problems.push(`pip: ${pipProblem(outcome)}`);
    }
  }
  if (sources.pyodideUrl !== undefined) {
    if (distributed === undefined) problems.push("Pyodide's distribution does not contain it");
    else if (!satisfies(distributed.version, specifiers))
      problems.push(`Pyodide's distribution has version ${distributed.version}`);
    else {
      const outcome = isReachable
        ? await fetchDistributed(distributed, sources.pyodideUrl, sources)
        : UNREACHABLE;
      if (typeof outcome !== 'string')
        return checkDigest({ file: distributed.file_name, bytes: outcome, source: 'pyodide' }, name, sha256);
      isUncertain = true;
      isOffline &&= outcome.endsWith(UNREACHABLE);
      problems.push(`Pyodide's distribution: ${outcome}`);
    }
  }
  const suggestion = distributed === undefined ? (sources.suggest?.(name) ?? '') : '';
  if (isUnapproved) throw invalidArgument(unapproved(name, local[0]));
  if (isOffline)
    throw new SandboxError(
      'store_failed',
      `${offlineText(name, distributed !== undefined)} the network and the settings of pip, or pass the path of a wheel to "llm-wasm-sandbox packages add".${suggestion}`,
    );
  if (problems.length === 0) problems.push('pip and the Pyodide distribution are turned off');
  throw new SandboxError(
    isUncertain ? 'store_failed' : 'invalid_argument',
    `No wheel of ${name}${specifiers} for ${NATIVE_TAGS} was found (${problems.join('; ')}). ` +
      (isUncertain
        ? 'Check the network and the settings of pip and try again, or pass the path of a wheel.'
        : 'Pass the path of a wheel, or choose a package that is pure Python or built for this platform.') +
      suggestion,
  );
}

const offlineText = (name: string, isKnownName: boolean) =>
  isKnownName
    ? `${name} cannot be downloaded, because the package index of pip cannot be reached: check`
    : `Pyodide's list has no package ${name}, and the package index of pip cannot be reached: check the spelling,`;

const pipProblem = ({ kind, message, versions }: PipFailure) =>
  versions === undefined ? (PIP_PROBLEMS[kind] ?? message) : `it has only the versions ${versions}`;

const PIP_PROBLEMS: Readonly<Partial<Record<PipFailure['kind'], string>>> = {
  no_wheel: 'no wheel for this platform, and no pure Python wheel',
  no_network: 'the package index cannot be reached',
};

/** Whether a wheel may be used for a package without being asked for by a command. File names can lie about the package. */
function isKnown({ bytes }: FoundWheel, name: string, { approved, pyodideLock }: WheelSources): boolean {
  if (approved === undefined) return true;
  const digest = sha256Hex(bytes);
  const isApproved = approved.some((one) => one.name === name && one.sha256 === digest);
  return isApproved || pyodideLock.packages.get(name)?.sha256 === digest;
}

function unapproved(name: string, path = name): string {
  const operand = /^[\w./\\:+-]+$/.test(path) ? path : `'${path}'`;
  return (
    `The wheel of ${name} is not approved: it has an unknown digest, which is neither in Pyodide's list nor among those you have approved. ` +
    `To approve it, run "llm-wasm-sandbox packages lock ${operand}". ` +
    `To add it for every run, run "llm-wasm-sandbox packages add ${operand}".`
  );
}

const noSpace = (what: string, folder: string) =>
  new SandboxError(
    'store_failed',
    `There is not enough disk space in ${folder} to download ${what}. Free some space and try again.`,
  );

function isWheelOf(path: string, { name, specifiers }: Requirement): boolean {
  const wheel = parseWheelName(path.split(/[\\/]/).at(-1)!);
  return wheel !== undefined && normalisedName(wheel.name) === name && satisfies(wheel.version, specifiers);
}

/** Why none of these wheels is used: no wheel of the package, or only wheels of other versions. */
function localProblem(name: string, files: readonly string[]): string {
  const others = files
    .filter((path) => isWheelOf(path, { name, specifiers: '' }))
    .map((path) => parseWheelName(path.split(/[\\/]/).at(-1)!)!.version);
  return others.length === 0
    ? 'it is not among the given wheels'
    : `the given wheels have only the versions ${others.join(', ')}`;
}

function checkDigest(found: FoundWheel, name: string, expected: string | undefined): FoundWheel {
  const digest = sha256Hex(found.bytes);
  if (expected === undefined || digest === expected) return found;
  throw new SandboxError(
    'build_failed',
    `The wheel of ${name} from ${found.source} does not match: expected SHA-256 ${expected}, found ${digest}.`,
  );
}

const NO_DOWNLOAD: PipFailure = { kind: 'other', message: 'pip downloaded no wheel' };

/** Prefers the version that Pyodide distributes, which is known to work with the other packages. */
async function findWithPip(
  { name, specifiers }: Requirement,
  distributed: DistributedPackage | undefined,
  { onStep, isReachable }: WheelSources & { readonly isReachable: boolean },
): Promise<FoundWheel | PipFailure> {
  const isPreferred = distributed !== undefined && satisfies(distributed.version, specifiers);
  const preferred = isPreferred ? [`${name}==${distributed.version}`] : [];
  const wanted = [...new Set([...preferred, name + specifiers])];
  const common = isReachable ? [] : ['--timeout', String(OFFLINE_PIP_TIMEOUT_SECONDS)];
  const attempts = [
    ...wanted.map((requirement) => ({ requirement, flags: [] as string[], after: ['no_wheel', 'other'] })),
    ...(isReachable
      ? [{ requirement: wanted[0]!, flags: ['--index-url', PYODIDE_INDEX], after: ['no_wheel'] }]
      : []),
    // A folder of wheels can have another version than the one that could not be downloaded.
    ...wanted.slice(1).map((requirement) => ({ requirement, flags: ['--no-index'], after: ['no_network'] })),
  ];
  const folder = mkdtempSync(join(tmpdir(), 'llm-wasm-sandbox-'));
  try {
    let failure: PipFailure | undefined;
    for (const { requirement, flags, after } of attempts) {
      if (failure !== undefined && !after.includes(failure.kind)) continue;
      onStep(`pip: searching for ${requirement}`);
      const failed = await downloadForGuests(requirement, folder, [...common, ...flags]);
      const file = listFolder(folder).find((one) => isWheelOf(one, { name, specifiers }));
      if (failed === undefined && file !== undefined)
        return { file, bytes: readBoundedFile(join(folder, file), MAX_WHEEL_BYTES), source: 'pip' };
      // That another source has no wheel either does not replace the reason why there was no download.
      if (failure?.kind !== 'no_network' && failure?.versions === undefined) failure = failed ?? NO_DOWNLOAD;
    }
    return failure ?? NO_DOWNLOAD;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Whether the server of the distribution answers soon. */
async function canReach(base: string | undefined): Promise<boolean> {
  if (base === undefined || !/^https?:/.test(base)) return true;
  try {
    const signal = AbortSignal.timeout(REACHABLE_TIMEOUT_MS);
    await fetch(base, { method: 'HEAD', redirect: 'manual', signal });
    return true;
  } catch {
    return false;
  }
}

/** The bytes of a distributed wheel, or why it is unavailable. The next call resumes an interrupted download. */
async function fetchDistributed(
  { file_name, sha256 }: DistributedPackage,
  base: string,
  sources: WheelSources,
): Promise<Uint8Array | string> {
  const partial = join(packagesFolder(), 'downloads', sha256);
  try {
    sources.onStep(`Pyodide's distribution: downloading ${file_name}`);
    const bytes = /^https?:/.test(base)
      ? await download(new URL(file_name, base.endsWith('/') ? base : `${base}/`), partial, sources)
      : readBoundedFile(join(base, file_name), MAX_WHEEL_BYTES);
    const digest = sha256Hex(bytes);
    if (digest !== sha256) return `${file_name} has the SHA-256 ${digest}, expected ${sha256}`;
    return bytes;
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === 'ENOSPC' || code === 'EDQUOT') throw noSpace(file_name, packagesFolder());
    const reason = cause instanceof TypeError ? UNREACHABLE : message;
    return `${file_name} cannot be read from ${base}: ${reason}`;
  }
}

/** Downloads to a file, starting where an earlier download ended, and returns its contents. */
async function download(
  url: URL,
  partial: string,
  { idleTimeoutMs = IDLE_TIMEOUT_MS, downloadTimeoutMs = DOWNLOAD_TIMEOUT_MS }: WheelSources,
): Promise<Uint8Array> {
  const timeout = new AbortController();
  const abortAfter = (ms: number, problem: string) =>
    setTimeout(() => timeout.abort(new Error(`the server ${problem} ${ms / 1000} s`)), ms);
  const timer = abortAfter(idleTimeoutMs, 'sent nothing for');
  const total = abortAfter(downloadTimeoutMs, 'did not send all within');
  try {
    const stored = statSync(partial, { throwIfNoEntry: false })?.size ?? 0;
    let start = stored < MAX_WHEEL_BYTES ? stored : 0;
    let response = await request(url, start, timeout.signal);
    if (response.status === 416 && start > 0) {
      start = 0;
      timer.refresh();
      response = await request(url, start, timeout.signal);
    }
    const isResumed = response.status === 206 && start > 0;
    if (!response.ok || response.body === null) throw new Error(`status ${response.status}`);
    let size = isResumed ? start : 0;
    const limit = new Transform({
      transform(chunk: Uint8Array, _, done) {
        timer.refresh();
        size += chunk.length;
        done(size > MAX_WHEEL_BYTES ? new Error('it is too large') : null, chunk);
      },
    });
    ensurePrivateFolder(join(partial, '..'));
    // The file is opened first: a stream that opens it later could create it again after it has been deleted.
    const file = await open(partial, isResumed ? 'a' : 'w', PRIVATE_FILE);
    try {
      await pipeline(
        Readable.fromWeb(response.body as import('node:stream/web').ReadableStream),
        limit,
        file.createWriteStream(),
      );
    } catch (cause) {
      if (size > MAX_WHEEL_BYTES) rmSync(partial, { force: true });
      throw cause;
    }
  } catch (cause) {
    throw timeout.signal.aborted ? timeout.signal.reason : cause;
  } finally {
    clearTimeout(timer);
    clearTimeout(total);
  }
  const bytes = readBoundedFile(partial, MAX_WHEEL_BYTES);
  // A complete download is stored with the wheels; a damaged one must not be resumed.
  rmSync(partial, { force: true });
  return bytes;
}

/** Follows redirects within a server and to https. Others could lead to services that only this machine can reach. */
async function request(from: URL, start: number, signal: AbortSignal): Promise<Response> {
  const headers: Record<string, string> = start > 0 ? { range: `bytes=${start}-` } : {};
  let url = from;
  for (let redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
    const response = await fetch(url, { headers, signal, redirect: 'manual' });
    const location = response.headers.get('location');
    if (response.status < 300 || response.status > 399 || location === null) return response;
    await response.body?.cancel();
    const next = new URL(location, url);
    if (next.origin !== url.origin && next.protocol !== 'https:')
      throw new Error(`the server redirects to ${next.origin}, which is another server without https`);
    url = next;
  }
  throw new Error(`the server redirects more than ${MAX_REDIRECTS} times`);
}

/** The wheels at a path: the path itself or the wheels of a folder. */
export function wheelsAt(path: string): string[] {
  if (!existsSync(path))
    throw invalidArgument(`${path} does not exist. Pass a wheel, a folder of wheels or a package name.`);
  if (!statSync(path).isDirectory()) return [path];
  return wheelsIn(path);
}

const wheelsIn = (folder: string) =>
  listFolder(folder)
    .filter((name) => name.endsWith('.whl'))
    .map((name) => join(folder, name));

/** The wheels of a folder that may be missing. Files that cannot be read are left out. */
export const readableWheels = (folder: string): string[] => wheelsIn(folder).filter(isReadable);

function isReadable(path: string): boolean {
  try {
    accessSync(path, constants.R_OK);
    const stat = statSync(path);
    return stat.isFile() && stat.size <= MAX_WHEEL_BYTES;
  } catch {
    return false;
  }
}
