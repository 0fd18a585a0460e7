/** Creates a folder that the user configured, and checks that files in it can be read and written. */
import { constants } from 'node:fs';
import { access, mkdir } from 'node:fs/promises';

/** Creates the folder if it does not exist. Throws if files in it cannot be read or written. */
export async function ensureWritableFolder(path: string): Promise<void> {
  await mkdir(path, { recursive: true });
  await access(path, constants.R_OK | constants.W_OK);
}
