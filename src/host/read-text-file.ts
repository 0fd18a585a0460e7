/** Reads a small text file that the user specifies. */
import { readFileSync, statSync } from 'node:fs';
import { SandboxError } from '../errors.ts';
import { formatBytes } from '../quantities.ts';

const MAX_BYTES = 1024 * 1024;

/** Throws `SandboxError` with the code `invalid_argument`. */
export function readTextFile(path: string, what: string): string {
  const fail = (reason: string, cause?: unknown) =>
    new SandboxError('invalid_argument', `Cannot read the ${what} ${path}: ${reason}`, { cause });
  try {
    const { size } = statSync(path);
    if (size > MAX_BYTES)
      throw fail(`its size is ${formatBytes(size)}; the limit is ${formatBytes(MAX_BYTES)}.`);
    return readFileSync(path, 'utf8');
  } catch (cause) {
    throw cause instanceof SandboxError ? cause : fail((cause as Error).message, cause);
  }
}
