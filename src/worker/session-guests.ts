/**
 * Cache of the guests of sessions between two calls. A session whose guest is missing, or has another version, is
 * restored from its saved state, so an entry can be dropped at any time.
 */
import type { CaptureState } from '../engine/delta.ts';
import type { Guest } from '../engine/guest.ts';
import type { GuestPool } from './guest-pool.ts';

/** Maximum number of cached guests per worker; each holds the memory of an interpreter. */
const MAX_GUESTS = 8;

export interface SessionGuest {
  readonly guest: Guest;
  /** The last capture, so that the next one encodes only what has changed. */
  readonly capture: CaptureState | undefined;
  /** The pool to which the guest is released. */
  readonly pool: GuestPool;
}

export class SessionGuests {
  /** Least recently used first. */
  readonly #entries = new Map<string, { readonly version: number; readonly cached: SessionGuest }>();

  /** Removes the guest of a session from the cache. A `stale` guest has another version and can only be released. */
  take(session: string, version: number): { cached?: SessionGuest; stale?: SessionGuest } {
    const entry = this.#entries.get(session);
    this.#entries.delete(session);
    if (entry === undefined) return {};
    return entry.version === version ? { cached: entry.cached } : { stale: entry.cached };
  }

  /** Caches a guest and returns the one that was evicted, if any. */
  put(session: string, version: number, cached: SessionGuest): SessionGuest | undefined {
    this.#entries.delete(session);
    this.#entries.set(session, { version, cached });
    if (this.#entries.size <= MAX_GUESTS) return undefined;
    const [oldest, { cached: evicted }] = this.#entries.entries().next().value!;
    this.#entries.delete(oldest);
    return evicted;
  }
}
