/** The coordination of a server that is alone: there is nobody to ask, and what it keeps ends with the process. */
import { randomBytes } from 'node:crypto';
import type { Coordination, ExpiringValue, ExpiringValues, SessionBlobs } from './coordination.ts';

const MAX_VALUES = 164;
/** Bytes of all values of a tenant. Results of a call have at most a few MB. */
const MAX_BYTES = 32 * 1024 * 1024;

/** Kept as bytes, so that what they hold in memory is what is counted. */
export class MemoryValues implements ExpiringValues {
  /** Oldest first. */
  readonly #values = new Map<string, ExpiringValue>();
  bytes = 0;

  async add(values: readonly ExpiringValue[]): Promise<void> {
    for (const one of values) {
      this.#values.set(one.key, one);
      this.bytes += one.value.length;
    }
    for (const [oldest, { value }] of this.#values) {
      if (this.#values.size <= MAX_VALUES && this.bytes <= MAX_BYTES) break;
      this.#values.delete(oldest);
      this.bytes -= value.length;
    }
  }

  async get(key: string): Promise<Uint8Array | undefined> {
    return this.#values.get(key)?.value;
  }

  async keys(session_id: string): Promise<string[]> {
    const own = [...this.#values.values()].filter((value) => value.session_id === session_id);
    return own.map(({ key }) => key).reverse();
  }
}

export function memoryCoordination(): Coordination {
  const key = randomBytes(32);
  return {
    isShared: false,
    signingKey: async () => key,
    values: () => new MemoryValues(),
    limiter: ({ RateLimiterMemory }, keyPrefix, points) =>
      new RateLimiterMemory({ keyPrefix, points, duration: 60 }),
    check: async () => {},
  };
}

/** Blobs of sessions that end with the process. */
export function memoryBlobs(): SessionBlobs {
  const blobs = new Map<string, Uint8Array>();
  return {
    read: async (id) => blobs.get(id),
    write: async (id, bytes) => void blobs.set(id, bytes),
    delete: async (id) => void blobs.delete(id),
  };
}
