/**
 * Files, or their first bytes, in memory that all threads of the process share. The thread that needs a file first reads it,
 * or the main thread does so in parts, ahead of the first thread. Untouched memory of a buffer takes no physical memory.
 */
import { closeSync, openSync, readSync } from 'node:fs';
import { open } from 'node:fs/promises';

export interface SharedFile {
  readonly path: string;
  /** Shared; filled by `readSharedFile`. */
  readonly bytes: Uint8Array;
  /** One shared word with a value of `STATE`. */
  readonly state: Int32Array;
}

/** `reading` and all greater values: each part that is read adds one. */
const STATE = { empty: 0, ready: 1, verified: 2, reading: 3 } as const;

/** The thread that was waited for may have ended, or may have other work. */
const PATIENCE_MS = 100;
/** Hashing this much takes a few milliseconds. */
const PART_BYTES = 1024 * 1024;

/** The first `size` bytes of a file, not read yet. */
export function sharedFile(path: string, size: number): SharedFile {
  return {
    path,
    bytes: new Uint8Array(new SharedArrayBuffer(size)),
    state: new Int32Array(new SharedArrayBuffer(4)),
  };
}

/** Bytes in shared memory that need not be read. */
export function sharedBytes(bytes: Uint8Array): SharedFile {
  return { path: '', bytes, state: new Int32Array(new SharedArrayBuffer(4)).fill(STATE.ready) };
}

/** Whether the digest of the file has been verified. What that is, and verifying it, is up to the caller. */
export const isVerified = ({ state }: SharedFile) => Atomics.load(state, 0) === STATE.verified;

export function markVerified({ state }: SharedFile): void {
  Atomics.store(state, 0, STATE.verified);
}

const isRead = (state: number) => state === STATE.ready || state === STATE.verified;

/** Reads the file unless another thread has read it, and returns its bytes. Waits while another thread reads it. */
export function readSharedFile({ path, bytes, state }: SharedFile): Uint8Array {
  const found = Atomics.compareExchange(state, 0, STATE.empty, STATE.reading);
  if (isRead(found !== STATE.empty ? waitWhile(state, (value) => value >= STATE.reading) : found))
    return bytes;
  let next: number = STATE.empty;
  try {
    readInto(path, 0, bytes);
    next = STATE.ready;
  } finally {
    Atomics.store(state, 0, next);
    Atomics.notify(state, 0);
  }
  return bytes;
}

/**
 * Reads the file in parts, on the main thread, unless a thread has begun to read it. `isValid` receives the parts in turn, and
 * finally none. The file counts as verified if it then returns true.
 */
export async function readSharedFileAhead(
  { path, bytes, state }: SharedFile,
  isValid: (part?: Uint8Array) => boolean,
): Promise<void> {
  if (Atomics.compareExchange(state, 0, STATE.empty, STATE.reading) !== STATE.empty) return;
  let seen: number = STATE.reading;
  /** False if a thread reads the file itself, because it has waited for too long. */
  const advance = (next: number) => {
    const isOwn = Atomics.compareExchange(state, 0, seen, next) === seen;
    Atomics.notify(state, 0);
    seen = next;
    return isOwn;
  };
  const read = readParts(path, (part) => isValid(part) && advance(seen + 1), bytes).catch(() => undefined);
  const isComplete = (await read) !== undefined;
  advance(isComplete && isValid() ? STATE.verified : STATE.empty);
}

/** Reads bytes of a file from `offset` on until the buffer is full. */
export function readInto(path: string, offset: number, into: Uint8Array): void {
  const fd = openSync(path, 'r');
  try {
    for (let at = 0; at < into.length; ) {
      const count = readSync(fd, into, at, into.length - at, offset + at);
      if (count === 0) throw new Error('the file is cut off');
      at += count;
    }
  } finally {
    closeSync(fd);
  }
}

/** Reads a file in parts, until `onPart` returns false. With a buffer, only as many bytes as it holds. Undefined if incomplete. */
export async function readParts(
  path: string,
  onPart: (part: Uint8Array) => boolean,
  buffer?: Uint8Array,
): Promise<Uint8Array | undefined> {
  const file = await open(path);
  try {
    const into = buffer ?? new Uint8Array((await file.stat()).size);
    for (let at = 0; at < into.length; ) {
      const { bytesRead } = await file.read(into, at, Math.min(PART_BYTES, into.length - at), at);
      if (bytesRead === 0 || !onPart(into.subarray(at, at + bytesRead))) return undefined;
      at += bytesRead;
    }
    return into;
  } finally {
    await file.close();
  }
}

/**
 * Waits until the word has a value that is not a step of the work of another thread. Returns the last value: a step if there was
 * no progress.
 */
export function waitWhile(word: Int32Array, isStep: (value: number) => boolean): number {
  let value = Atomics.load(word, 0);
  while (isStep(value) && Atomics.wait(word, 0, value, PATIENCE_MS) !== 'timed-out')
    value = Atomics.load(word, 0);
  return value;
}
