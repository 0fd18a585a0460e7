/**
 * Guests fresh from their image, kept ready so that no caller waits for one to be made: laying a new one costs many
 * times what bringing a used one back does, and both are done when nobody asks for anything. Whatever is handed out is
 * exactly as the image, whoever used it before.
 */

import type { Guest } from '../engine/guest.ts';
import { resetToImage } from '../engine/image.ts';
import { PAGE_BYTES } from '../engine/image-format.ts';
import { EMPTY_VOLUME, type GuestTemplate, instantiateGuest } from './instantiate.ts';

/** One for the call that comes, and one for the call after a program that left nothing to be used again. */
const STOCK = 2;

interface Used {
  readonly guest: Guest;
  /** As in image.ts. */
  readonly sparing: boolean;
}

export class GuestPool {
  #ready: Guest[] = [];
  /** Guests that were given back and are not yet as the image again. */
  #used: Used[] = [];

  constructor(readonly template: GuestTemplate) {}

  /** A guest with that limit on its memory. */
  acquire(maxPages: number): Guest {
    this.#forgetOthers(maxPages);
    const ready = this.#ready.pop();
    if (ready !== undefined) return ready;
    const used = this.#used.pop();
    return used === undefined ? instantiateGuest(this.template, maxPages) : this.#restored(used);
  }

  /** Takes back a guest that nobody needs any more; of use if its memory has kept its size. */
  release(guest: Guest, sparing: boolean): void {
    guest.kernel.volume = EMPTY_VOLUME;
    const isGrown = guest.memory.buffer.byteLength !== this.template.image.header.pages * PAGE_BYTES;
    if (!isGrown && this.#ready.length + this.#used.length < STOCK) this.#used.push({ guest, sparing });
  }

  /** Whether there is one that only needs to be restored. */
  get hasUsed(): boolean {
    return this.#used.length > 0;
  }

  get isFull(): boolean {
    return this.#ready.length >= STOCK;
  }

  /** Adds a guest to those that are ready, unless there are enough. */
  refill(maxPages: number, sparing: boolean): void {
    this.#forgetOthers(maxPages);
    if (this.isFull) return;
    this.#ready.push(
      this.#restored(this.#used.pop() ?? { guest: instantiateGuest(this.template, maxPages), sparing }),
    );
  }

  /** Also for new guests, whose first restoring takes longer than all later ones: the machine has to find the memory. */
  #restored({ guest, sparing }: Used): Guest {
    resetToImage(guest, this.template.image, sparing);
    return guest;
  }

  /** Guests with another limit are of no use to those who come now. */
  #forgetOthers(maxPages: number): void {
    const maxBytes = maxPages * PAGE_BYTES;
    this.#ready = this.#ready.filter((guest) => guest.maxBytes === maxBytes);
    this.#used = this.#used.filter(({ guest }) => guest.maxBytes === maxBytes);
  }
}
