/**
 * Guests of sessions that wait for their next call. They are a cache and nothing else: whoever does not find its guest
 * here, in just the state it wants, makes it from the saved state. So dropping one is always right.
 */
import type { Captured } from '../engine/delta.ts';
import type { Guest } from '../engine/guest.ts';

/** Guests a worker keeps; each takes the memory of an interpreter. */
const MAX_LIVE = 8;

/** A guest, and what is saved of it already, so that saving it again costs only what changed. */
export interface LiveGuest {
  readonly guest: Guest;
  readonly captured: Captured | undefined;
}

export class LiveGuests {
  /** Least recently used first. */
  readonly #guests = new Map<string, { readonly version: number; readonly live: LiveGuest }>();

  /** Takes out the guest of a session if it is in the given state; a guest in any other state is of no more use. */
  take(session: string, version: number): LiveGuest | undefined {
    const found = this.#guests.get(session);
    this.#guests.delete(session);
    return found?.version === version ? found.live : undefined;
  }

  keep(session: string, version: number, live: LiveGuest): void {
    this.#guests.delete(session);
    this.#guests.set(session, { version, live });
    if (this.#guests.size > MAX_LIVE) this.#guests.delete(this.#guests.keys().next().value!);
  }
}
