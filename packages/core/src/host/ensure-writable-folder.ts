/** Creates folders that only the owner can access. */
import { constants, mkdirSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { PRIVATE_FOLDER } from './replace-file.ts';

/** Creates the folder and its parents, unless they exist. */
export function ensurePrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: PRIVATE_FOLDER });
}

/** Creates a folder that the user configured, unless it exists. Throws if files in it cannot be read or written. */
export async function ensureWritableFolder(path: string): Promise<void> {
  ensurePrivateFolder(path);
  await access(path, constants.R_OK | constants.W_OK);
}
