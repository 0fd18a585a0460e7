/**
 * The memory limit of one guest: growth up to the limit, and whether the guest has reached it. The maximum of the
 * memory itself enforces the limit, even if the guest grows its memory with an instruction.
 */
import { PAGE_BYTES } from './image-identity.ts';

/** Memory grows in steps of this size, because each step takes a fraction of a millisecond regardless of its size. */
const GROWTH_BYTES = 4 * 1024 * 1024;
/** Memory with less room to grow than this is full. */
const FULL_MARGIN_BYTES = 1024 * 1024;

export class MemoryLimit {
  /** Whether memory has been refused in this run. */
  #hasRefused = false;

  constructor(
    readonly memory: WebAssembly.Memory,
    readonly maxBytes: number,
  ) {}

  beginRun(): void {
    this.#hasRefused = false;
  }

  /** Grows the memory to at least `bytes`. Returns false if that is above the limit. */
  grow(bytes: number): boolean {
    const size = this.memory.buffer.byteLength;
    if (bytes <= size) return true;
    const next = Math.max(bytes, Math.min(Math.ceil(bytes / GROWTH_BYTES) * GROWTH_BYTES, this.maxBytes));
    try {
      this.memory.grow(Math.ceil((next - size) / PAGE_BYTES));
      return true;
    } catch {
      this.#hasRefused = true;
      return false;
    }
  }

  /** Whether memory was refused or is at its limit. */
  get isReached(): boolean {
    return this.#hasRefused || this.memory.buffer.byteLength >= this.maxBytes;
  }

  /**
   * Whether a stop is attributed to the memory limit. A refused allocation is not enough: the program may have caught its
   * exception while most of the memory was free, and aborted later for another reason.
   */
  get isFull(): boolean {
    return this.isReached && this.maxBytes - this.memory.buffer.byteLength < FULL_MARGIN_BYTES;
  }
}
