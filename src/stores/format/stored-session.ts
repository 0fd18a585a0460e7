/**
 * The door for sessions on their way into a store and out of it. What passes has a record of the right shape, files that
 * form a tree, and a workspace whose keys are its paths; so no store keeps what another could not read back.
 */
import { z } from 'zod';
import { SandboxError } from '../../errors.ts';
import { checkEntries, type Entry } from '../../fs/entries.ts';
import { checkpointName, parse, sessionRecord } from '../../schema.ts';
import type { SessionRecord, SessionState, StoredSession } from '../store.ts';

export const stateVersion = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
export const checkpointTime = z.iso.datetime();
export const MAX_CHECKPOINTS = 1000;

const facts = z.object({
  record: sessionRecord,
  checkpoints: z.array(z.object({ name: checkpointName, created_at: checkpointTime })).max(MAX_CHECKPOINTS),
});

/** The files of a state, sorted and known to be trees. */
export interface CheckedFiles {
  readonly workspace: Entry[];
  readonly tmp: Entry[];
}

/** Throws `invalid_argument` or `invalid_path` for a session no store could keep. */
export function checkSession(session: StoredSession): void {
  const { checkpoints } = parse(facts, session, 'session');
  if (new Set(checkpoints.map(({ name }) => name)).size !== checkpoints.length) {
    throw new SandboxError('invalid_argument', 'session.checkpoints: two have the same name.');
  }
}

/** The same for one of its states. */
export function checkState(state: SessionState): CheckedFiles {
  parse(stateVersion, state.version, 'state.version');
  if (state.delta !== undefined && !(state.delta instanceof Uint8Array)) {
    throw new SandboxError('invalid_argument', 'state.delta: must be bytes or undefined.');
  }
  for (const [path, entry] of state.workspace) {
    if (path === entry.path) continue;
    throw new SandboxError(
      'invalid_argument',
      `state.workspace: ${JSON.stringify(path)} names another path.`,
    );
  }
  return { workspace: checkEntries(state.workspace.values()), tmp: checkEntries(state.tmp) };
}

/** All states of a session, each with words for where it is. */
export function* statesOf({
  state,
  undo,
  checkpoints,
}: StoredSession): Generator<readonly [what: string, state: SessionState]> {
  yield ['its state', state];
  if (undo !== undefined) yield ['its undo', undo];
  for (const { name, state: kept } of checkpoints) yield [`checkpoint ${JSON.stringify(name)}`, kept];
}

/** For sorting records: oldest use first, ties by name so that the order is always the same. */
export function byLastUse(a: SessionRecord, b: SessionRecord): number {
  const difference = Date.parse(a.last_used_at) - Date.parse(b.last_used_at);
  return difference !== 0 ? difference : a.session_id < b.session_id ? -1 : 1;
}
