/** Creates and describes checkpoints, within the limits of a session. */

import { SandboxError } from '../errors.ts';
import { formatItems } from '../quantities.ts';
import { isoTime } from '../schema/iso-time.ts';
import { checkpointName, parse } from '../schema.ts';
import { stateBytes } from '../stores/format/state-size.ts';
import type { Checkpoint, SessionState, SessionStore, StoredSession } from '../stores/store.ts';
import { checkpointNotFound } from './session-errors.ts';

/** Maximum number of checkpoints per session, and maximum size of their memory images and files together. */
const CHECKPOINT_LIMITS = { count: 32, bytes: 512 * 1024 * 1024 } as const;

/** The name, time and size of a checkpoint. */
export interface CheckpointInfo {
  /** Name of the checkpoint. */
  readonly name: string;
  /** Time of creation in ISO 8601. */
  readonly created_at: string;
  /** Size of the memory and files in bytes, including what the checkpoint shares with other states. */
  readonly size_bytes: number;
}

/** Options of `fork`. */
export interface ForkOptions {
  /** Name of the checkpoint from which the fork starts. Default: the current state. */
  readonly checkpoint?: string;
}

/** Adds a checkpoint of the current state. Throws for an invalid name, or if the session has too many checkpoints. */
export function withCheckpoint(contents: StoredSession, name?: string): [StoredSession, CheckpointInfo] {
  const { state, checkpoints } = contents;
  const chosen = name ?? freeName(checkpoints);
  parse(checkpointName, chosen, 'name');
  const isNew = checkpointNamed(checkpoints, chosen) === undefined;
  if (isNew && checkpoints.length >= CHECKPOINT_LIMITS.count)
    throw limit(formatItems(CHECKPOINT_LIMITS.count, 'checkpoint'));
  const kept = checkpoints.filter((other) => other.name !== chosen);
  const size_bytes = stateBytes(state);
  const bytes = kept.reduce((sum, other) => sum + other.size_bytes, size_bytes);
  if (bytes > CHECKPOINT_LIMITS.bytes)
    throw limit(`${formatItems(CHECKPOINT_LIMITS.bytes, 'byte')} of checkpoints`);
  const made = { name: chosen, created_at: isoTime(Date.now()), size_bytes, state };
  const all = isNew ? [...kept, made] : checkpoints.map((one) => (one.name === chosen ? made : one));
  return [{ ...contents, checkpoints: all }, describeCheckpoint(made)];
}

/** Throws `checkpoint_not_found`. */
export function withoutCheckpoint(contents: StoredSession, name: string): StoredSession {
  const { checkpoints } = contents;
  if (checkpointNamed(checkpoints, name) === undefined) throw checkpointNotFound(name, namesOf(checkpoints));
  return { ...contents, checkpoints: checkpoints.filter((one) => one.name !== name) };
}

/** The state of a checkpoint, which may be in the store only. Throws `checkpoint_not_found`. */
export async function checkpointState(
  store: SessionStore,
  { record, checkpoints }: StoredSession,
  name: string,
): Promise<SessionState> {
  const checkpoint = checkpointNamed(checkpoints, name);
  const state = checkpoint && (checkpoint.state ?? (await store.readCheckpoint?.(record.session_id, name)));
  if (state === undefined) throw checkpointNotFound(name, namesOf(checkpoints));
  return state;
}

/** Frees the states of saved checkpoints, which the store can return. */
export const releaseStates = (contents: StoredSession, saved: readonly Checkpoint[]): StoredSession => ({
  ...contents,
  checkpoints: contents.checkpoints.map((one) => (saved.includes(one) ? { ...one, state: undefined } : one)),
});

const checkpointNamed = (checkpoints: readonly Checkpoint[], name: string) =>
  checkpoints.find((one) => one.name === name);

const namesOf = (checkpoints: readonly Checkpoint[]) => checkpoints.map(({ name }) => name);

export function describeCheckpoint({ name, created_at, size_bytes }: Checkpoint): CheckpointInfo {
  return { name, created_at, size_bytes };
}

function freeName(others: readonly Checkpoint[]): string {
  let number = others.length + 1;
  while (checkpointNamed(others, `checkpoint-${number}`)) number++;
  return `checkpoint-${number}`;
}

function limit(what: string): SandboxError {
  return new SandboxError(
    'session_limit',
    `The session has reached its limit of ${what}. Delete a checkpoint, or replace one by reusing its name.`,
  );
}
