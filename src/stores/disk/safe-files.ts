/**
 * Files of a store, read with suspicion and written so that a crash leaves the old file or the new one. Nothing here
 * follows a link in the last component of a path, waits for a pipe, or reads more than it was told to expect.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, read, readSync } from 'node:fs';
import { lstat, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { SandboxError } from '../../errors.ts';

const readLater = promisify(read);

/** Windows has neither flag, nor links that an ordinary user could make. */
const READ = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Files and folders of a store are for their owner alone. */
export const FILE_MODE = 0o600;
export const FOLDER_MODE = 0o700;

export function codeOf(error: unknown): string | undefined {
  return (error as NodeJS.ErrnoException | undefined)?.code;
}

export const isAbsent = (error: unknown) => codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR';

export function damaged(path: string, problem: string, cause?: unknown): SandboxError {
  return new SandboxError('session_damaged', `${path} ${problem}.`, { cause });
}

const ADVICE: Readonly<Record<string, string>> = {
  ENOSPC: 'The disk is full: free some space, delete sessions or checkpoints, and try again',
  EDQUOT: 'Your quota on this disk is used up: free some space and try again',
  EFBIG:
    'The file would be larger than the system allows this process: raise that limit or delete large files',
  EACCES: 'This process lacks the permission: make the folder writable for it, or use another one',
  EPERM: 'This process lacks the permission: make the folder writable for it, or use another one',
  EROFS: 'The disk is mounted read-only: use a folder on another one',
  EMFILE: 'This process has too many files open: raise its limit or use fewer sessions at a time',
  ENFILE: 'The system has too many files open: try again later',
};

/** What a failed operation is to the caller: SandboxErrors stay as they are, the rest says what to do. */
export function storeFailure(error: unknown, doing: string): SandboxError {
  if (error instanceof SandboxError) return error;
  const code = codeOf(error);
  if (code === undefined) {
    return new SandboxError('internal', `Could not ${doing}: ${String(error)}`, { cause: error });
  }
  const advice = ADVICE[code] ?? 'Check that the folder of the store is usable, and try again';
  const reason = (error as Error).message;
  return new SandboxError('store_failed', `Could not ${doing}: ${reason}. ${advice}.`, { cause: error });
}

export interface Expected {
  /** More is refused before anything is read. */
  readonly maxBytes: number;
  /** Any other size is refused, too. */
  readonly exactBytes?: number;
  /** Read into shared memory. */
  readonly shared?: boolean;
}

/** Files up to this size are read at once: that takes less time than to ask a thread to do it. */
const SMALL_BYTES = 256 * 1024;

/** A regular file's bytes, or undefined when there is no such file. Throws `session_damaged` for anything else. */
export async function readFileSafely(path: string, expected: Expected): Promise<Uint8Array | undefined> {
  let fd: number;
  try {
    fd = openSync(path, READ);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    if (codeOf(error) === 'ELOOP') throw damaged(path, 'is a link, which is not followed', error);
    throw error;
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) throw damaged(path, 'is not a regular file');
    const { maxBytes, exactBytes = stat.size, shared = false } = expected;
    if (stat.size > maxBytes) throw damaged(path, `has ${stat.size} bytes, more than ${maxBytes}`);
    if (stat.size !== exactBytes) throw damaged(path, `has ${stat.size} bytes instead of ${exactBytes}`);
    const bytes = new Uint8Array(shared ? new SharedArrayBuffer(exactBytes) : new ArrayBuffer(exactBytes));
    for (let at = 0; at < bytes.length; ) {
      const rest = bytes.length - at;
      const count =
        rest > SMALL_BYTES
          ? (await readLater(fd, bytes, at, rest, at)).bytesRead
          : readSync(fd, bytes, at, rest, at);
      if (count === 0) throw damaged(path, 'became shorter while it was read');
      at += count;
    }
    return bytes;
  } finally {
    closeSync(fd);
  }
}

export interface Staging {
  /** The file's time, instead of now. */
  readonly mtimeMs?: number;
  /** Leave it to the system when the file reaches the disk. */
  readonly lazy?: boolean;
}

/** Writes a new file with a name of its own into `folder`, down to the disk, and returns its path. */
export async function stageFile(folder: string, bytes: Uint8Array, how: Staging = {}): Promise<string> {
  const { mtimeMs, lazy = false } = how;
  const path = join(folder, randomUUID());
  const file = await open(path, 'wx', FILE_MODE);
  try {
    for (let at = 0; at < bytes.length; ) {
      at += (await file.write(bytes, at, bytes.length - at, at)).bytesWritten;
    }
    // A time the file system cannot hold is no reason to fail; the file then has the time of its writing.
    if (mtimeMs !== undefined) await file.utimes(mtimeMs / 1000, mtimeMs / 1000).catch(() => {});
    if (!lazy) await file.sync();
  } catch (error) {
    await file.close();
    await rm(path, { force: true });
    throw error;
  }
  await file.close();
  return path;
}

/** Puts a file in place: whoever looks sees all of the old one or all of the new one. */
export async function replaceFile(
  staging: string,
  path: string,
  bytes: Uint8Array,
  how?: Staging,
): Promise<void> {
  const staged = await stageFile(staging, bytes, how);
  try {
    await rename(staged, path);
  } catch (error) {
    await rm(staged, { force: true });
    throw error;
  }
}

/** Makes renames and removals in a folder survive a loss of power, where the system can do that. */
export async function syncFolder(path: string, { lazy = false }: Staging): Promise<void> {
  if (lazy || process.platform === 'win32') return;
  const folder = await open(path, constants.O_RDONLY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Makes sure that `path` is a real folder, whose parent exists. */
export async function ensureFolder(path: string): Promise<void> {
  try {
    await mkdir(path, FOLDER_MODE);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    // A folder that is gone again by now is the caller's concern: ENOENT, as for any other absence.
    if (!(await lstat(path)).isDirectory()) throw damaged(path, 'is not a folder');
  }
}

/** Makes a folder and those it lies in. Unlike mkdir's own way it ends where a system, as Linux in /proc, refuses. */
export async function ensureFolders(path: string): Promise<void> {
  const make = () => mkdir(path, FOLDER_MODE);
  await make()
    .catch(async (error) => {
      if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
      await ensureFolders(dirname(path));
      await make();
    })
    .catch(async (error) => {
      // Unlike the folders of a session, the one of the store may be a link to one.
      if (codeOf(error) !== 'EEXIST' || !(await stat(path)).isDirectory()) throw error;
    });
}

/** Whether there is a real folder, not a link to one. */
export async function isFolder(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isDirectory();
  } catch (error) {
    if (isAbsent(error)) return false;
    throw error;
  }
}

/** Runs `work` for all items, a few at a time; fails with the first failure once all that were begun have ended. */
export async function inParallel<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const queue = items[Symbol.iterator]();
  let failure: { readonly error: unknown } | undefined;
  let done = 0;
  const lane = async () => {
    for (let next = queue.next(); !next.done && failure === undefined; next = queue.next()) {
      await work(next.value).catch((error) => {
        failure ??= { error };
      });
      // Work that never waits would keep everybody else in the process from theirs.
      if (++done % 100 === 0) await pause();
    }
  };
  await Promise.all(Array.from({ length: 8 }, lane));
  if (failure !== undefined) throw failure.error;
}
