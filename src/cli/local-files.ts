/** Files on the user's machine that the command line names: programs, input, exports and copied results. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { UsageError } from './exit-codes.ts';

/** Reads a file, or standard input for "-". */
export function readLocalFile(path: string): Buffer<ArrayBuffer> {
  try {
    return Buffer.from(readFileSync(path === '-' ? 0 : path));
  } catch (cause) {
    throw new UsageError(`Cannot read ${path}: ${(cause as Error).message}`);
  }
}

export function writeLocalFile(
  path: string,
  bytes: Uint8Array,
  options: { flag?: string; mode?: number } = {},
): void {
  try {
    writeFileSync(path, bytes, options);
  } catch (cause) {
    const exists = (cause as NodeJS.ErrnoException).code === 'EEXIST';
    const reason = exists
      ? 'the file already exists. Choose another name, or add --force to overwrite it.'
      : (cause as Error).message;
    throw new UsageError(`Cannot write ${path}: ${reason}`);
  }
}

/**
 * Copies workspace files into a folder and returns the paths it copied. `paths` are relative to the workspace and never
 * lead out of it.
 */
export async function copyWorkspaceFiles(
  paths: readonly string[],
  read: (path: string) => Promise<Uint8Array>,
  folder: string,
): Promise<string[]> {
  // Guests choose these names. On Windows, a backslash or a colon would lead out of the folder.
  const safe = paths.filter((path) => process.platform !== 'win32' || !/[\\:]/.test(path));
  for (const path of safe) {
    const target = join(folder, path);
    const bytes = await read(path);
    try {
      mkdirSync(dirname(target), { recursive: true });
    } catch (cause) {
      throw new UsageError(`Cannot write ${target}: ${(cause as Error).message}`);
    }
    writeLocalFile(target, bytes);
  }
  return safe;
}
