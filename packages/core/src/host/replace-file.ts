/**
 * Replaces a file atomically: a reader sees all of the old file or all of the new one. If writing fails, the old file stays and
 * no other file remains.
 */
import { randomUUID } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Only the owner can access files and folders of caches, stores and the state of this program, whatever the umask is. */
export const PRIVATE_FILE = 0o600;
export const PRIVATE_FOLDER = 0o700;
/** For files of the user, where the umask decides. */
export const SHARED_FILE = 0o666;

/** The folder must exist. A link is replaced, not followed. */
export function replaceFileSync(path: string, content: string | Uint8Array, mode = PRIVATE_FILE): void {
  // The name does not contain that of the file, which may already have the maximum length.
  const unfinished = join(dirname(path), `.${randomUUID()}`);
  try {
    writeFileSync(unfinished, content, { mode, flag: 'wx' });
    renameSync(unfinished, path);
  } catch (cause) {
    rmSync(unfinished, { force: true });
    throw cause;
  }
}
