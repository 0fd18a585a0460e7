/**
 * Reading untrusted files, and replacing files atomically so that a crash leaves either the old or the new file. No
 * function follows a symbolic link in the last path component, blocks on a pipe, or reads more than the expected size.
 */
import { randomUUID } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, read, readSync } from 'node:fs';
import { lstat, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { allocateShared } from '../../fs/shared-array-buffers.ts';
import { formatCount, formatItems } from '../../quantities.ts';
import { damaged } from '../format/stored-json.ts';
import { codeOf, isNotFound } from './file-errors.ts';

const readAsync = promisify(read);

/** Windows lacks both flags. It also does not let ordinary users create symbolic links. */
const READ_FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Only the owner can access the files and folders of a store. */
export const FILE_MODE = 0o600;
export const FOLDER_MODE = 0o700;

/** What a completed write survives: a power failure (`strict`), or only the end of the process (`relaxed`). */
export type Durability = 'strict' | 'relaxed';

interface ReadFileOptions {
  /** A larger file is rejected before it is read. */
  readonly maxBytes: number;
  /** A file of any other size is rejected as well. */
  readonly exactBytes?: number;
  /** Read into shared memory. */
  readonly shared?: boolean;
}

/** Smaller reads are synchronous because that is faster than a round trip through the thread pool. */
const SYNC_READ_BYTES = 256 * 1024;

/** Reads a regular file; undefined if it does not exist. Throws `session_damaged` for anything but a regular file. */
export async function readFileSafely(
  path: string,
  options: ReadFileOptions,
): Promise<Uint8Array | undefined> {
  let fd: number;
  try {
    fd = openSync(path, READ_FLAGS);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    if (codeOf(error) === 'ELOOP') throw damaged(path, 'is a symbolic link, which is not followed', error);
    throw error;
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) throw damaged(path, 'is not a regular file');
    const { maxBytes, exactBytes = stat.size, shared = false } = options;
    if (stat.size > maxBytes)
      throw damaged(path, `has ${formatItems(stat.size, 'byte')}; the maximum is ${formatCount(maxBytes)}`);
    if (stat.size !== exactBytes)
      throw damaged(path, `has ${formatItems(stat.size, 'byte')} instead of ${formatCount(exactBytes)}`);
    const bytes = shared ? allocateShared(exactBytes) : new Uint8Array(exactBytes);
    for (let at = 0; at < bytes.length; ) {
      const remaining = bytes.length - at;
      const count =
        remaining > SYNC_READ_BYTES
          ? (await readAsync(fd, bytes, at, remaining, at)).bytesRead
          : readSync(fd, bytes, at, remaining, at);
      if (count === 0) throw damaged(path, 'was truncated while it was being read');
      at += count;
    }
    return bytes;
  } finally {
    closeSync(fd);
  }
}

interface WriteOptions {
  readonly durability: Durability;
  /** Modification time of the file; by default the current time. */
  readonly mtimeMs?: number;
}

/** Writes a new file with a unique name into `folder` and returns its path. */
export async function stageFile(folder: string, bytes: Uint8Array, options: WriteOptions): Promise<string> {
  const { durability, mtimeMs } = options;
  const path = join(folder, randomUUID());
  const file = await open(path, 'wx', FILE_MODE);
  try {
    for (let at = 0; at < bytes.length; ) {
      at += (await file.write(bytes, at, bytes.length - at, at)).bytesWritten;
    }
    // If the file system cannot represent the time, the file keeps the current time.
    if (mtimeMs !== undefined) await file.utimes(mtimeMs / 1000, mtimeMs / 1000).catch(() => {});
    if (durability === 'strict') await file.sync();
  } catch (error) {
    await file.close();
    await rm(path, { force: true });
    throw error;
  }
  await file.close();
  return path;
}

/** Replaces a file atomically: a reader sees all of the old file or all of the new one. */
export async function replaceFile(
  staging: string,
  path: string,
  bytes: Uint8Array,
  durability: Durability,
): Promise<void> {
  const staged = await stageFile(staging, bytes, { durability });
  try {
    await rename(staged, path);
  } catch (error) {
    await rm(staged, { force: true });
    throw error;
  }
}

/** Flushes renames and removals in a folder to the disk, where the platform supports it. */
export async function syncFolder(path: string, durability: Durability): Promise<void> {
  if (durability === 'relaxed' || process.platform === 'win32') return;
  const folder = await open(path, constants.O_RDONLY);
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

/** Creates a folder unless it exists; its parent must exist. Throws `session_damaged` if `path` is not a folder. */
export async function ensureFolder(path: string): Promise<void> {
  try {
    await mkdir(path, FOLDER_MODE);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
    // If the folder was deleted in the meantime, lstat throws ENOENT, which callers handle.
    if (!(await lstat(path)).isDirectory()) throw damaged(path, 'is not a folder');
  }
}

/**
 * Creates a folder and its missing parents; the last one may be a symbolic link to a folder. Unlike the recursive mode
 * of mkdir, it terminates where a system refuses to create folders, such as /proc on Linux.
 */
export async function ensureFolderPath(path: string): Promise<void> {
  const create = () => mkdir(path, FOLDER_MODE);
  await create()
    .catch(async (error) => {
      if (codeOf(error) !== 'ENOENT' || dirname(path) === path) throw error;
      await ensureFolderPath(dirname(path));
      await create();
    })
    .catch(async (error) => {
      if (codeOf(error) !== 'EEXIST' || !(await stat(path)).isDirectory()) throw error;
    });
}

/** Whether `path` is a folder and not a symbolic link to one. */
export async function isFolder(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isDirectory();
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
