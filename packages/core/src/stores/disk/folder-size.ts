/** Folders with many files: their disk usage, and their deletion. A few files are handled at a time. */
import { lstat, readdir, rm, rmdir, unlink } from 'node:fs/promises';
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

/**
 * Deletes a folder with its contents; links are deleted, not followed. `rm` of Node.js asks for all files of a folder at the
 * same time, and handles the answers of thousands of them in one turn of the event loop.
 */
export async function removeFolder(root: string): Promise<void> {
  const folders = (await isFolder(root)) ? [root] : [];
  for (const folder of folders) {
    await forEachConcurrently(await readdir(folder, { withFileTypes: true }), async (entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(path);
      else await unlink(path).catch(() => {});
    });
  }
  for (const folder of folders.reverse()) await rmdir(folder).catch(() => {});
  // Deletes or reports what could not be deleted.
  await rm(root, { recursive: true, force: true });
}
