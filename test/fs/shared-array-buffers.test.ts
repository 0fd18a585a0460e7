import { describe, expect, test } from 'vitest';
import { toEntry } from '../../packages/core/src/fs/flat-entries.ts';
import { newFile } from '../../packages/core/src/fs/nodes.ts';
import { allocateShared, countShared, toShared } from '../../packages/core/src/fs/shared-array-buffers.ts';

/** The largest number of bytes that garbage collection counts in addition after `allocate`, in five attempts. */
function countedBytes(allocate: () => unknown): number {
  const growths = Array.from({ length: 5 }, () => {
    const before = process.memoryUsage().arrayBuffers;
    const held = allocate();
    const growth = process.memoryUsage().arrayBuffers - before;
    return held === undefined ? 0 : growth;
  });
  // Other buffers may be collected meanwhile, but not every time.
  return Math.max(...growths);
}

describe('shared bytes', () => {
  // guarantee: memory-limit
  // proves: The garbage collector of each thread counts the shared bytes that the thread creates or receives.
  test('count towards garbage collection in the thread that creates or receives them', () => {
    expect(countedBytes(() => allocateShared(1_000_000))).toBeGreaterThanOrEqual(1_000_000);
    const receive = () => {
      const received = new SharedArrayBuffer(200_000);
      countShared([received]);
      return received;
    };
    expect(countedBytes(receive)).toBeGreaterThanOrEqual(200_000);
  });

  test('count together when they are small', () => {
    const allocateSmall = () => Array.from({ length: 100 }, () => allocateShared(10_000));
    expect(countedBytes(allocateSmall)).toBeGreaterThan(800_000);
  });

  test('are copied only if they are not a whole shared buffer', () => {
    const whole = toShared(Uint8Array.of(1, 2, 3));
    expect(toShared(whole)).toBe(whole);
    const part = toShared(whole.subarray(1));
    expect([...part]).toEqual([2, 3]);
    expect(part.buffer.byteLength).toBe(2);
  });

  test('replace the bytes of a file that becomes an entry, so that its contents are in memory once', () => {
    const init = { ino: 1, mode: 0o644, mtimeMs: 0, ctimeMs: 0, readonly: false };
    const node = newFile(init, Uint8Array.of(1, 2, 3, 0));
    node.size = 3;
    const { data } = toEntry('f', node);
    expect([...data!]).toEqual([1, 2, 3]);
    expect(node).toMatchObject({ borrowed: true, size: 3 });
    expect(node.data).toBe(data);
    expect(toEntry('f', node).data).toBe(data);
  });
});
