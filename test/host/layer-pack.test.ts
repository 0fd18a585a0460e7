import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../packages/core/src/fs/flat-entries.ts';
import { BLOCK_BYTES } from '../../packages/core/src/fs/layer-index.ts';
import type { FileNode } from '../../packages/core/src/fs/nodes.ts';
import { OpenLayer } from '../../packages/core/src/host/layer-pack.ts';
import {
  encodeMemoryLayer,
  packedLayer,
  type SharedLayer,
} from '../../packages/core/src/host/shared-layer.ts';
import { encodePack } from '../../packages/core/src/runtimes/build/encode-pack.ts';
import { codeOf } from '../fs/support.ts';
import { folderOfFile } from '../support/folders.ts';

const folder = folderOfFile();

const entry = (path: string, data: Uint8Array): Entry => ({
  path,
  kind: 'file',
  mode: 0o444,
  mtimeMs: 5,
  data,
});
/** Three files: the first fills block 0 and part of block 1, the last is in block 2. */
const FILES = [
  entry(
    'long',
    new Uint8Array(BLOCK_BYTES + 100).map((_, i) => i % 251),
  ),
  entry('filler', new Uint8Array(BLOCK_BYTES - 50).fill(3)),
  entry('short', new TextEncoder().encode('some text')),
];
const { facts, pack } = await encodePack('/lib', FILES);

let files = 0;

/** A layer whose file is the pack after `change`. */
function layerOf(change: (bytes: Uint8Array) => Uint8Array = (bytes) => bytes): SharedLayer {
  const path = join(folder, `layer-${files++}.pack`);
  writeFileSync(path, change(new Uint8Array(pack)));
  return packedLayer(path, facts);
}

const isEqual = (a: Uint8Array, b: Uint8Array) => Buffer.compare(a, b) === 0;
const fileIn = (layer: OpenLayer, name: string) => layer.tree(1).entries.get(name) as FileNode;

describe('packed layer', () => {
  it('reads the blocks of a file when it is used, and no others', () => {
    const shared = layerOf();
    const node = fileIn(new OpenLayer(shared), 'short');
    expect([...shared.loaded]).toEqual([0, 0, 0]);
    expect(new TextDecoder().decode(node.data.slice())).toBe('some text');
    expect([...shared.loaded]).toEqual([0, 0, 1]);
    expect(isEqual(fileIn(new OpenLayer(shared), 'long').data, FILES[0]!.data!)).toBe(true);
    expect([...shared.loaded]).toEqual([1, 1, 1]);
  });

  it('shares what one thread has read with the others', () => {
    const shared = layerOf();
    void fileIn(new OpenLayer(shared), 'short').data;
    writeFileSync(shared.head.path, '');
    expect(fileIn(new OpenLayer(shared), 'short').data).toEqual(FILES[2]!.data);
  });

  it('has the same digest and contents in memory', () => {
    const inMemory = encodeMemoryLayer('/lib', FILES);
    expect(inMemory.sha256).toBe(facts.sha256);
    expect(isEqual(fileIn(new OpenLayer(inMemory), 'long').data, FILES[0]!.data!)).toBe(true);
  });

  it('fails with EIO for a damaged block, reports the damage, and serves the other blocks', () => {
    const layer = new OpenLayer(
      layerOf((bytes) => {
        bytes[bytes.length - 1]! ^= 0x55;
        return bytes;
      }),
    );
    expect(codeOf(() => fileIn(layer, 'short').data)).toBe('EIO');
    expect(() => layer.checkDamage()).toThrow(/layer-\d+\.pack is damaged: block 2 .*npm run build/);
    expect(() => layer.checkDamage()).not.toThrow(folder);
    expect(isEqual(fileIn(layer, 'long').data, FILES[0]!.data!)).toBe(true);
  });

  it('is rejected as a whole for any damage', () => {
    for (let at = 0; at < pack.length; at += Math.max(1, Math.floor(pack.length / 60))) {
      const shared = layerOf((bytes) => {
        bytes[at]! ^= 0x10;
        return bytes;
      });
      const code = codeOf(() => new OpenLayer(shared).verify());
      // Compressed data has bits without a meaning.
      if (at < facts.head_bytes || code !== 'ok') expect([at, code]).toEqual([at, 'image_invalid']);
      else expect(isEqual(shared.data, encodeMemoryLayer('/lib', FILES).data)).toBe(true);
    }
    for (const size of [0, 10, facts.head_bytes, pack.length - 1]) {
      const shared = layerOf((bytes) => bytes.subarray(0, size));
      expect(codeOf(() => new OpenLayer(shared).verify())).toBe('image_invalid');
    }
    expect(codeOf(() => new OpenLayer(layerOf()).verify())).toBe('ok');
  });
});
