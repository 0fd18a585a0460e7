/**
 * A pool of guests that are identical to their image. Creating a guest takes many times as long as resetting a used
 * one; both are done while the worker is idle, so that runs do not wait for them. A guest from the pool is always
 * identical to the image, no matter what ran in it before.
 */
import type { Guest } from '../../engine/guest.ts';
import { resetToImage } from '../../engine/image.ts';
import { PAGE_BYTES } from '../../engine/image-identity.ts';
import { dropMemory } from '../../engine/memory-account.ts';
import { EMPTY_VOLUME, type GuestTemplate, instantiateGuest } from './guest-from-image.ts';

/** One guest for the next run, and one for the run after a program whose guest cannot be reused. */
const POOL_SIZE = 2;

export class GuestPool {
  #ready: Guest[] = [];
  /** Released guests that have not been reset yet. */
  #used: Guest[] = [];

  constructor(readonly template: GuestTemplate) {}

  /** Returns a guest whose memory is limited to `maxPages`. */
  acquire(maxPages: number): Guest {
    this.#dropOtherLimits(maxPages);
    return this.#ready.pop() ?? this.#next(maxPages);
  }

  /** Returns a guest to the pool. It is dropped if its memory has grown, which cannot be undone. */
  release(guest: Guest): void {
    guest.kernel.volume = EMPTY_VOLUME;
    const isGrown = guest.memory.buffer.byteLength !== this.template.image.header.pages * PAGE_BYTES;
    if (!isGrown && this.#ready.length + this.#used.length < POOL_SIZE) this.#used.push(guest);
    else dropMemory(guest.memory);
  }

  /** Whether there is a released guest to reset. */
  get hasUsed(): boolean {
    return this.#used.length > 0;
  }

  get isFull(): boolean {
    return this.#ready.length >= POOL_SIZE;
  }

  /** Makes one more guest ready, by resetting a used one or creating a new one, unless the pool is full. */
  refill(maxPages: number): void {
    this.#dropOtherLimits(maxPages);
    if (this.isFull) return;
    this.#ready.push(this.#next(maxPages));
  }

  #next(maxPages: number): Guest {
    const used = this.#used.pop();
    if (used === undefined) return instantiateGuest(this.template, maxPages);
    resetToImage(used, this.template.image);
    return used;
  }

  /** Drops guests with another memory limit, which later runs are unlikely to need. */
  #dropOtherLimits(maxPages: number): void {
    const isOfLimit = ({ memory, memoryLimit }: Guest) => {
      const isKept = memoryLimit.maxBytes === maxPages * PAGE_BYTES;
      if (!isKept) dropMemory(memory);
      return isKept;
    };
    this.#ready = this.#ready.filter(isOfLimit);
    this.#used = this.#used.filter(isOfLimit);
  }
}
