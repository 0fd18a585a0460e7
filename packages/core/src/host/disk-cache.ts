/**
 * A cache on disk for data that can be recomputed: downloaded packages, compiled and compressed layers, extended images,
 * prepared side modules. A damaged or unreadable file is a cache miss, and a failed write is ignored.
 *
 * <cache>/<kind>/<key> contains the bytes followed by the SHA-256 of the kind, the key and the bytes, so that a file under
 * another name is damaged.
 */
import { createHash, type Hash } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { DIGEST_BYTES } from '../framing/digest.ts';
import { allocateShared } from '../fs/shared-array-buffers.ts';
import { unpackCompanionFile } from './companion-package.ts';
import { ensurePrivateFolder } from './ensure-writable-folder.ts';
import { replaceFileSync } from './replace-file.ts';
import { cacheFolder } from './user-folders.ts';

/** Files per kind. The least recently used are deleted first. */
const MAX_FILES = { packages: 256, layers: 16, packs: 16, images: 16, modules: 1024 } as const;
/** Hashing this much takes a few milliseconds. */
const PART_BYTES = 1024 * 1024;
/** Windows lacks the flag. */
const READ_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
type CacheKind = keyof typeof MAX_FILES;
/** A larger file is damaged. Images, the largest files, take some hundred megabytes. */
const MAX_FILE_BYTES = 1024 * 1024 * 1024;

const digestOf = (kind: CacheKind, key: string) => createHash('sha256').update(`${kind}/${key}\n`);

/** The content of a file and the digest at its end. Nothing has the digest of a file that is too short. */
const parts = (bytes: Uint8Array) => {
  const content = bytes.subarray(0, Math.max(0, bytes.length - DIGEST_BYTES));
  return { content, digest: bytes.subarray(content.length) };
};

/** The cached bytes, in shared memory, or undefined. */
export function readCached(kind: CacheKind, key: string): Uint8Array | undefined {
  const path = join(cacheFolder(), kind, key);
  try {
    const { content, digest } = parts(readShared(path));
    if (!digestOf(kind, key).update(content).digest().equals(digest)) {
      rmSync(path, { force: true });
      return undefined;
    }
    const now = new Date();
    utimesSync(path, now, now);
    return content;
  } catch {
    return undefined;
  }
}

/**
 * Like `readCached`, for large files on the main thread: the file is read and verified in parts, and other work of the
 * thread runs between them. The companion package has some of what would otherwise be built; throws if it is damaged.
 */
export async function readCachedInParts(kind: CacheKind, key: string): Promise<Uint8Array | undefined> {
  return (await readOwnInParts(kind, key)) ?? unpackCompanionFile(`cache/${kind}/${key}.br`);
}

async function readOwnInParts(kind: CacheKind, key: string): Promise<Uint8Array | undefined> {
  const path = join(cacheFolder(), kind, key);
  try {
    const content = await readVerified(path, digestOf(kind, key));
    if (content === undefined) rmSync(path, { force: true });
    else utimesSync(path, new Date(), new Date());
    return content;
  } catch {
    return undefined;
  }
}

/** The contents of a file without the digest at its end, in shared memory; undefined if the digest does not match. */
async function readVerified(path: string, hash: Hash): Promise<Uint8Array | undefined> {
  const file = await open(path, READ_FLAGS);
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw new Error(`${path} is not a regular file.`);
    if (stat.size < DIGEST_BYTES || stat.size > MAX_FILE_BYTES) return undefined;
    const bytes = allocateShared(stat.size);
    const { content, digest } = parts(bytes);
    for (let at = 0; at < stat.size; ) {
      const { bytesRead } = await file.read(bytes, at, Math.min(PART_BYTES, stat.size - at), null);
      if (bytesRead === 0) throw new Error(`${path} was truncated while it was being read.`);
      hash.update(content.subarray(at, at + bytesRead));
      at += bytesRead;
    }
    return hash.digest().equals(digest) ? content : undefined;
  } finally {
    await file.close();
  }
}

/** Caches bytes under a key. Safe against concurrent writes by other processes. */
export function writeCached(kind: CacheKind, key: string, bytes: Uint8Array): void {
  const folder = join(cacheFolder(), kind);
  try {
    ensurePrivateFolder(folder);
    replaceFileSync(join(folder, key), Buffer.concat([bytes, digestOf(kind, key).update(bytes).digest()]));
    prune(folder, MAX_FILES[kind]);
  } catch {
    // The data is recomputed when it is needed again.
  }
}

function prune(folder: string, maxFiles: number): void {
  const files = readdirSync(folder).map((name) => join(folder, name));
  if (files.length <= maxFiles) return;
  const byAge = files
    .map((path) => ({ path, time: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .sort((a, b) => b.time - a.time);
  for (const { path } of byAge.slice(maxFiles)) rmSync(path, { force: true });
}

/** Reads a regular file into shared memory. Anything else could block or never end. */
function readShared(path: string): Uint8Array {
  const fd = openSync(path, READ_FLAGS);
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) throw new Error(`${path} is not a regular file.`);
    const { size } = stat;
    if (size > MAX_FILE_BYTES) throw new Error(`${path} is too large.`);
    const bytes = allocateShared(size);
    for (let at = 0; at < size; ) {
      const count = readSync(fd, bytes, at, size - at, null);
      if (count === 0) throw new Error(`${path} was truncated while it was being read.`);
      at += count;
    }
    return bytes;
  } finally {
    closeSync(fd);
  }
}
