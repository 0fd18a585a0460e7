/**
 * Replaces a file atomically: a reader sees all of the old file or all of the new one. If writing fails, the old file stays and
 * no other file remains.
 */
import { randomUUID } from 'node:crypto';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** `mode` sets the permissions of the new file. The folder must exist. A link is replaced, not followed. */
export function replaceFileSync(path: string, content: string | Uint8Array, mode = 0o666): void {
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
