/**
 * The memory limit of one guest: growth up to the limit, and whether the guest has reached it. The limit is that of the memory
 * itself and, in a call, what all of its processes leave.
 */
import { PAGE_BYTES } from './image-identity.ts';
import type { MemoryAccount } from './memory-account.ts';

/** Memory grows in steps of this size, because each step takes a fraction of a millisecond regardless of its size. */
const GROWTH_BYTES = 4 * 1024 * 1024;
/** Memory with less room to grow than this is full. */
const FULL_MARGIN_BYTES = 1024 * 1024;

/** Returns false if the host has no memory. */
function growBy(memory: WebAssembly.Memory, pages: number): boolean {
  try {
    memory.grow(pages);
    return true;
  } catch {
    return false;
  }
}

export class MemoryLimit {
  /** Whether memory has been refused in this run. */
  #hasRefused = false;
  /** The memory of the call; absent between calls. */
  #account: MemoryAccount | undefined;

  constructor(
    readonly memory: WebAssembly.Memory,
    readonly maxBytes: number,
  ) {}

  beginRun(): void {
    this.#hasRefused = false;
  }

  /** From now on the memory counts as memory of a call; undefined: of none. */
  countIn(account: MemoryAccount | undefined): void {
    this.#account?.remove(this.memory);
    this.#account = account;
    account?.add(this.memory);
  }

  /** Bytes by which the memory may still grow: a whole number of pages. */
  get freeBytes(): number {
    const own = this.maxBytes - this.memory.buffer.byteLength;
    const free = this.#account === undefined ? own : Math.min(own, this.#account.freeBytes);
    return free - (free % PAGE_BYTES);
  }

  /** Whether the memory may grow, or the host may use memory for the guest, by this many bytes. */
  admits(bytes: number): boolean {
    return bytes <= this.freeBytes && (this.#account?.admits(bytes) ?? true);
  }

  /** Grows the memory to at least `bytes`. Returns false if that is above the limit. */
  grow(bytes: number): boolean {
    const size = this.memory.buffer.byteLength;
    if (bytes <= size) return true;
    const limit = size + this.freeBytes;
    const next = Math.min(Math.ceil(bytes / GROWTH_BYTES) * GROWTH_BYTES, limit);
    if (
      bytes <= limit &&
      this.admits(next - size) &&
      growBy(this.memory, Math.ceil((next - size) / PAGE_BYTES))
    )
      return true;
    this.#hasRefused = true;
    return false;
  }

  /** Whether memory was refused or is at its limit. */
  get isReached(): boolean {
    return this.#hasRefused || this.freeBytes === 0;
  }

  /**
   * Whether a stop is attributed to the memory limit. A refused allocation is not enough: the program may have caught its
   * exception while most of the memory was free, and aborted later for another reason.
   */
  get isFull(): boolean {
    return this.isReached && this.freeBytes < FULL_MARGIN_BYTES;
  }
}
