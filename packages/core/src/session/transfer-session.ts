/** Export of a stored session as one file, and import of such a file. */
import { invalidArgument } from '../errors.ts';
import { isoTime } from '../schema/iso-time.ts';
import { importOptions, parse, sessionPolicy } from '../schema.ts';
import { decodeBundle, encodeBundle } from '../stores/bundle/session-bundle.ts';
import { checkSessionId } from '../stores/session-id.ts';
import type { Checkpoint, SessionStore, StoredSession } from '../stores/store.ts';
import type { ImportOptions } from './registry-options.ts';
import { withState } from './session-contents.ts';
import { sessionNotFound } from './session-errors.ts';

/** Reads a session from the store, with the states of its checkpoints, and encodes it. Throws `session_not_found`. */
export async function exportSession(store: SessionStore, session_id: string): Promise<Uint8Array> {
  const stored = await store.read(session_id);
  if (stored === undefined) throw sessionNotFound(session_id);
  const checkpoints: Checkpoint[] = [];
  for (const checkpoint of stored.checkpoints) {
    const state = checkpoint.state ?? (await store.readCheckpoint?.(session_id, checkpoint.name));
    checkpoints.push({ ...checkpoint, state });
  }
  return encodeBundle({ ...stored, checkpoints });
}

/** Decodes and checks an exported session. The caller writes it to the store. */
export async function decodeExport(bytes: Uint8Array, options: ImportOptions): Promise<StoredSession> {
  if (!(bytes instanceof Uint8Array)) throw invalidArgument('bytes: expected a Uint8Array.');
  const given = parse(importOptions, options, 'options');
  const stored = await decodeBundle(bytes);
  const session_id = given.session_id ?? checkSessionId(stored.record.session_id);
  const policy = parse(sessionPolicy, { ...stored.record.policy, ...given.policy }, 'policy');
  // An import counts as a use; otherwise an old session would expire at once.
  const last_used_at = isoTime(Date.now());
  const record = { ...stored.record, session_id, policy, last_used_at };
  return withState({ ...stored, record }, stored.state);
}
