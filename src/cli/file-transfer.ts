/** Files between a person and a guest: what is read from the command line's side, and what is copied out to it. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { UsageError } from './flags.ts';

/** A file that was named on the command line, or standard input for "-". */
export function readInput(path: string): Buffer<ArrayBuffer> {
  try {
    return Buffer.from(readFileSync(path === '-' ? 0 : path));
  } catch (cause) {
    throw new UsageError(`Cannot read ${path}: ${(cause as Error).message}`);
  }
}

/** Writes a file that was named on the command line. */
export function writeOutput(
  path: string,
  bytes: Uint8Array,
  options: { flag?: string; mode?: number } = {},
): void {
  try {
    writeFileSync(path, bytes, options);
  } catch (cause) {
    const exists = (cause as NodeJS.ErrnoException).code === 'EEXIST';
    const advice = exists
      ? 'It is there already: choose another name, or add --force'
      : (cause as Error).message;
    throw new UsageError(`Cannot write ${path}: ${advice}`);
  }
}

/** Copies files of a workspace below a folder; `paths` are relative and do not climb. Returns those that were copied. */
export async function copyOut(
  paths: readonly string[],
  read: (path: string) => Promise<Uint8Array>,
  folder: string,
): Promise<string[]> {
  // A guest names its files as it likes; on Windows these characters would lead elsewhere.
  const usable = paths.filter((path) => process.platform !== 'win32' || !/[\\:]/.test(path));
  for (const path of usable) {
    const target = join(folder, path);
    const bytes = await read(path);
    try {
      mkdirSync(dirname(target), { recursive: true });
    } catch (cause) {
      throw new UsageError(`Cannot write ${target}: ${(cause as Error).message}`);
    }
    writeOutput(target, bytes);
  }
  return usable;
}
