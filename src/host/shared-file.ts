/**
 * Files, or their first bytes, in memory that all threads of the process share. The thread that needs a file first reads
 * it; the main thread only allocates the memory. Untouched memory of a buffer takes no physical memory.
 */
import { closeSync, openSync, readSync } from 'node:fs';

export interface SharedFile {
  readonly path: string;
  /** Shared; filled by `readSharedFile`. */
  readonly bytes: Uint8Array;
  /** One shared word with a value of `STATE`. */
  readonly state: Int32Array;
}

const STATE = { empty: 0, reading: 1, ready: 2 } as const;
/** A thread that is terminated while it reads does not finish. After this time another thread reads the file. */
const MAX_WAIT_MS = 5_000;

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

/** Reads the file unless another thread has read it, and returns its bytes. Blocks while another thread reads it. */
export function readSharedFile({ path, bytes, state }: SharedFile): Uint8Array {
  if (Atomics.load(state, 0) === STATE.ready) return bytes;
  if (Atomics.compareExchange(state, 0, STATE.empty, STATE.reading) !== STATE.empty)
    Atomics.wait(state, 0, STATE.reading, MAX_WAIT_MS);
  if (Atomics.load(state, 0) === STATE.ready) return bytes;
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
