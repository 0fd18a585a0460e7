/** What a process caches when it reads wheels. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import * as reader from '../../packages/core/src/packages/read-wheel.ts';
import { unpackWheel } from '../../packages/core/src/packages/unpack-wheel.ts';
import { folderOfFile } from '../support/folders.ts';
import { wheel } from './wheel-fixtures.ts';

const folder = folderOfFile();
afterEach(() => {
  vi.useRealTimers();
});

const wheelPart = (path: string) => reader.wheelPart(path, async (file) => unpackWheel(file));

describe('a wheel', () => {
  test('is unpacked once per process while its file does not change', async () => {
    const write = (value: number) => wheel(folder, 'demo', '1.0', { 'demo.py': `VALUE = ${value}\n` });
    const path = await write(1);
    const young = [await wheelPart(path), await wheelPart(path)];
    // A file that has just been written can change again without a new timestamp.
    vi.useFakeTimers({ now: Date.now() + 60_000, toFake: ['Date'] });
    const settled = [await wheelPart(path), await wheelPart(path), await wheelPart(path)];
    const [first] = young;
    for (const { digest, topLevel } of [...young, ...settled])
      expect([digest, topLevel]).toEqual([first!.digest, ['demo']]);
    // The contents of a wheel that was unpacked are in memory; others are read again each time.
    const isInMemory = async ({ files }: reader.PackagePart) => {
      const [one, another] = [await files(), await files()];
      return one === another;
    };
    const inMemory = await Promise.all([...young, ...settled].map(isInMemory));
    expect(inMemory).toEqual([true, true, true, false, false]);
    expect(await settled[1]!.files()).toEqual(await first!.files());

    await write(2);
    expect((await wheelPart(path)).digest).not.toBe(first!.digest);
    await expect(settled[1]!.files()).rejects.toThrow(
      /demo-1\.0-py3-none-any\.whl changed while it was being read/,
    );
  });

  test('is refused if it contains another package than its file name says', async () => {
    const path = await wheel(folder, 'demo', '1.0', { 'demo.py': '', 'numpy-2.4.6.dist-info/LICENSE': '' });
    await expect(wheelPart(path)).rejects.toThrow(
      /demo-1\.0-py3-none-any\.whl contains another package than its file name says: numpy\./,
    );
  });
});
