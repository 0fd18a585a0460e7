import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { atOnce } from '../../packages/core/src/concurrency/slices.ts';
import type { Entry } from '../../packages/core/src/fs/flat-entries.ts';
import {
  type PackedEdit,
  packEdit,
  unpackEdit,
  unpackWholeEdit,
} from '../../packages/core/src/fs/packed-edit.ts';
import { MIN_SHARED_BYTES } from '../../packages/core/src/fs/shared-array-buffers.ts';
import { tree } from './arbitraries.ts';
import { codeOf, dir, file, link } from './support.ts';

const pack = (entries: readonly Entry[], removed: readonly string[] = []) =>
  atOnce(packEdit({ removed, entries }));

describe('a packed edit', () => {
  it('contains everything', () => {
    fc.assert(
      fc.property(tree, fc.array(fc.constantFrom('a', 'b/c')), (entries, removed) => {
        const packed = structuredClone(pack(entries, removed));
        expect(unpackWholeEdit(packed)).toEqual({ removed, entries });
      }),
    );
  });

  // Node.js compares each shared buffer of a message with all others.
  it('has few buffers and parts of limited size, however many files there are', () => {
    const entries = Array.from({ length: 5_000 }, (_, i) => file(`f${i}`, 'x'));
    const packed = pack(
      entries,
      entries.map(({ path }) => path),
    );
    expect(packed).toHaveLength(20);
    expect(packed.flatMap(({ large }) => large)).toEqual([]);
    expect([...unpackEdit(packed)].every((part) => part.removed.length + part.entries.length <= 500)).toBe(
      true,
    );
  });

  it('shares large contents and copies small ones, so that no file keeps another in memory', () => {
    const large = { ...file('large'), data: new Uint8Array(new SharedArrayBuffer(MIN_SHARED_BYTES)) };
    const packed = pack([file('a', 'aa'), large, file('z', 'z')]);
    expect(packed[0]!.large[0]!.buffer).toBe(large.data.buffer);
    const [a, , z] = unpackWholeEdit(packed).entries;
    expect([a!.data!.buffer.byteLength, z!.data!.buffer.byteLength]).toEqual([2, 1]);
  });

  const row = (...fields: unknown[]) => ['[[],', JSON.stringify([fields]), ']'].join('');
  const part = (rows: string, change: object = {}): PackedEdit => [
    { rows, small: new Uint8Array(1), large: [], ...change },
  ];
  test.each([
    ['a path outside the workspace', part(row('../../etc/cron.d/x', 0, 0o644, 0, 1))],
    ['an absolute path', part(row('/etc/passwd', 0, 0o644, 0, 1))],
    ['a removed path outside the workspace', part('[[".."],[]]')],
    ['a path that is no text', part(row(7, 0, 0o644, 0, 1))],
    ['an unknown kind', part(row('a', 7, 0o644, 0, 1))],
    ['a mode out of range', part(row('a', 0, 0o10000, 0, 1))],
    ['a time out of range', part(row('a', 0, 0o644, 1e16, 1))],
    ['no time', part(row('a', 0, 0o644, null, 1).replace('null', '"x"'))],
    ['more contents than it has', part(row('a', 0, 0o644, 0, 2))],
    ['a large file that is missing', part(row('a', 0, 0o644, 0, MIN_SHARED_BYTES))],
    ['a file without a size', part(row('a', 0, 0o644, 0))],
    ['a negative size', part(row('a', 0, 0o644, 0, -1))],
    ['a folder with contents', part(row('a', 1, 0o755, 0, 1))],
    ['a link without a target', part(row('a', 2, 0o777, 0, ''))],
    ['rows of another form', part('[[]]')],
    ['a row that is no list', part('[[],[{}]]')],
  ])('is refused with %s', (_, packed) => {
    expect(codeOf(() => unpackWholeEdit(packed))).toBe('internal');
  });

  it('is accepted with every kind of entry', () => {
    const entries = [dir('d'), file('d/f', 'f'), link('l', 'd/f')];
    expect(unpackWholeEdit(pack(entries)).entries).toEqual(entries);
  });
});
