/** The record of a session: how it begins, what it requires when the session is opened again, and what it says about the state. */
import { SandboxError } from '../errors.ts';
import { EMPTY_TREE } from '../fs/file-tree.ts';
import type { PolicyInput, RuntimeName, SessionPolicy } from '../schema.ts';
import type { SessionRecord, SessionState, StoredSession } from '../stores/store.ts';

/** How a session is opened. */
export interface SessionSettings {
  readonly session_id: string;
  readonly runtime: RuntimeName;
  readonly auto_persist_globals: boolean;
  readonly preload: readonly string[];
  /** Limits that replace those of the stored session, from now on. */
  readonly policy: Omit<PolicyInput, 'mounts'>;
}

export const EMPTY_STATE: SessionState = { version: 0, delta: undefined, workspace: EMPTY_TREE, tmp: [] };

/** The record with the paused execution of a state, if it has one. */
export function withPaused({ paused: _, ...record }: SessionRecord, { paused }: SessionState): SessionRecord {
  if (paused === undefined) return record;
  const { execution_id, paused_at } = paused;
  return { ...record, paused: { execution_id, paused_at } };
}

/** A session without calls, empty or with the state of `origin`. */
export function newSession(
  settings: SessionSettings,
  policy: SessionPolicy,
  origin: Pick<StoredSession, 'record' | 'state'> | undefined,
): StoredSession {
  const { session_id, runtime, auto_persist_globals, preload } = settings;
  const now = new Date().toISOString();
  const record: SessionRecord = {
    session_id,
    runtime,
    auto_persist_globals,
    preload,
    policy,
    created_at: now,
    last_used_at: now,
    calls: 0,
    fuel_consumed: 0,
    // A fork inherits what the interpreter contains, but not what it cost.
    imports: origin?.record.imports ?? [],
    declared: origin?.record.declared ?? [],
  };
  return { record, state: origin?.state ?? EMPTY_STATE, undo: undefined, checkpoints: [] };
}

/** Throws `session_mismatch` if a stored session has other settings. */
export function checkSettings(record: SessionRecord, settings: SessionSettings): void {
  for (const field of ['runtime', 'auto_persist_globals', 'preload'] as const) {
    if (String(record[field]) === String(settings[field])) continue;
    const facts = `${field} ${record[field]}, not ${settings[field]}`;
    throw new SandboxError(
      'session_mismatch',
      `The session ${record.session_id} has ${facts}. Open it with its own settings, or use another session_id.`,
    );
  }
}
