/**
 * Things that can be made again, kept on disk so that they need not be: fetched packages, compiled layers, warm images.
 * A file that is damaged, unreadable or cannot be written is as good as absent; nothing here ever fails a caller.
 *
 * <cache>/<kind>/<key>: the bytes, then their SHA-256.
 */
import { createHash, randomUUID } from 'node:crypto';
import {
  closeSync,
  fstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from './user-folders.ts';

/** How many files of each kind are kept; those used longest ago go first. */
const KEPT = { packages: 256, layers: 16, images: 16 } as const;
export type CacheKind = keyof typeof KEPT;

const DIGEST_BYTES = 32;

const digest = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest();

/** The bytes kept under a key, in shared memory, or undefined. */
export function readCached(kind: CacheKind, key: string): Uint8Array | undefined {
  const path = join(cacheFolder(), kind, key);
  try {
    const whole = readShared(path);
    const bytes = whole.subarray(0, whole.length - DIGEST_BYTES);
    if (!digest(bytes).equals(whole.subarray(bytes.length))) {
      rmSync(path, { force: true });
      return undefined;
    }
    const now = new Date();
    utimesSync(path, now, now);
    return bytes;
  } catch {
    return undefined;
  }
}

/** Keeps bytes under a key; another process that does the same at the same time does no harm. */
export function writeCached(kind: CacheKind, key: string, bytes: Uint8Array): void {
  const folder = join(cacheFolder(), kind);
  const path = join(folder, key);
  const unfinished = `${path}.${randomUUID()}`;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(unfinished, Buffer.concat([bytes, digest(bytes)]));
    renameSync(unfinished, path);
    prune(folder, KEPT[kind]);
  } catch {
    rmSync(unfinished, { force: true });
  }
}

function prune(folder: string, keep: number): void {
  const files = readdirSync(folder).map((name) => join(folder, name));
  if (files.length <= keep) return;
  const byAge = files
    .map((path) => ({ path, time: statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0 }))
    .sort((a, b) => b.time - a.time);
  for (const { path } of byAge.slice(keep)) rmSync(path, { force: true });
}

/** Reads a file straight into shared memory. */
export function readShared(path: string): Uint8Array {
  const fd = openSync(path, 'r');
  try {
    const { size } = fstatSync(fd);
    const bytes = new Uint8Array(new SharedArrayBuffer(size));
    for (let at = 0; at < size; ) {
      const count = readSync(fd, bytes, at, size - at, null);
      if (count === 0) throw new Error(`${path} became shorter while it was read.`);
      at += count;
    }
    return bytes;
  } finally {
    closeSync(fd);
  }
}
