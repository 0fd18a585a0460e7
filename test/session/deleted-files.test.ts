/** Files that were deleted while open belong to the state of a session. Their contents are stored when they have changed. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { createSandbox, diskStore } from 'llm-wasm-sandbox';
import { expect, test } from 'vitest';
import { folderOfFile } from '../support/folders.ts';

const folder = folderOfFile();

const bytesIn = (path: string): number =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);

const SIZE = 4_000_000;

test('a deleted file that stays open is stored once, and is restored with what was written to it', async () => {
  const open = () =>
    createSandbox({ runtime: 'python', session_id: 's', store: diskStore(folder), commit: 'answer' });
  let session = await open();
  await session.execute('x = 0');
  const before = bytesIn(folder);
  const grown = () => Math.floor((bytesIn(folder) - before) / SIZE);
  await session.execute(`import os
f = open('gone', 'w+b')
for _ in range(400): f.write(os.urandom(${SIZE / 400}))
f.flush()
os.remove('gone')`);
  for (let call = 0; call < 4; call++) await session.execute('x += 1');
  expect(grown()).toBe(1);
  await session.close();
  session = await open();
  const { metadata } = await session.execute('f.seek(0)\n[x, os.fstat(f.fileno()).st_size]');
  expect(metadata.result).toEqual([4, SIZE]);
  expect(grown()).toBe(1);
  await session.execute('f.seek(0)\nf.write(b"new")\nf.flush()');
  const { metadata: after } = await session.execute('f.seek(0)\nf.read(3).decode()');
  expect(after.result).toBe('new');
  await session.close();
});
