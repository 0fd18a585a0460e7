import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { folderSize, removeFolder } from '../../../packages/core/src/stores/disk/folder-size.ts';
import { folderOfFile } from '../../support/folders.ts';

const root = folderOfFile();

test('a folder is measured and deleted with everything in it, and links are not followed', async () => {
  const outside = join(root, 'outside');
  const folder = join(root, 'folder');
  mkdirSync(outside);
  writeFileSync(join(outside, 'kept'), 'kept');
  mkdirSync(join(folder, 'a', 'b'), { recursive: true });
  for (let i = 0; i < 100; i++) writeFileSync(join(folder, 'a', 'b', `f${i}`), 'x');
  symlinkSync(outside, join(folder, 'a', 'link'));
  symlinkSync(join(outside, 'kept'), join(folder, 'file-link'));
  expect(await folderSize(folder)).toBe(100);
  await removeFolder(folder);
  expect(existsSync(folder)).toBe(false);
  expect(readdirSync(outside)).toEqual(['kept']);
  await removeFolder(folder);
  writeFileSync(folder, 'a file');
  await removeFolder(folder);
  expect(existsSync(folder)).toBe(false);
});
