import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  isVerified,
  markVerified,
  readSharedFile,
  readSharedFileAhead,
  sharedFile,
} from '../../packages/core/src/host/shared-file.ts';
import { folderOfFile } from '../support/folders.ts';

const folder = folderOfFile();
const SIZE = 2_500_000;
const contents = Buffer.alloc(SIZE, 'abc');
const path = join(folder, 'file');
writeFileSync(path, contents);

describe('a shared file', () => {
  test('that is read ahead and valid is verified and not read again', async () => {
    const file = sharedFile(path, SIZE);
    const parts: Buffer[] = [];
    await readSharedFileAhead(file, (part) => {
      if (part !== undefined) parts.push(Buffer.from(part));
      return true;
    });
    expect(Buffer.concat(parts).equals(contents)).toBe(true);
    expect(isVerified(file)).toBe(true);
    file.bytes[0] = 1;
    expect(readSharedFile(file)[0]).toBe(1);
  });

  test.each([
    ['a part', (part?: Uint8Array) => part === undefined],
    ['the end', (part?: Uint8Array) => part !== undefined],
  ])('that is found invalid at %s is read again, and is not verified', async (_, isValid) => {
    const file = sharedFile(path, SIZE);
    await readSharedFileAhead(file, isValid);
    file.bytes.fill(0);
    expect(contents.equals(readSharedFile(file))).toBe(true);
    expect(isVerified(file)).toBe(false);
  });

  test('that is cut off or absent is read by the thread, which reports it', async () => {
    for (const [name, size] of [
      [path, SIZE + 1],
      [join(folder, 'absent'), 1],
    ] as const) {
      const file = sharedFile(name, size);
      await readSharedFileAhead(file, () => true);
      expect(isVerified(file)).toBe(false);
      expect(() => readSharedFile(file)).toThrow(/cut off|ENOENT/);
    }
  });

  test('is read by the thread if reading ahead makes no progress, and is then not verified ahead', async () => {
    const file = sharedFile(path, SIZE);
    const ahead = readSharedFileAhead(file, () => true);
    // Blocks the thread that reads ahead.
    expect(contents.equals(readSharedFile(file))).toBe(true);
    await ahead;
    expect(isVerified(file)).toBe(false);
    expect(contents.equals(file.bytes)).toBe(true);
  });

  test('that a thread has read is not read ahead', async () => {
    const file = sharedFile(path, SIZE);
    readSharedFile(file);
    await readSharedFileAhead(file, () => expect.fail('was read ahead'));
    expect(isVerified(file)).toBe(false);
    markVerified(file);
    expect(isVerified(file)).toBe(true);
  });
});
