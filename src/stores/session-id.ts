/**
 * Which names a session may have: those that every file system, shell and URL reads the same way.
 * Invariant: a name that passes is a single path component that no system treats specially, and two names that pass
 * are different on a case-insensitive file system exactly if their folded forms are.
 */
import { SandboxError } from '../errors.ts';

const SESSION_ID = /^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$/;
/** Windows opens a device for these names in any folder. */
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)$/i;

/** Whether `id` may name a session. */
export function isSessionId(id: unknown): id is string {
  return typeof id === 'string' && SESSION_ID.test(id) && !DEVICE.test(id);
}

/** Returns `id` or throws `invalid_argument`. */
export function checkSessionId(id: unknown): string {
  if (isSessionId(id)) return id;
  const found = typeof id === 'string' ? JSON.stringify(id.slice(0, 100)) : typeof id;
  const rule = 'Use 1 to 64 letters, digits, "_" or "-", not starting with "-", and no Windows device name.';
  throw new SandboxError('invalid_argument', `${found} is no session id. ${rule}`);
}

/** The form in which ids that a file system may confuse are equal. */
export function foldSessionId(id: string): string {
  return id.toLowerCase();
}

/** Throws `invalid_argument` when one of `existing` differs from `id` by case only. */
export function refuseTwin(id: string, existing: Iterable<string>): void {
  const folded = foldSessionId(id);
  for (const other of existing) {
    if (other === id || foldSessionId(other) !== folded) continue;
    const reason = 'which some file systems cannot tell apart. Use that name or another one.';
    throw new SandboxError(
      'invalid_argument',
      `Session id "${id}" differs by case from "${other}", ${reason}`,
    );
  }
}
