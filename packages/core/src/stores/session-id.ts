/**
 * Session ids in stores. Ids that differ only in case share a folder on a case-insensitive file system, so every store
 * rejects an id that conflicts with an existing one in this way.
 */
import { invalidArgument } from '../errors.ts';
import { parse, sessionId } from '../schema.ts';

export function isSessionId(id: unknown): id is string {
  return sessionId.safeParse(id).success;
}

/** Returns `id`, or throws `invalid_argument`. */
export function checkSessionId(id: unknown): string {
  return parse(sessionId, id, 'session_id');
}

/** Maps ids that a case-insensitive file system treats as equal to the same string. */
export function foldSessionId(id: string): string {
  return id.toLowerCase();
}

/** Throws `invalid_argument` if one of `existing` differs from `id` only in case. */
export function rejectCaseConflict(id: string, existing: Iterable<string>): void {
  const folded = foldSessionId(id);
  for (const other of existing) {
    if (other === id || foldSessionId(other) !== folded) continue;
    throw invalidArgument(
      `Session id "${id}" differs only in case from the existing session "${other}", and some file systems treat the two names as equal. Use "${other}" or a different name.`,
    );
  }
}
