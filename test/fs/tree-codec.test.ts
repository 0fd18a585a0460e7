import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../packages/core/src/fs/flat-entries.ts';
import { visitTree } from '../../packages/core/src/fs/nodes.ts';
import { packEntries, readOnlyTree, unpackEntries } from '../../packages/core/src/fs/tree-codec.ts';
import { repetitions } from '../support/repetitions.ts';
import { tree } from './arbitraries.ts';
import { codeOf, dir, file, link } from './support.ts';

const byPath = (a: Entry, b: Entry) => (a.path < b.path ? -1 : 1);

const SAMPLE = [dir('d'), file('d/f', 'some text'), file('empty'), link('l', 'd/f'), file('z', '12345678')];

describe('packEntries', () => {
  it('round-trips every tree', () => {
    fc.assert(
      fc.property(tree, (entries) => {
        expect(unpackEntries(packEntries(entries))).toEqual([...entries].sort(byPath));
      }),
    );
  });

  it('gives equal bytes for equal trees, whatever the order of the entries', () => {
    fc.assert(
      fc.property(
        tree.chain((entries) =>
          fc.tuple(
            fc.constant(entries),
            fc.shuffledSubarray(entries, { minLength: entries.length, maxLength: entries.length }),
          ),
        ),
        ([entries, shuffled]) => {
          expect(packEntries(shuffled)).toEqual(packEntries(entries));
          expect(packEntries(unpackEntries(packEntries(entries)))).toEqual(packEntries(entries));
        },
      ),
    );
    expect(packEntries([{ ...file('f'), mtimeMs: -0 }])).toEqual(packEntries([{ ...file('f'), mtimeMs: 0 }]));
  });

  it('unpacks views of shared memory at any offset without copying', () => {
    const packed = packEntries(SAMPLE);
    const shared = new Uint8Array(new SharedArrayBuffer(packed.length + 3), 3);
    shared.set(packed);
    const entries = unpackEntries(shared);
    expect(new TextDecoder().decode(Uint8Array.from(entries[1]?.data ?? []))).toBe('some text');
    expect(entries.every(({ data }) => data === undefined || data.buffer === shared.buffer)).toBe(true);
  });

  it('rejects entries that do not form a tree', () => {
    expect(codeOf(() => packEntries([file('a/b')]))).toBe('invalid_path');
    expect(codeOf(() => readOnlyTree([file('a/b')]))).toBe('image_invalid');
  });

  it('starts with a fixed magic number and version', () => {
    expect(new TextDecoder().decode(packEntries([]).subarray(0, 8))).toBe('lwstree\x01');
    expect(packEntries([])).toHaveLength(16);
  });
});

describe('unpackEntries with damaged bytes', () => {
  const packed = packEntries(SAMPLE);
  const accepted = (bytes: Uint8Array) => {
    const code = codeOf(() => unpackEntries(bytes));
    expect(['ok', 'image_invalid']).toContain(code);
    return code === 'ok';
  };

  it('rejects truncated and extended bytes', () => {
    for (let length = 0; length < packed.length; length++)
      expect(accepted(packed.slice(0, length))).toBe(false);
    for (const more of [1, 8])
      expect(accepted(Uint8Array.from([...packed, ...new Uint8Array(more)]))).toBe(false);
  });

  it('rejects every single bit flip, or decodes it to the tree whose encoding it is', () => {
    for (let bit = 0; bit < packed.length * 8; bit++) {
      const damaged = packed.slice();
      damaged[bit >> 3]! ^= 1 << (bit & 7);
      if (accepted(damaged)) expect(packEntries(unpackEntries(damaged))).toEqual(damaged);
    }
  });

  it('throws only image_invalid for random damage and random bytes', () => {
    const change = fc.tuple(fc.nat(packed.length - 1), fc.nat(255));
    fc.assert(
      fc.property(
        fc.array(change, { minLength: 1, maxLength: 6 }),
        fc.uint8Array({ maxLength: 99 }),
        (list, noise) => {
          const damaged = packed.slice();
          for (const [at, value] of list) damaged[at] = value;
          if (accepted(damaged)) expect(packEntries(unpackEntries(damaged))).toEqual(damaged);
          accepted(Uint8Array.from([...packed.subarray(0, 16), ...noise]));
          accepted(noise);
        },
      ),
      { numRuns: repetitions(300, 3000) },
    );
  });

  it('rejects huge counts, impossible sizes and invalid times before it allocates memory', () => {
    const at = (offset: number, value: number, isDouble = false) => {
      const damaged = packed.slice();
      const view = new DataView(damaged.buffer);
      if (isDouble) view.setFloat64(offset, value, true);
      else view.setUint32(offset, value, true);
      return accepted(damaged);
    };
    expect(at(8, 0xffffffff)).toBe(false);
    for (const time of [-0, Number.NaN, 9e15]) expect(at(16, time, true)).toBe(false);
    expect(at(12, 0xffffffff)).toBe(false);
    for (const size of [1e15, 2 ** 53, -8, Number.NaN, Number.POSITIVE_INFINITY, 0.5, -0]) {
      expect(at(16 + 24 + 8, size, true)).toBe(false);
    }
  });
});

describe('readOnlyTree', () => {
  it('builds read-only nodes', () => {
    const seen: string[] = [];
    const root = readOnlyTree(SAMPLE, 3);
    visitTree(root, (path, node) => seen.push(`${node.kind} ${path} ${node.readonly} ${node.nlink}`));
    expect(seen.sort()).toEqual([
      'dir d true 1',
      'file d/f true 1',
      'file empty true 1',
      'file z true 1',
      'symlink l true 1',
    ]);
    expect(root.ino).toBe(3 * 2 ** 24);
  });
});
