/** Reads files whose size this program does not determine. The size is checked before memory is allocated. */
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { SandboxError } from '../errors.ts';
import { formatBytes } from '../quantities.ts';

const CHUNK_BYTES = 64 * 1024;
/** Windows lacks the flag. Without it, opening a pipe would block. */
const READ_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** The contents of a regular file. Throws SandboxError `store_failed` if it has more than `maxBytes`, and errors of the system. */
export function readBoundedFile(path: string, maxBytes: number): Buffer {
  const fd = openSync(path, READ_FLAGS);
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) throw new SandboxError('store_failed', `${path} is not a regular file.`);
    if (stat.size > maxBytes) throw tooLarge(path, stat.size, maxBytes);
    const bytes = Buffer.allocUnsafeSlow(stat.size);
    let at = 0;
    for (let count = -1; count !== 0 && at < bytes.length; at += count)
      count = readSync(fd, bytes, at, bytes.length - at, null);
    // A file that was truncated meanwhile ends where the data ended.
    return bytes.subarray(0, at);
  } finally {
    closeSync(fd);
  }
}

/** The contents of a file, pipe or device that the user names; undefined if they have more than `maxBytes`. */
export function readUpTo(path: string, maxBytes: number): Buffer | undefined {
  const fd = openSync(path, 'r');
  try {
    const chunks: Buffer[] = [];
    let total = 0;
    for (let count = -1; count !== 0; ) {
      const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
      count = readSync(fd, chunk);
      chunks.push(chunk.subarray(0, count));
      total += count;
      if (total > maxBytes) return undefined;
    }
    return Buffer.concat(chunks, total);
  } finally {
    closeSync(fd);
  }
}

const tooLarge = (path: string, size: number, maxBytes: number) =>
  new SandboxError(
    'store_failed',
    `${path} has ${formatBytes(size)}, and the limit is ${formatBytes(maxBytes)}. Remove it or restore it from a copy.`,
  );
