import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readOnlyTree } from '../../packages/core/src/fs/flat-entries.ts';
import {
  BLOCK_BYTES,
  type EncodedLayer,
  encodeLayer,
  LayerIndex,
} from '../../packages/core/src/fs/layer-index.ts';
import { type DirNode, visitTree } from '../../packages/core/src/fs/nodes.ts';
import { repetitions } from '../support/repetitions.ts';
import { tree } from './arbitraries.ts';
import { codeOf, dir, file, link } from './support.ts';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest();

/** The nodes by path, without inode numbers, whose order is that of the index. */
function nodesOf(root: DirNode): Map<string, object> {
  const nodes = new Map<string, object>();
  visitTree(root, (path, node) => {
    const { kind, mode, mtimeMs, ctimeMs, nlink, readonly } = node;
    const content = kind === 'file' ? [...node.data] : kind === 'symlink' ? node.target : undefined;
    const size = kind === 'file' ? node.size : undefined;
    nodes.set(path, { kind, mode, mtimeMs, ctimeMs, nlink, readonly, content, size });
  });
  return nodes;
}

const decode = ({ index, data }: EncodedLayer, layer = 1) =>
  new LayerIndex(index).tree(layer, (offset, size) => data.subarray(offset, offset + size));

describe('layer index', () => {
  it('describes every tree', () => {
    fc.assert(
      fc.property(tree, (entries) => {
        expect(nodesOf(decode(encodeLayer(entries, sha256)))).toEqual(nodesOf(readOnlyTree(entries)));
      }),
    );
  });

  it('gives every node an inode number of its layer', () => {
    const root = decode(encodeLayer([dir('d'), file('d/f'), link('l', 'd')], sha256), 3);
    const numbers = [root.ino];
    visitTree(root, (_, { ino }) => numbers.push(ino));
    expect(numbers.sort()).toEqual([0, 1, 2, 3].map((i) => 3 * 2 ** 24 + i));
  });

  it('reads a file once, when its data is first used', () => {
    const { index, data } = encodeLayer([dir('d'), file('d/a', 'one'), file('d/b', 'two')], sha256);
    const reads: [number, number][] = [];
    const root = new LayerIndex(index).tree(1, (offset, size) => {
      reads.push([offset, size]);
      return data.subarray(offset, offset + size);
    });
    const node = (root.entries.get('d') as DirNode).entries.get('b')!;
    expect(node).toMatchObject({ kind: 'file', size: 3 });
    // Matching compares the data of no file.
    const before = reads.length;
    if (node.kind === 'file')
      expect([String.fromCharCode(...node.data), node.data.length]).toEqual(['two', 3]);
    expect([before, reads]).toEqual([0, [[3, 3]]]);
  });

  it('stores the data in the order of the entries and a digest of every block', () => {
    const big = { ...file('a'), data: new Uint8Array(BLOCK_BYTES + 5).fill(7) };
    const { index, data } = encodeLayer([file('z', 'first'), big], sha256);
    expect(new TextDecoder().decode(data.subarray(0, 5))).toBe('first');
    const decoded = new LayerIndex(index);
    expect(decoded.dataBytes).toBe(BLOCK_BYTES + 10);
    expect(decoded.blockDigest(0)).toEqual(new Uint8Array(sha256(data.subarray(0, BLOCK_BYTES))));
    expect(decoded.blockDigest(1)).toEqual(new Uint8Array(sha256(data.subarray(BLOCK_BYTES))));
  });

  it('is equal for equal trees in the same order', () => {
    const entries = [dir('d'), file('d/f', 'text')];
    expect(encodeLayer(entries, sha256)).toEqual(encodeLayer(structuredClone(entries), sha256));
    expect(encodeLayer([file('x', '1')], sha256).index).not.toEqual(
      encodeLayer([file('x', '2')], sha256).index,
    );
  });

  it('rejects entries that are not a tree, and bytes that are not an index', () => {
    expect(codeOf(() => encodeLayer([file('a/b')], sha256))).toBe('invalid_path');
    const { index } = encodeLayer([file('a', 'text')], sha256);
    for (const bytes of [new Uint8Array(0), index.subarray(1), index.subarray(0, -1)])
      expect(codeOf(() => new LayerIndex(bytes))).toBe('image_invalid');
  });

  it('passes the check of untrusted indexes for every tree', () => {
    fc.assert(
      fc.property(tree, (entries) => {
        const { index, data } = encodeLayer(entries, sha256);
        new LayerIndex(index).check(data.length);
      }),
    );
  });

  const sample = encodeLayer(
    [dir('d'), file('d/a', 'one'), dir('d/e'), file('d/e/f', 'three'), link('l', 'd/a'), file('z', 'last')],
    sha256,
  );
  const RECORD = 24;
  const at = (entry: number, field: number) => 24 + RECORD * entry + field;
  const FORGED: Record<string, (view: DataView) => void> = {
    'a directory that contains itself': (view) => view.setUint32(at(0, 16), 0, true),
    'a directory that contains entries of another': (view) => view.setUint32(at(0, 16), 4, true),
    'children that do not exist': (view) => view.setUint32(at(0, 20), 1000, true),
    'entries without a parent': (view) => view.setUint32(at(0, 20), 1, true),
    'a file outside the data': (view) => view.setUint32(at(3, 20), 2 ** 31, true),
    'an unknown kind': (view) => view.setUint32(at(3, 12), 3, true),
    'a mode with unknown bits': (view) => view.setUint32(at(3, 8), 0o10644, true),
    'a time that is not a number': (view) => view.setFloat64(at(3, 0), Number.NaN, true),
    'more data than there is': (view) => view.setUint32(16, 100, true),
    'a name with a slash': (view) => view.setUint8(at(6, 0), 0x2f),
    'a missing name': (view) => view.setUint8(at(6, 0), 0),
  };
  for (const [problem, forge] of Object.entries(FORGED))
    it(`rejects an untrusted index with ${problem}`, () => {
      const index = sample.index.slice();
      forge(new DataView(index.buffer));
      expect(codeOf(() => new LayerIndex(index).check(sample.data.length))).toBe('image_invalid');
    });

  it('describes a finite tree within the data whenever an untrusted index passes the check', () => {
    const byte = fc.tuple(fc.nat(sample.index.length - 1), fc.nat(255));
    fc.assert(
      fc.property(fc.array(byte, { minLength: 1, maxLength: 3 }), (changes) => {
        const index = sample.index.slice();
        for (const [position, value] of changes) index[position] = value;
        const code = codeOf(() => new LayerIndex(index).check(sample.data.length));
        if (code !== 'ok') {
          expect(code).toBe('image_invalid');
          return;
        }
        let nodes = 0;
        visitTree(decode({ index, data: sample.data }), (_, node) => {
          nodes++;
          if (node.kind === 'file') expect(node.data.length).toBe(node.size);
        });
        expect(nodes).toBe(6);
      }),
      { numRuns: repetitions(150, 1500) },
    );
  });
});

it('a folder may contain more files than a call has arguments', { tags: 'full' }, () => {
  const files = Array.from({ length: 150_000 }, (_, i) => file(`d/f${i}`));
  expect(encodeLayer([dir('d'), ...files], sha256).index.length).toBeGreaterThan(0);
});
