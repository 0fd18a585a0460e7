/**
 * Guests fresh from their image, kept ready so that no caller waits for one to be made: laying a new one costs many
 * times what bringing a used one back does, and both are done when nobody asks for anything. Whatever is handed out is
 * exactly as the image, whoever used it before.
 */

import type { Guest } from '../engine/guest.ts';
import { resetToImage } from '../engine/image.ts';
import { PAGE_BYTES } from '../engine/image-format.ts';
import { freshGuest, type Layable, NO_VOLUME } from './instantiate.ts';

/** One for the call that comes, and one for the call after a program that left nothing to be used again. */
const STOCK = 2;

interface Used {
  readonly guest: Guest;
  /** As in image.ts. */
  readonly sparing: boolean;
}

export class SpareGuests {
  #ready: Guest[] = [];
  /** Guests that were given back and are not yet as the image again. */
  #used: Used[] = [];

  constructor(readonly of: Layable) {}

  /** A guest with that limit on its memory. */
  take(maxPages: number): Guest {
    this.#forgetOthers(maxPages);
    const ready = this.#ready.pop();
    if (ready !== undefined) return ready;
    const used = this.#used.pop();
    return used === undefined ? freshGuest(this.of, maxPages) : this.#restored(used);
  }

  /** Takes back a guest that nobody needs any more; of use if its memory has kept its size. */
  giveBack(guest: Guest, sparing: boolean): void {
    guest.kernel.volume = NO_VOLUME;
    const isGrown = guest.memory.buffer.byteLength !== this.of.image.header.pages * PAGE_BYTES;
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
  prepare(maxPages: number, sparing: boolean): void {
    this.#forgetOthers(maxPages);
    if (this.isFull) return;
    this.#ready.push(this.#restored(this.#used.pop() ?? { guest: freshGuest(this.of, maxPages), sparing }));
  }

  /** Also for new guests, whose first restoring takes longer than all later ones: the machine has to find the memory. */
  #restored({ guest, sparing }: Used): Guest {
    resetToImage(guest, this.of.image, sparing);
    return guest;
  }

  /** Guests with another limit are of no use to those who come now. */
  #forgetOthers(maxPages: number): void {
    const maxBytes = maxPages * PAGE_BYTES;
    this.#ready = this.#ready.filter((guest) => guest.maxBytes === maxBytes);
    this.#used = this.#used.filter(({ guest }) => guest.maxBytes === maxBytes);
  }
}
