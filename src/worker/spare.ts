/**
 * A guest fresh from its image, kept ready so that no caller waits for one to be made: laying a new one costs many times
 * what bringing a used one back does. Whatever is handed out is exactly as the image, whoever used it before.
 */
import { PAGE_BYTES } from '../engine/format.ts';
import type { Guest } from '../engine/guest.ts';
import { resetToImage } from '../engine/image.ts';
import { freshGuest, type Layable, NO_VOLUME } from './lay.ts';

export class SpareGuest {
  #guest: Guest | undefined;

  constructor(readonly of: Layable) {}

  get isReady(): boolean {
    return this.#guest !== undefined;
  }

  take(maxPages: number): Guest {
    const guest = this.#guest;
    this.#guest = undefined;
    return guest?.maxBytes === maxPages * PAGE_BYTES ? guest : freshGuest(this.of, maxPages);
  }

  /** Takes back a guest that nobody needs any more; of use if its memory has kept its size. `sparing` as in image.ts. */
  giveBack(guest: Guest, sparing: boolean): void {
    const { image } = this.of;
    if (this.isReady || guest.memory.buffer.byteLength !== image.header.pages * PAGE_BYTES) return;
    resetToImage(guest, image, sparing);
    guest.kernel.volume = NO_VOLUME;
    this.#guest = guest;
  }

  prepare(maxPages: number): void {
    this.#guest ??= freshGuest(this.of, maxPages);
  }
}
