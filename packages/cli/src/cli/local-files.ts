/** Files of the user that are named on the command line: programs, input, exports and copied results. */
import { closeSync, fstatSync, lstatSync, mkdirSync, openSync, readSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  escapeControls,
  formatBytes,
  formatItems,
  replaceFileSync,
  SHARED_FILE,
} from '@llm-wasm-sandbox/core/internal';
import { UsageError } from './exit-codes.ts';

// Devices and pipes may have no end.
const MAX_FILE_BYTES = 2 ** 30;
export const MAX_PROGRAM_BYTES = 10 * 2 ** 20;
const CHUNK_BYTES = 64 * 1024;

/** Reads a file, or standard input for "-". */
export function readLocalFile(path: string, maxBytes = MAX_FILE_BYTES, advice = ''): Buffer<ArrayBuffer> {
  try {
    if (path === '-') return readToEnd(0, maxBytes, advice);
    const fd = openSync(path, 'r');
    try {
      return readToEnd(fd, maxBytes, advice);
    } finally {
      closeSync(fd);
    }
  } catch (cause) {
    throw new UsageError(`Cannot read ${path}: ${(cause as Error).message}`);
  }
}

/** Reads a program, which is one file or standard input. */
export function readProgramText(path: string): string {
  const advice = ' Pass data to the program with --file, --stdin or --mount.';
  return readLocalFile(path, MAX_PROGRAM_BYTES, advice).toString('utf8');
}

function readToEnd(fd: number, maxBytes: number, advice: string): Buffer<ArrayBuffer> {
  const chunks: Buffer<ArrayBuffer>[] = [];
  let total = 0;
  // The size of a device or pipe is 0.
  let chunk = Buffer.allocUnsafe(Math.min(fstatSync(fd).size, maxBytes) + CHUNK_BYTES);
  for (let count = readSync(fd, chunk); count > 0; count = readSync(fd, chunk)) {
    chunks.push(chunk.subarray(0, count));
    total += count;
    if (total > maxBytes)
      throw new Error(`it is larger than the limit of ${formatBytes(maxBytes)}.${advice}`);
    chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  }
  return Buffer.concat(chunks, total);
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
 * A name that starts with a dot, or that a file system takes for one: some ignore invisible characters, and some have a second,
 * short name for `.git`. Programs read settings from such files and run commands in them.
 */
const HIDDEN_NAME = /^\p{Default_Ignorable_Code_Point}*\.|^git~\d/iu;

const isHidden = (path: string) => path.split('/').some((name) => HIDDEN_NAME.test(name));

/** Skipped files that a message names. */
const MAX_NAMED = 5;

interface CopiedFiles {
  readonly copied: readonly string[];
  /** A message about the files that were not copied. */
  readonly note: string | undefined;
}

/**
 * Copies workspace files into a folder. `paths` are relative to the workspace and never lead out of it. Nothing below `folder`
 * is written through a link. Guests choose the names, so hidden files are copied only on request.
 */
export async function copyWorkspaceFiles(
  paths: readonly string[],
  read: (path: string) => Promise<Uint8Array>,
  folder: string,
  { hidden = false } = {},
): Promise<CopiedFiles> {
  // On Windows, a backslash or a colon would lead out of the folder.
  const isSafe = (path: string) => process.platform !== 'win32' || !/[\\:]/.test(path);
  const copied = paths.filter((path) => isSafe(path) && (hidden || !isHidden(path)));
  for (const path of copied) {
    const bytes = await read(path);
    try {
      mkdirSync(folder, { recursive: true });
      writeBelow(folder, path.split('/'), bytes);
    } catch (cause) {
      throw new UsageError(`Cannot write ${join(folder, path)}: ${(cause as Error).message}`);
    }
  }
  return { copied, note: skippedText(paths.filter(isSafe).filter(isHidden), hidden) };
}

function skippedText(paths: readonly string[], hidden: boolean): string | undefined {
  if (hidden || paths.length === 0) return undefined;
  const names = paths.slice(0, MAX_NAMED).map((path) => escapeControls(path.slice(0, 100)));
  const rest = paths.length > MAX_NAMED ? ', …' : '';
  return `${formatItems(paths.length, 'hidden file')} not copied: ${names.join(', ')}${rest}. Add --hidden to copy them.`;
}

/** Writes a file below a folder. A hard link to another file is replaced and not written through. */
function writeBelow(root: string, parts: readonly string[], bytes: Uint8Array): void {
  let folder = root;
  for (const part of parts.slice(0, -1)) {
    folder = join(folder, part);
    const found = lstatSync(folder, { throwIfNoEntry: false });
    if (found === undefined) mkdirSync(folder);
    else if (!found.isDirectory()) throw new Error(`${folder} is not a folder. ${REMOVE_ADVICE}`);
  }
  const target = join(folder, parts.at(-1)!);
  const found = lstatSync(target, { throwIfNoEntry: false });
  if (found !== undefined && !found.isFile())
    throw new Error(`${target} is a link, a folder or a device. ${REMOVE_ADVICE}`);
  replaceFileSync(target, bytes, SHARED_FILE);
}

const REMOVE_ADVICE = 'Remove it or choose another folder.';
