/**
 * The command `display`: shows files as results of the call. The host reads the files, because processes cannot display results
 * themselves. Files and names come from programs, so sizes are limited, and the time is charged.
 */
import { extname } from 'node:path';
import type { UnavailableProgram } from '../../engine/child-program.ts';
import { FsError } from '../../fs/fs-error.ts';
import type { BaseDirectory } from '../../fs/resolve-path.ts';
import type { Volume } from '../../fs/volume.ts';
import { isSyscallError } from '../../kernel/syscall-error.ts';
import { readImageHeader } from '../../results/image-header.ts';
import { RESULT_LIMITS } from '../../results/result-limits.ts';

interface DisplayContext {
  readonly volume: Volume;
  readonly cwd: BaseDirectory;
  /** Fails with a system call error if the message cannot be shown. */
  display(message: Uint8Array): void;
  charge(microseconds: number): void;
}

const USAGE =
  'Usage: display FILE...\nShows images, SVG, HTML, Markdown, JSON and text files as results of the call.\n';
/** Bytes that are read, checked and encoded in a microsecond. */
const BYTES_PER_US = 100;
/** Forms of texts by extension. */
const FORMS: Readonly<Record<string, string>> = {
  '.svg': 'image/svg+xml',
  '.html': 'text/html',
  '.htm': 'text/html',
  '.md': 'text/markdown',
  '.tex': 'text/latex',
  '.json': 'application/json',
};
const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

const NO_FORM = 'it is neither an image (PNG, JPEG, GIF, WebP) nor text';

export function displayFiles(paths: readonly string[], context: DisplayContext): UnavailableProgram {
  if (paths.length === 0) return { exitCode: 2, message: USAGE };
  const problems = paths.flatMap((path) => {
    const problem = displayFile(path, context);
    return problem === undefined ? [] : [`display: ${path.slice(0, 200)}: ${problem}\n`];
  });
  return { exitCode: problems.length > 0 ? 1 : 0, message: problems.join('') };
}

/** Returns why the file is not shown. */
function displayFile(path: string, context: DisplayContext): string | undefined {
  const bytes = readBytes(path, context);
  if (typeof bytes === 'string') return bytes;
  context.charge(20 + bytes.length / BYTES_PER_US);
  const message = messageOf(path, bytes);
  if (message === undefined) return NO_FORM;
  try {
    context.display(message);
    return undefined;
  } catch (cause) {
    if (!isSyscallError(cause)) throw cause;
    return 'it is too large or too complex to be shown';
  }
}

function readBytes(path: string, { volume, cwd }: DisplayContext): Uint8Array | string {
  try {
    const node = volume.lookup(path, cwd, true);
    if (node.kind !== 'file') return 'Is a directory';
    if (node.size > RESULT_LIMITS.messageBytes) return 'it is larger than 8 MiB';
    const bytes = new Uint8Array(node.size);
    volume.read(node, 0, bytes);
    return bytes;
  } catch (cause) {
    if (cause instanceof FsError) return 'No such file or directory';
    throw cause;
  }
}

/** The message that a program would write to display the contents; undefined if they have no form. */
function messageOf(path: string, bytes: Uint8Array): Uint8Array | undefined {
  const image = readImageHeader(bytes);
  if (image !== undefined)
    return Buffer.concat([encoder.encode(JSON.stringify({ data: {}, binary: image.mime })), ZERO, bytes]);
  const text = textOf(bytes);
  if (text === undefined) return undefined;
  const form = FORMS[extname(path).toLowerCase()] ?? 'text/plain';
  const data = form === 'application/json' ? (jsonOf(text) ?? { 'text/plain': text }) : { [form]: text };
  return encoder.encode(JSON.stringify({ data }));
}

const ZERO = new Uint8Array(1);

function textOf(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}

/** Only text that is small enough is parsed here. Its shape is checked like that of every message. */
function jsonOf(text: string): Record<string, unknown> | undefined {
  if (text.length > RESULT_LIMITS.formBytes) return undefined;
  try {
    return { 'application/json': JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}
