import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { PAGE_BYTES } from '../../packages/core/dist/engine/image-identity.js';
import { findAssets } from '../../packages/core/dist/runtimes/artifacts/guest-artifacts.js';
import type { GuestTemplate } from '../../packages/core/dist/worker/thread/guest-from-image.js';
import { GuestPool } from '../../packages/core/dist/worker/thread/guest-pool.js';
import { loadImage } from '../../packages/core/dist/worker/thread/load-image.js';

type Guest = ReturnType<GuestPool['acquire']>;

const MAX_PAGES = 2048;
const digest = (guest: Guest) => createHash('sha256').update(guest.view.all).digest('hex');

/** Changes every part of a guest's state. */
function corrupt(guest: Guest): void {
  guest.view.all.fill(0xa5);
  guest.setGlobals(Object.fromEntries(Object.keys(guest.globals()).map((name) => [name, '7'])));
  guest.kernel.cwd = '/tmp';
  guest.kernel.umask = 0;
}

describe.each(['python', 'javascript'] as const)('pool of %s guests', (runtime) => {
  let template: GuestTemplate;
  beforeAll(() => {
    template = loadImage(findAssets(runtime), []);
  });

  test.each(['acquire', 'refill'])('resets a corrupted guest to the image (by %s)', (resetBy) => {
    const pool = new GuestPool(template);
    const guest = pool.acquire(MAX_PAGES);
    const before = [digest(guest), guest.globals(), guest.kernel.cwd, guest.kernel.umask];
    corrupt(guest);
    expect(digest(guest)).not.toBe(before[0]);
    pool.release(guest);
    if (resetBy === 'refill') pool.refill(MAX_PAGES);
    expect(pool.hasUsed).toBe(resetBy === 'acquire');
    const again = pool.acquire(MAX_PAGES);
    expect(again).toBe(guest);
    expect([digest(again), again.globals(), again.kernel.cwd, again.kernel.umask]).toEqual(before);
  });

  test('drops guests that have grown, exceed the pool size or have another memory limit', () => {
    const pool = new GuestPool(template);
    const guests = [1, 2, 3].map(() => pool.acquire(MAX_PAGES));
    const grown = pool.acquire(MAX_PAGES);
    expect(grown.memoryLimit.grow(grown.memory.buffer.byteLength + PAGE_BYTES)).toBe(true);
    pool.release(grown);
    expect(pool.hasUsed).toBe(false);
    for (const guest of guests) pool.release(guest);
    const taken = [1, 2, 3].map(() => pool.acquire(MAX_PAGES));
    expect(taken.filter((guest) => guests.includes(guest))).toHaveLength(2);
    pool.release(taken[0]!);
    const other = pool.acquire(MAX_PAGES - 1);
    expect(other).not.toBe(taken[0]);
    expect(other.memoryLimit.maxBytes).toBe((MAX_PAGES - 1) * PAGE_BYTES);
  });
});
