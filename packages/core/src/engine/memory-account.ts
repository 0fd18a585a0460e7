/**
 * The memory of a call: what its processes and its pipes take together, with one limit. Whatever takes memory asks here first,
 * so the sum never exceeds the limit. Guests that the thread has dropped take memory until the garbage collector frees it: it
 * runs before the sum with them would exceed the limit.
 */
import { collectGarbage } from '../host/collect-garbage.ts';

/** Memory of dropped guests in this thread. Some of it may have been freed in the meantime. */
let droppedBytes = 0;

/** Counts the memory of a guest to which nothing refers any longer. */
export function dropMemory({ buffer }: WebAssembly.Memory): void {
  droppedBytes += buffer.byteLength;
}

/** Frees the memory of dropped guests if it is more than `bytes`. */
export function freeDroppedMemory(bytes: number): void {
  if (droppedBytes <= bytes) return;
  droppedBytes = 0;
  collectGarbage();
}

export class MemoryAccount {
  readonly #memories = new Set<WebAssembly.Memory>();
  #peakBytes = 0;
  /** Bytes of copies of memories (see memory-copy.ts). */
  copiedBytes = 0;
  /** Tries to give memory back until this many bytes are free. */
  reclaim: ((bytes: number) => void) | undefined;

  constructor(
    readonly maxBytes: number,
    /** What the call takes besides the memories of guests. */
    readonly otherBytes: () => number,
  ) {}

  add(memory: WebAssembly.Memory): void {
    this.#memories.add(memory);
    this.#usedBytes();
  }

  remove(memory: WebAssembly.Memory): void {
    this.#usedBytes();
    this.#memories.delete(memory);
  }

  /** Bytes that may still be taken. */
  get freeBytes(): number {
    return Math.max(0, this.maxBytes - this.#usedBytes());
  }

  /** Whether this many more bytes may be taken. */
  admits(bytes: number): boolean {
    if (this.freeBytes < bytes) this.reclaim?.(bytes);
    const left = this.maxBytes - this.#usedBytes() - bytes;
    if (left < 0) return false;
    freeDroppedMemory(left);
    return true;
  }

  /** The largest sum so far. */
  get peakBytes(): number {
    this.#usedBytes();
    return this.#peakBytes;
  }

  #usedBytes(): number {
    let bytes = this.otherBytes() + this.copiedBytes;
    for (const { buffer } of this.#memories) bytes += buffer.byteLength;
    this.#peakBytes = Math.max(this.#peakBytes, bytes);
    return bytes;
  }
}
