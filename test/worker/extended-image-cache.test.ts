import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sha256 } from '../../packages/core/src/framing/digest.ts';
import { encodeJsonHeader } from '../../packages/core/src/framing/json-header.ts';
import { toShared } from '../../packages/core/src/fs/shared-array-buffers.ts';
import { encodeMemoryLayer } from '../../packages/core/src/host/shared-layer.ts';
import {
  type GuestAssets,
  layersDigest,
} from '../../packages/core/src/runtimes/artifacts/guest-artifacts.ts';
import {
  readCachedImage,
  writeCachedImage,
} from '../../packages/core/src/worker/pool/extended-image-cache.ts';
import { folderOfFile } from '../support/folders.ts';

const folder = folderOfFile();
const images = join(folder, 'images');
const before = process.env['LLM_WASM_SANDBOX_CACHE'];
beforeAll(() => {
  process.env['LLM_WASM_SANDBOX_CACHE'] = folder;
  mkdirSync(images);
});
afterAll(() => {
  if (before === undefined) delete process.env['LLM_WASM_SANDBOX_CACHE'];
  else process.env['LLM_WASM_SANDBOX_CACHE'] = before;
});

const origin = { runtime: 'python', module: 'a'.repeat(64), layers: layersDigest([]) };
const base = { origin, layers: [] } as unknown as GuestAssets;
const added = encodeMemoryLayer('/data/packages', [{ path: 'd', kind: 'dir', mode: 0o755, mtimeMs: 0 }]);
const extended = {
  origin: { ...origin, layers: layersDigest([added]) },
  minMemoryBytes: 65_536,
  layers: [added],
  image: new Uint8Array([1, 2, 3]),
};
const layer = {
  at: added.at,
  indexBytes: added.head.bytes.length,
  dataBytes: added.data.length,
};
const contents = Buffer.concat([added.head.bytes, added.data, extended.image]);

/** Writes a file whose digest is correct. */
function forge(key: string, header: unknown): void {
  const bytes = Buffer.concat([encodeJsonHeader(header), contents]);
  writeFileSync(join(images, key), Buffer.concat([bytes, sha256(`images/${key}\n`, bytes)]));
}

describe('cached image', () => {
  test('is read as it was written', async () => {
    writeCachedImage('written', base, extended);
    const header = {
      origin: extended.origin,
      minMemoryBytes: 65_536,
      layers: [layer],
      digest: layersDigest([added]),
    };
    forge('forged', header);
    for (const key of ['written', 'forged']) {
      const found = await readCachedImage(key, base);
      expect(found).toMatchObject({ origin: extended.origin, minMemoryBytes: 65_536 });
      expect([...found!.image!]).toEqual([1, 2, 3]);
    }
  });

  test('without preloaded modules contains only the packages', async () => {
    writeCachedImage('packages', base, { ...extended, image: undefined });
    const found = await readCachedImage('packages', base);
    expect(found!.layers).toHaveLength(1);
    expect(found!.image).toBeUndefined();
  });

  test.each<[string, unknown]>([
    ['of another module', { origin: { ...extended.origin, module: 'b' } }],
    ['of another runtime', { origin: { ...extended.origin, runtime: 'javascript' } }],
    ['without an origin', { origin: undefined }],
    ['whose layer is at another place', { layers: [{ ...layer, at: '/usr/lib' }] }],
    ['with a negative length', { layers: [{ ...layer, indexBytes: -1 }] }],
    ['with lengths beyond the end', { layers: [{ ...layer, dataBytes: 2 ** 40 }] }],
    ['without layers', { layers: null }],
    ['with an invalid size of the memory', { minMemoryBytes: '1' }],
  ])('%s is not used', async (_, forged) => {
    const { origin } = extended;
    const digest = layersDigest([added]);
    forge('key', { origin, minMemoryBytes: 65_536, layers: [layer], digest, ...(forged as object) });
    expect(await readCachedImage('key', base)).toBeUndefined();
  });

  test('of several parts is read as it was written, and not used if it is damaged', async () => {
    const image = toShared(Uint8Array.from({ length: 2_500_000 }, (_, i) => i % 251));
    writeCachedImage('large', base, { ...extended, image });
    const found = await readCachedImage('large', base);
    expect(Buffer.compare(found!.image!, image)).toBe(0);
    const path = join(images, 'large');
    const bytes = readFileSync(path);
    const changed = Buffer.from(bytes);
    changed[2_000_000]! ^= 1;
    for (const damaged of [changed, bytes.subarray(0, 1000), bytes.subarray(0, -1)]) {
      writeFileSync(path, damaged);
      expect(await readCachedImage('large', base)).toBeUndefined();
      expect(existsSync(path)).toBe(false);
    }
  });

  // guarantee: shared-resources
  // proves: A cached image is not used under another key, and a file of one kind not as one of another.
  test('is not used under another key', async () => {
    writeCachedImage('one', base, extended);
    copyFileSync(join(images, 'one'), join(images, 'other'));
    expect(await readCachedImage('other', base)).toBeUndefined();
    expect(await readCachedImage('one', base)).toBeDefined();
  });

  test('that is a pipe, a device, a folder or empty is not used', async () => {
    expect(spawnSync('mkfifo', [join(images, 'pipe')]).status).toBe(0);
    symlinkSync('/dev/zero', join(images, 'device'));
    mkdirSync(join(images, 'folder'));
    writeFileSync(join(images, 'empty'), '');
    for (const key of ['pipe', 'device', 'folder', 'empty'])
      expect(await readCachedImage(key, base)).toBeUndefined();
  });
});
