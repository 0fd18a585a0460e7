/** The interpreters that a worker keeps between calls. They are not counted as held bytes, because these limits bound them. */
import { beforeAll, describe, expect, test } from 'vitest';
import { findAssets } from '../../dist/runtimes/guest-artifacts.js';
import { GuestPool } from '../../dist/worker/guest-pool.js';
import { loadImage } from '../../dist/worker/load-image.js';
import { SessionGuests } from '../../dist/worker/session-guests.js';

const MiB = 1024 * 1024;
const MAX_PAGES = 16_384;

describe('interpreters that a worker keeps', () => {
  let pool: GuestPool;
  beforeAll(() => {
    pool = new GuestPool(loadImage(findAssets('javascript'), []));
  });

  /** A guest of this size. The memory is never written, so the system does not allocate it. */
  const guestOf = (bytes: number) => {
    const guest = pool.acquire(MAX_PAGES);
    expect(guest.memoryLimit.grow(bytes)).toBe(true);
    return { guest, capture: undefined, pool };
  };
  const kept = (guests: SessionGuests, names: readonly string[]) =>
    names.filter((name) => guests.take(name, 1).cached !== undefined);

  // guarantee: memory-limit
  // proves: A worker keeps at most eight interpreters.
  test('are limited to eight', () => {
    const guests = new SessionGuests();
    const names = Array.from({ length: 10 }, (_, i) => `s${i}`);
    const evicted = names.flatMap((name) => guests.put(name, 1, guestOf(0)));
    expect(evicted).toHaveLength(2);
    expect(kept(guests, names)).toEqual(names.slice(2));
  });

  // guarantee: memory-limit
  // proves: The interpreters that a worker keeps use at most 512 MiB together, unless the interpreter that was used last is larger.
  test('use at most 512 MiB together, unless the one used last is larger', () => {
    const guests = new SessionGuests();
    expect(guests.put('a', 1, guestOf(200 * MiB))).toHaveLength(0);
    expect(guests.put('b', 1, guestOf(200 * MiB))).toHaveLength(0);
    expect(guests.put('c', 1, guestOf(200 * MiB))).toHaveLength(1);
    expect(guests.put('d', 1, guestOf(600 * MiB))).toHaveLength(2);
    expect(kept(guests, ['a', 'b', 'c', 'd'])).toEqual(['d']);
  });
});
