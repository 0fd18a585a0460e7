/** Reads a small JSON file that the user specifies. */
import { SandboxError } from '../errors.ts';
import { formatBytes } from '../quantities.ts';
import { readUpTo } from './read-bounded-file.ts';

const MAX_BYTES = 1024 * 1024;

/** Throws `SandboxError` with the code `invalid_argument`. The error does not quote the contents. */
export function readJsonFile(path: string, what: string): unknown {
  const text = readText(path, what);
  try {
    return JSON.parse(text);
  } catch {
    throw new SandboxError('invalid_argument', `The ${what} ${path} is not valid JSON.`);
  }
}

function readText(path: string, what: string): string {
  const fail = (reason: string, cause?: unknown) =>
    new SandboxError('invalid_argument', `Cannot read the ${what} ${path}: ${reason}`, { cause });
  try {
    // The size of a pipe or a device is not known.
    const bytes = readUpTo(path, MAX_BYTES);
    if (bytes === undefined) throw fail(`it has more than ${formatBytes(MAX_BYTES)}.`);
    return bytes.toString('utf8');
  } catch (cause) {
    throw cause instanceof SandboxError ? cause : fail((cause as Error).message, cause);
  }
}
