/**
 * Guests of sessions that wait for their next call. They are a cache and nothing else: whoever does not find its guest
 * here, in just the state it wants, makes it from the saved state. So dropping one is always right.
 */
import type { CaptureState } from '../engine/delta.ts';
import type { Guest } from '../engine/guest.ts';
import type { GuestPool } from './guest-pool.ts';

/** Guests a worker keeps; each takes the memory of an interpreter. */
const MAX_LIVE = 8;

export interface SessionGuest {
  readonly guest: Guest;
  /** What is saved of it already, so that saving it again costs only what changed. */
  readonly capture: CaptureState | undefined;
  /** Where it can be given back. */
  readonly pool: GuestPool;
}

export class SessionGuests {
  /** Least recently used first. */
  readonly #guests = new Map<string, { readonly version: number; readonly live: SessionGuest }>();

  /** Takes out the guest of a session; in another state than the wanted one it is only good for being given back. */
  take(session: string, version: number): { live?: SessionGuest; stale?: SessionGuest } {
    const found = this.#guests.get(session);
    this.#guests.delete(session);
    if (found === undefined) return {};
    return found.version === version ? { live: found.live } : { stale: found.live };
  }

  /** Keeps a guest, and returns the one that had to make room. */
  put(session: string, version: number, live: SessionGuest): SessionGuest | undefined {
    this.#guests.delete(session);
    this.#guests.set(session, { version, live });
    if (this.#guests.size <= MAX_LIVE) return undefined;
    const [oldest, { live: dropped }] = this.#guests.entries().next().value!;
    this.#guests.delete(oldest);
    return dropped;
  }
}
