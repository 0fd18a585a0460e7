/** Disk usage of a folder. */
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { forEachConcurrently } from '../../concurrency/for-each-concurrently.ts';
import { isNotFound } from './file-errors.ts';
import { isFolder } from './safe-files.ts';

/** Returns the total size of all regular files below a folder; 0 if it does not exist. */
export async function folderSize(root: string): Promise<number> {
  let total = 0;
  const folders = (await isFolder(root)) ? [root] : [];
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const entries = await readdir(next, { withFileTypes: true }).catch((error) => {
      if (isNotFound(error)) return [];
      throw error;
    });
    await forEachConcurrently(entries, async (entry) => {
      const path = join(entry.parentPath, entry.name);
      if (entry.isDirectory()) folders.push(path);
      if (!entry.isFile()) return;
      // A file that was deleted after it was listed counts as 0.
      const bytes = await lstat(path).then(
        ({ size }) => size,
        () => 0,
      );
      total += bytes;
    });
  }
  return total;
}
