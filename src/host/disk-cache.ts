/**
 * A cache on disk for data that can be recomputed: downloaded packages, compiled layers, compressed layers, extended images, prepared side modules. Reads and writes
 * never throw: a damaged or unreadable file is a cache miss, and a failed write is ignored.
 *
 * <cache>/<kind>/<key> contains the bytes followed by their SHA-256.
 */
import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs';
import { join } from 'node:path';
import { sha256, splitDigest } from '../framing/digest.ts';
import { allocateShared } from '../fs/shared-bytes.ts';
import { replaceFileSync } from './replace-file.ts';
import { cacheFolder } from './user-folders.ts';

/** Files per kind. The least recently used are deleted first. */
const MAX_FILES = { packages: 256, layers: 16, packs: 16, images: 16, modules: 1024 } as const;
/** Windows lacks the flag. */
const READ_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
type CacheKind = keyof typeof MAX_FILES;

/** The cached bytes, in shared memory, or undefined. */
export function readCached(kind: CacheKind, key: string): Uint8Array | undefined {
  const path = join(cacheFolder(), kind, key);
  try {
    const verified = splitDigest(readShared(path));
    if (verified === undefined) {
      rmSync(path, { force: true });
      return undefined;
    }
    const now = new Date();
    utimesSync(path, now, now);
    return verified.content;
  } catch {
    return undefined;
  }
}

/** Caches bytes under a key. Safe against concurrent writes by other processes. */
export function writeCached(kind: CacheKind, key: string, bytes: Uint8Array): void {
  const folder = join(cacheFolder(), kind);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    replaceFileSync(join(folder, key), Buffer.concat([bytes, sha256(bytes)]));
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
