/** Deletes sessions that have not been used for some time. */

import { isoTime } from '../schema/iso-time.ts';
import type { PruneOptions } from '../schema.ts';
import type { SessionRecord, SessionStore } from '../stores/store.ts';
import type { PruneReport } from './registry-options.ts';

const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;

interface PrunedSessions {
  readonly store: SessionStore;
  list(): Promise<SessionRecord[]>;
  delete(session_id: string): Promise<number>;
}

/** `isRequestedSince` returns whether a session was requested after a given time; such a session is not deleted. */
export async function pruneSessions(
  sessions: PrunedSessions,
  isRequestedSince: (session_id: string, ms: number) => boolean,
  { older_than_hours, dry_run = false, include_very_old = false }: PruneOptions,
): Promise<PruneReport> {
  const beforeMs = Date.now() - older_than_hours * HOUR_MS;
  const before = isoTime(beforeMs);
  const old = (await sessions.list()).filter(
    ({ session_id, last_used_at }) => last_used_at <= before && !isRequestedSince(session_id, beforeMs),
  );
  const pruned: { session_id: string; bytes: number }[] = [];
  const errors = (await sessions.store.list()).damaged.map((session_id) => ({
    session_id,
    error: 'The session is damaged, so its age is unknown. Save the files you need, then delete it by name.',
  }));
  const veryOld = isoTime(beforeMs - YEAR_MS);
  for (const { session_id, last_used_at } of old) {
    if (last_used_at <= veryOld && !include_very_old) {
      errors.push({ session_id, error: keptText(last_used_at) });
      continue;
    }
    try {
      const bytes = dry_run ? await sessions.store.size(session_id) : await sessions.delete(session_id);
      pruned.push({ session_id, bytes });
    } catch (cause) {
      errors.push({ session_id, error: cause instanceof Error ? cause.message : String(cause) });
    }
  }
  return { pruned, reclaimed_bytes: pruned.reduce((sum, { bytes }) => sum + bytes, 0), errors, dry_run };
}

/** A clock that is far ahead makes every session look old. */
const keptText = (lastUsed: string) =>
  `The session was kept: it was last used at ${lastUsed}, and the clock of this machine says ${isoTime(Date.now())}. ` +
  'If the clock is right, delete it with include_very_old (session prune --include-very-old).';
