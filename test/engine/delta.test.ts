import { createHash } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { applyDelta, captureDelta, type Delta, readDelta } from '../../packages/core/src/engine/delta.ts';
import type { Guest } from '../../packages/core/src/engine/guest.ts';
import { type Image, resetToImage } from '../../packages/core/src/engine/image.ts';
import { PAGE_BYTES } from '../../packages/core/src/engine/image-identity.ts';
import { type CaptureState, captureBytes } from '../../packages/core/src/engine/memory-capture.ts';
import {
  type GuestTemplate,
  instantiateGuest,
} from '../../packages/core/src/worker/thread/guest-from-image.ts';
import { loadBuiltGuest } from '../support/built-guest.ts';
import { repetitions } from '../support/repetitions.ts';

let template: GuestTemplate;
let image: Image;

beforeAll(async () => {
  const loaded = await loadBuiltGuest('javascript');
  template = loaded;
  image = loaded.image;
});

const MAX_PAGES = 400;
const ROUNDS = repetitions(4, 25);
const newGuest = () => instantiateGuest(template, MAX_PAGES);

const sizeOf = (delta: Delta) => delta.reduce((sum, { length }) => sum + length, 0);

function restored(delta: Delta): { guest: Guest; capture: CaptureState } {
  const guest = newGuest();
  return { guest, capture: applyDelta(guest, image, delta) };
}

function isSameMemory(a: Guest, b: Guest): boolean {
  return Buffer.compare(a.view.all, b.view.all) === 0;
}

/** A deterministic generator of integers below a limit. */
function seededIntegers(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * limit);
  };
}

/** Makes random changes to memory: single bytes, ranges, ranges reset to the base or to zero, growth. */
function mutate(guest: Guest, next: (limit: number) => number): void {
  const base = newGuest().view.all;
  for (let change = next(30); change >= 0; change--) {
    const memory = guest.view.all;
    const at = next(memory.length);
    const kind = next(10);
    if (kind < 5) memory[at] = next(256);
    else if (kind === 5) memory.fill(next(256), at, at + next(20_000));
    else if (kind === 6) memory.fill(0, at, at + next(200_000));
    else if (kind === 7) {
      const back = base.subarray(Math.min(at, base.length), Math.min(at + next(300_000), base.length));
      memory.set(back, Math.min(at, base.length));
    } else if (kind === 8)
      for (let i = at; i < Math.min(at + 5000, memory.length); i++) memory[i] = next(256);
    else if (next(8) === 0 && memory.length < (MAX_PAGES - 16) * PAGE_BYTES)
      guest.memoryLimit.grow(memory.length + 1);
  }
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest();

/** The header of a delta with the digest of another diff of the same length. */
function withDiffDigest(encoded: Uint8Array, before: Uint8Array, after: Uint8Array): Uint8Array {
  const text = Buffer.from(encoded).toString('latin1');
  const changed = text.replace(sha256(before).toString('hex'), sha256(after).toString('hex'));
  const bytes = Buffer.from(changed, 'latin1');
  bytes.set(sha256(bytes.subarray(0, -32)), bytes.length - 32);
  return bytes;
}

describe('delta', () => {
  test.each([1, 2, 3, 4])('restores memory exactly after every one of many captures (seed %i)', (seed) => {
    const next = seededIntegers(seed);
    let guest = newGuest();
    let previous: CaptureState | undefined;
    let diffs = 0;
    for (let round = 0; round < ROUNDS; round++) {
      mutate(guest, next);
      const { delta, capture } = captureDelta(guest, image, [], previous);
      diffs = Math.max(diffs, readDelta(delta).header.memory.length);
      const copy = restored(delta);
      expect(isSameMemory(copy.guest, guest), `round ${round}`).toBe(true);
      previous = capture;
      // Sometimes continue with the copy, as after hibernation.
      if (next(3) === 0) {
        guest = copy.guest;
        previous = copy.capture;
      }
    }
    expect(diffs).toBeGreaterThan(1);
  });

  test('appends a small diff for a small change after a large one', () => {
    const guest = newGuest();
    const next = seededIntegers(5);
    const memory = guest.view.all;
    for (let i = 1_000_000; i < 2_000_000; i++) memory[i] = next(256);
    const first = captureDelta(guest, image);
    memory[1_500_000]! ^= 1;
    const second = captureDelta(guest, image, [], first.capture);
    expect(second.delta.length).toBe(3);
    // The unchanged diff is shared, not copied.
    expect(second.delta[1] === first.delta[1]).toBe(true);
    expect(second.delta[2]!.length).toBeLessThan(second.delta[1]!.length / 50);
    expect(isSameMemory(restored(second.delta).guest, guest)).toBe(true);
  });

  test('encodes no more than a small change needs, however much memory was changed before', () => {
    const guest = newGuest();
    const next = seededIntegers(9);
    guest.memoryLimit.grow(MAX_PAGES * PAGE_BYTES);
    const words = new Int32Array(guest.view.all.buffer);
    for (let i = 2_000_000; i < 6_000_000; i++) words[i] = next(2 ** 31);
    let { delta, capture } = captureDelta(guest, image);
    expect(delta.length).toBeGreaterThan(2);
    const large = delta.slice(1);
    for (let round = 0; round < 40; round++) {
      for (let page = 0; page < 20; page++) words[2_000_000 + next(4_000_000)] = round;
      const after = captureDelta(guest, image, [], capture);
      // The diffs of the large change are shared, not copied.
      expect(large.every((diff, i) => after.delta[1 + i] === diff)).toBe(true);
      ({ delta, capture } = after);
    }
    expect(delta.length).toBeLessThan(large.length + 12);
    expect(captureBytes(capture)).toBeLessThan(17 * 1024 * 1024);
    expect(isSameMemory(restored(delta).guest, guest)).toBe(true);
  });

  test('does not grow without bound while the same pages change', () => {
    const guest = newGuest();
    const next = seededIntegers(6);
    let previous: CaptureState | undefined;
    const sizes: number[] = [];
    for (let round = 0; round < 200; round++) {
      for (let i = 0; i < 20_000; i++) guest.view.all[3_000_000 + i] = next(256);
      const { delta, capture } = captureDelta(guest, image, [], previous);
      previous = capture;
      sizes.push(sizeOf(delta));
    }
    expect(Math.max(...sizes)).toBeLessThan(sizes[0]! * 2.2);
  });

  test('is tiny for a guest that is identical to its base', () => {
    expect(sizeOf(captureDelta(newGuest(), image).delta)).toBeLessThan(2000);
  });

  test('omits unused memory, and includes it once it is used again', () => {
    const guest = newGuest();
    const range = { start: 2 * PAGE_BYTES, end: 4 * PAGE_BYTES };
    guest.view.all.fill(7, range.start - 10, range.end + 10);
    const first = captureDelta(guest, image, [range]);
    const copy = restored(first.delta).guest.view.all;
    expect(copy[range.start - 1]).toBe(7);
    expect(copy[range.end]).toBe(7);
    expect(copy[range.start]).not.toBe(7);
    const second = captureDelta(guest, image, [], first.capture);
    expect(isSameMemory(restored(second.delta).guest, guest)).toBe(true);
  });

  test.each([7, 8])('leaves no trace in a guest that is reset to its base (seed %i)', (seed) => {
    const next = seededIntegers(seed);
    const guest = newGuest();
    for (let round = 0; round < 10; round++) {
      for (let i = 0; i < 30; i++) guest.view.all[next(guest.view.all.length)] = 1 + next(255);
      guest.view.all.fill(5, next(1_000_000), next(5_000_000));
      resetToImage(guest, image);
      expect(isSameMemory(guest, newGuest())).toBe(true);
      expect(guest.globals()).toEqual(newGuest().globals());
    }
  });

  test('leaves no trace of a single byte at the edge of a page', () => {
    const next = seededIntegers(9);
    const guest = newGuest();
    const { all } = guest.view;
    const base = all.slice();
    const { at, bytes } = image.segments[next(image.segments.length)]!;
    const edges = [0, all.length, at, at + bytes.length];
    for (let i = 0; i < 12; i++) edges.push(4096 * (1 + next(all.length / 4096 - 1)));
    for (const byte of edges
      .flatMap((edge) => [edge - 1, edge])
      .filter((one) => one >= 0 && one < all.length)) {
      all[byte]! ^= 1 << next(8);
      resetToImage(guest, image);
      expect(Buffer.compare(all, base)).toBe(0);
    }
  });

  test.each([1, 64, 4096, PAGE_BYTES])('leaves no trace of bytes that repeat every %i bytes', (period) => {
    const guest = newGuest();
    const { all } = guest.view;
    const base = all.slice();
    for (const start of [0, period - 1]) {
      for (let i = start; i < all.length; i += period) all[i]! ^= 3;
      resetToImage(guest, image);
      expect(Buffer.compare(all, base)).toBe(0);
    }
  });

  test.each([0, 4, 8, 12, 100, -1, -33, -100])('is rejected when byte %i is corrupted', (at) => {
    const guest = newGuest();
    guest.view.all.fill(9, 1_000_000, 1_100_000);
    for (const part of [0, 1]) {
      const { delta } = captureDelta(guest, image);
      const bytes = delta[part]!;
      const index = (at < 0 ? bytes.length + at : at) % bytes.length;
      bytes[index] = bytes[index]! ^ 0x40;
      expect(() => restored(delta)).toThrow(expect.objectContaining({ code: 'image_invalid' }));
    }
  });

  test.each([1, 2, 3])(
    'is restored or rejected when its contents are forged under a valid digest (seed %i)',
    (seed) => {
      const next = seededIntegers(seed);
      const guest = newGuest();
      for (let i = 0; i < 50_000; i++) guest.view.all[1_000_000 + next(100_000)] = next(256);
      const { delta } = captureDelta(guest, image);
      const [encoded, diff] = delta as [Uint8Array, Uint8Array];
      for (let round = 0; round < 60; round++) {
        const forgedDiff = diff.slice();
        forgedDiff[next(diff.length)]! ^= 1 << next(8);
        const forged = [withDiffDigest(encoded, diff, forgedDiff), forgedDiff];
        // The forged bytes may be a valid state; otherwise they must be rejected with image_invalid.
        try {
          restored(forged);
        } catch (cause) {
          expect(cause).toMatchObject({ name: 'SandboxError', code: 'image_invalid' });
        }
      }
    },
  );
});
