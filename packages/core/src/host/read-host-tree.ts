/**
 * Reads a file or folder of the host into entries for a read-only layer. Only regular files and folders are read: links,
 * sockets and devices are skipped, so that nothing outside the given path is included.
 */
import {
  type BigIntStats,
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { SandboxError } from '../errors.ts';
import type { Entry } from '../fs/flat-entries.ts';
import { allocateShared } from '../fs/shared-array-buffers.ts';
import { formatBytes, formatCount } from '../quantities.ts';

/** Limits, because the tree is held in memory. */
const MAX_TREE_BYTES = 1024 * 1024 * 1024;
const MAX_TREE_FILES = 100_000;

export interface HostTree {
  readonly entries: readonly Entry[];
  /** The path is a file; it is the only entry. */
  readonly isFile: boolean;
  /** Identifies the version of each entry that was read, by path. */
  readonly versions: ReadonlyMap<string, string>;
}

interface ReadTreeOptions {
  /**
   * An earlier result for the same path. Files that have not changed since are taken from it; if no file has changed,
   * the whole tree is.
   */
  readonly previous?: HostTree | undefined;
  /** Whether contents are in shared memory. */
  readonly isShared?: boolean;
  /** The option that holds the path, for error messages. */
  readonly option?: string;
}

/** Reads the tree at `hostPath`. */
export function readHostTree(
  hostPath: string,
  { previous, isShared = true, option = 'policy.mounts' }: ReadTreeOptions = {},
): HostTree {
  const root = resolve(hostPath, option);
  const known = new Map(previous?.entries.map((entry) => [entry.path, entry]));
  const entries: Entry[] = [];
  const versions = new Map<string, string>();
  let bytes = 0;
  let isSame = previous !== undefined;
  const add = (path: string, from: string, kind: 'file' | 'dir') => {
    const stat = lstatSync(from, { bigint: true });
    if (kind === 'file') bytes += Number(stat.size);
    if (bytes > MAX_TREE_BYTES || entries.length >= MAX_TREE_FILES) {
      const limit = `${formatBytes(MAX_TREE_BYTES)} or ${formatCount(MAX_TREE_FILES)} files`;
      throw new SandboxError(
        'quota_exceeded',
        `${option}: ${hostPath} exceeds ${limit}. Choose a smaller folder.`,
        {
          publicMessage: `${option}: a folder on the host exceeds ${limit}. Choose a smaller one.`,
        },
      );
    }
    const version = `${kind} ${fileVersion(stat)}`;
    versions.set(path, version);
    const old = previous?.versions.get(path) === version ? known.get(path) : undefined;
    isSame &&= old !== undefined;
    entries.push(old ?? readEntry(path, from, kind, Number(stat.mtimeNs / 1000n) / 1000, isShared));
  };
  const walk = (dir: string, prefix: string) => {
    for (const found of readdirSync(dir, { withFileTypes: true }) as Dirent[]) {
      const path = prefix + found.name;
      const from = join(dir, found.name);
      if (found.isFile()) add(path, from, 'file');
      if (!found.isDirectory()) continue;
      add(path, from, 'dir');
      walk(from, `${path}/`);
    }
  };
  const isFile = lstatSync(root).isFile();
  if (isFile) add(basename(root), root, 'file');
  else walk(root, '');
  if (isSame && previous!.entries.length === entries.length && previous!.isFile === isFile) return previous!;
  return { entries, isFile, versions };
}

function readEntry(
  path: string,
  from: string,
  kind: 'file' | 'dir',
  mtimeMs: number,
  isShared: boolean,
): Entry {
  if (kind === 'dir') return { path, kind, mode: 0o555, mtimeMs };
  return { path, kind, mode: 0o444, mtimeMs, data: readBytes(from, isShared) };
}

/** Reads a file without following a link that has replaced it. */
function readBytes(path: string, isShared: boolean): Uint8Array {
  const fd = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0));
  try {
    const { size } = fstatSync(fd);
    const bytes = isShared ? allocateShared(size) : new Uint8Array(size);
    let at = 0;
    for (let count = -1; count !== 0 && at < bytes.length; at += count)
      count = readSync(fd, bytes, at, bytes.length - at, at);
    // A file that was truncated meanwhile ends where the data ended.
    return at === bytes.length ? bytes : bytes.subarray(0, at);
  } finally {
    closeSync(fd);
  }
}

function resolve(hostPath: string, option: string): string {
  try {
    return realpathSync(hostPath);
  } catch {
    throw new SandboxError(
      'invalid_argument',
      `${option}: ${JSON.stringify(hostPath)} does not exist on the host.`,
      { publicMessage: `${option}: a path does not exist on the host.` },
    );
  }
}

/** On file systems with coarse timestamps, a younger file can change again and keep its version. */
const UNSETTLED_MS = 3_000;

/** Identifies the version of a file. */
export function fileVersion({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string {
  return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
}

/** Whether every later change to the file changes its version. */
export function isSettled({ mtimeNs, ctimeNs }: BigIntStats): boolean {
  const changedMs = Number((mtimeNs > ctimeNs ? mtimeNs : ctimeNs) / 1_000_000n);
  return Math.abs(Date.now() - changedMs) > UNSETTLED_MS;
}
