/**
 * An edit of a file tree as a few texts and buffers, for messages between threads and processes. Cloning one object per file
 * is slow, and Node.js searches all shared buffers of a message for each of them. Both directions work part by part, so that
 * the main thread can do other work in between. The other side is not trusted.
 */
import { SandboxError } from '../errors.ts';
import { isEncodable, isLongerThan, isWorkspacePath, MAX_PATH_BYTES } from './file-names.ts';
import { MAX_TIME_MS } from './flat-entries.ts';
import type { Entry, TreeEdit } from './nodes.ts';
import { allocateShared, MIN_SHARED_BYTES } from './shared-array-buffers.ts';

export interface PackedPart {
  /** JSON text: the paths to remove, and a row for each entry. */
  readonly rows: string;
  /** The contents of small files, one after another. */
  readonly small: Uint8Array;
  /** The contents of the other files. */
  readonly large: readonly Uint8Array[];
}

export type PackedEdit = readonly PackedPart[];

/** The last field is the size of a file or the target of a link. */
type Row = readonly [path: string, kind: number, mode: number, mtimeMs: number, content?: number | string];

const KINDS = ['file', 'dir', 'symlink'] as const;
/** What one part contains at most, except for a single entry that exceeds it. */
const PART = { paths: 500, chars: 128 * 1024, bytes: 1024 * 1024 } as const;

/** Yields after each part. */
export function* packEdit({ removed, entries }: TreeEdit): Generator<undefined, PackedEdit> {
  const parts: PackedPart[] = [];
  for (const paths of batches(
    removed,
    (path) => path.length,
    () => 0,
  )) {
    parts.push({ rows: JSON.stringify([paths, []]), small: allocateShared(0), large: [] });
    yield;
  }
  for (const batch of batches(entries, charsOf, smallBytes)) {
    parts.push(packEntries(batch));
    yield;
  }
  return parts;
}

const charsOf = ({ path, target }: Entry) => path.length + (target?.length ?? 0);
const smallBytes = ({ data }: Entry) =>
  data !== undefined && data.length < MIN_SHARED_BYTES ? data.length : 0;

function* batches<T>(
  items: readonly T[],
  chars: (item: T) => number,
  bytes: (item: T) => number,
): Generator<readonly T[]> {
  let start = 0;
  let room = { chars: PART.chars as number, bytes: PART.bytes as number };
  for (const [i, item] of items.entries()) {
    const left = { chars: room.chars - chars(item), bytes: room.bytes - bytes(item) };
    const isFull = i - start >= PART.paths || left.chars < 0 || left.bytes < 0;
    if (isFull && i > start) {
      yield items.slice(start, i);
      start = i;
      room = { chars: PART.chars - chars(item), bytes: PART.bytes - bytes(item) };
    } else room = left;
  }
  if (start < items.length) yield items.slice(start);
}

function packEntries(entries: readonly Entry[]): PackedPart {
  const small = allocateShared(entries.reduce((sum, entry) => sum + smallBytes(entry), 0));
  const large: Uint8Array[] = [];
  let at = 0;
  const rows = entries.map(({ path, kind, mode, mtimeMs, data, target }): Row => {
    if (data !== undefined && data.length >= MIN_SHARED_BYTES) large.push(data);
    else if (data !== undefined) {
      small.set(data, at);
      at += data.length;
    }
    const content = data?.length ?? target;
    const kindNumber = KINDS.indexOf(kind);
    return content === undefined
      ? [path, kindNumber, mode, mtimeMs]
      : [path, kindNumber, mode, mtimeMs, content];
  });
  return { rows: JSON.stringify([[], rows]), small, large };
}

/** Yields the edit of each part. Small contents are copied, so that a file does not keep others in memory. */
export function* unpackEdit(packed: PackedEdit): Generator<TreeEdit> {
  for (const part of packed) yield unpackPart(part);
}

/** The whole edit at once. */
export function unpackWholeEdit(packed: PackedEdit): TreeEdit {
  const parts = [...unpackEdit(packed)];
  return {
    removed: parts.flatMap(({ removed }) => removed),
    entries: parts.flatMap(({ entries }) => entries),
  };
}

function unpackPart({ rows, small, large }: PackedPart): TreeEdit {
  const [removed, entries] = parseRows(rows);
  let at = 0;
  let nextLarge = 0;
  const contentOf = (size: number) => {
    if (size >= MIN_SHARED_BYTES) return large[nextLarge++];
    at += size;
    return at <= small.length ? new Uint8Array(small.subarray(at - size, at)) : undefined;
  };
  if (!removed.every(isPath)) throw invalid();
  return {
    removed,
    entries: entries.map((row) => {
      const [path, kindNumber, mode, mtimeMs, content] = row;
      const kind = KINDS[kindNumber];
      const isValid =
        isPath(path) &&
        Number.isInteger(mode) &&
        mode >= 0 &&
        mode <= 0o7777 &&
        Math.abs(mtimeMs) <= MAX_TIME_MS;
      if (!isValid) throw invalid();
      if (kind === 'dir' && content === undefined) return { path, kind, mode, mtimeMs };
      if (kind === 'symlink' && isTarget(content)) return { path, kind, mode, mtimeMs, target: content };
      const size = Number.isSafeInteger(content) ? (content as number) : -1;
      const data = kind === 'file' && size >= 0 ? contentOf(size) : undefined;
      if (kind !== 'file' || data?.length !== size) throw invalid();
      return { path, kind, mode, mtimeMs, data };
    }),
  };
}

function parseRows(text: string): [removed: string[], entries: Row[]] {
  const value: unknown = JSON.parse(text);
  const isValid =
    Array.isArray(value) &&
    value.length === 2 &&
    value.every(Array.isArray) &&
    value[1]!.every(Array.isArray);
  if (!isValid) throw invalid();
  return value as [string[], Row[]];
}

const isPath = (path: unknown) => typeof path === 'string' && isWorkspacePath(path);
const isTarget = (target: unknown): target is string =>
  typeof target === 'string' &&
  target !== '' &&
  isEncodable(target) &&
  !isLongerThan(target, MAX_PATH_BYTES - 1);

const invalid = () => new SandboxError('internal', 'A worker sent a list of files that is invalid.');
