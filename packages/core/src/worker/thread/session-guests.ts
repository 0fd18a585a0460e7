/**
 * Cache of the guests of sessions between two calls. A session whose guest is missing, or has another version, is
 * restored from its saved state, so an entry can be dropped at any time.
 */
import type { Guest } from '../../engine/guest.ts';
import { type CaptureState, captureBytes } from '../../engine/memory-capture.ts';
import { MAX_CACHED_GUESTS } from '../protocol/messages.ts';
import type { GuestPool } from './guest-pool.ts';

/** Limit of the cache in each worker. The guest that was used last is cached whatever its size. */
const MAX_BYTES = 512 * 1024 * 1024;

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

  /** Evicts guests until there is room for another one, and returns them by session. */
  makeRoom(added: SessionGuest): Map<string, SessionGuest> {
    const evicted = new Map<string, SessionGuest>();
    let bytes = bytesOf(added);
    for (const { cached } of this.#entries.values()) bytes += bytesOf(cached);
    for (const [oldest, { cached }] of this.#entries) {
      if (this.#entries.size < MAX_CACHED_GUESTS && bytes <= MAX_BYTES) break;
      this.#entries.delete(oldest);
      bytes -= bytesOf(cached);
      evicted.set(oldest, cached);
    }
    return evicted;
  }

  /** Caches the guest of a session that has none in the cache. `makeRoom` must precede it. */
  put(session: string, version: number, cached: SessionGuest): void {
    this.#entries.set(session, { version, cached });
  }
}

/** Memory of the host that a cached guest takes: its own, what the next capture is compared with, and its files. */
function bytesOf({ guest, capture }: SessionGuest): number {
  const captured = capture === undefined ? 0 : captureBytes(capture);
  return guest.memory.buffer.byteLength + captured + guest.kernel.volume.usage().bytes;
}
