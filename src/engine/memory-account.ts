/**
 * The memory of a call: what its processes and its pipes take together, with one limit. Whatever takes memory asks here first,
 * so the sum never exceeds the limit.
 */
export class MemoryAccount {
  readonly #memories = new Set<WebAssembly.Memory>();
  #peakBytes = 0;

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

  /** The largest sum so far. */
  get peakBytes(): number {
    this.#usedBytes();
    return this.#peakBytes;
  }

  #usedBytes(): number {
    let bytes = this.otherBytes();
    for (const { buffer } of this.#memories) bytes += buffer.byteLength;
    this.#peakBytes = Math.max(this.#peakBytes, bytes);
    return bytes;
  }
}
