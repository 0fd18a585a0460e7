import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Script } from 'node:vm';
import { describe, expect, test, vi } from 'vitest';
import { isVerified } from '../../packages/core/src/host/shared-file.ts';
import { compileValid } from '../../packages/core/src/host/v8-flags.ts';
import { prepareAhead, receiveModule } from '../../packages/core/src/worker/protocol/prepare-ahead.ts';
import { loadBuiltGuest } from '../support/built-guest.ts';
import { folderOfFile } from '../support/folders.ts';

const folder = folderOfFile();

/** The assets of the JavaScript guest, with copies of its module and image that nothing has read. */
async function assetsIn(name: string) {
  const { assets } = await loadBuiltGuest('javascript');
  const at = (file: string) => join(folder, `${name}-${file}`);
  copyFileSync(assets.module.path, at('module'));
  copyFileSync(assets.image.path, at('image'));
  return {
    ...assets,
    module: { ...assets.module, path: at('module') },
    image: {
      path: at('image'),
      bytes: new Uint8Array(new SharedArrayBuffer(assets.image.bytes.length)),
      state: new Int32Array(new SharedArrayBuffer(4)),
    },
  };
}

const damage = (path: string) => writeFileSync(path, Buffer.alloc(100));

describe('preparing a guest ahead of its thread', () => {
  test('compiles the module and verifies the image', async () => {
    const { ahead, image } = prepareAhead(await assetsIn('whole'));
    await vi.waitUntil(() => isVerified(image));
    expect(receiveModule(ahead!)).toBeInstanceOf(WebAssembly.Module);
  });

  test('leaves a damaged module or image to the thread', async () => {
    const assets = await assetsIn('damaged');
    damage(assets.module.path);
    damage(assets.image.path);
    const { ahead, image } = prepareAhead(assets);
    await vi.waitUntil(() => Atomics.load(ahead!.progress, 0) < 0 && Atomics.load(image.state, 0) === 0);
    expect(receiveModule(ahead!)).toBeUndefined();
    expect(isVerified(image)).toBe(false);
  });

  test('is not waited for while the main thread has other work', async () => {
    const { ahead } = prepareAhead(await assetsIn('busy'));
    expect(receiveModule(ahead!)).toBeUndefined();
  });
});

test('compiling a valid module leaves the code caches of the process valid', () => {
  const source = 'function f(a) { return a + 1; } f(2)';
  const cachedData = new Script(source).createCachedData();
  compileValid(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0]));
  expect(new Script(source, { cachedData }).cachedDataRejected).toBe(false);
});
