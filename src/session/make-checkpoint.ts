/** Creates and describes checkpoints, within the limits of a session. */

import { SandboxError } from '../errors.ts';
import { formatItems } from '../quantities.ts';
import { isoTime } from '../schema/iso-time.ts';
import { checkpointName, parse } from '../schema.ts';
import { stateBytes } from '../stores/format/state-size.ts';
import type { Checkpoint, SessionState, SessionStore } from '../stores/store.ts';
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

/** Creates a checkpoint of `state`. Throws for an invalid name, or if the session has too many checkpoints. */
export function makeCheckpoint(
  others: ReadonlyMap<string, Checkpoint>,
  name: string | undefined,
  state: SessionState,
): Checkpoint {
  const chosen = name ?? freeName(others);
  parse(checkpointName, chosen, 'name');
  if (!others.has(chosen) && others.size >= CHECKPOINT_LIMITS.count)
    throw limit(formatItems(CHECKPOINT_LIMITS.count, 'checkpoint'));
  const kept = [...others.values()].filter((other) => other.name !== chosen);
  const size_bytes = stateBytes(state);
  const bytes = kept.reduce((sum, other) => sum + other.size_bytes, size_bytes);
  if (bytes > CHECKPOINT_LIMITS.bytes)
    throw limit(`${formatItems(CHECKPOINT_LIMITS.bytes, 'byte')} of checkpoints`);
  return { name: chosen, created_at: isoTime(Date.now()), size_bytes, state };
}

/** The state of a checkpoint, which may be in the store only. Throws `checkpoint_not_found`. */
export async function checkpointState(
  store: SessionStore,
  session_id: string,
  checkpoints: ReadonlyMap<string, Checkpoint>,
  name: string,
): Promise<SessionState> {
  const checkpoint = checkpoints.get(name);
  const state = checkpoint && (checkpoint.state ?? (await store.readCheckpoint?.(session_id, name)));
  if (state === undefined) throw checkpointNotFound(name, checkpoints.keys());
  return state;
}

/** Frees the states of saved checkpoints, which the store can return. */
export function releaseStates(checkpoints: Map<string, Checkpoint>, saved: readonly Checkpoint[]): void {
  for (const checkpoint of saved)
    if (checkpoints.get(checkpoint.name) === checkpoint)
      checkpoints.set(checkpoint.name, { ...checkpoint, state: undefined });
}

export function describeCheckpoint({ name, created_at, size_bytes }: Checkpoint): CheckpointInfo {
  return { name, created_at, size_bytes };
}

function freeName(others: ReadonlyMap<string, Checkpoint>): string {
  let number = others.size + 1;
  while (others.has(`checkpoint-${number}`)) number++;
  return `checkpoint-${number}`;
}

function limit(what: string): SandboxError {
  return new SandboxError(
    'session_limit',
    `The session has reached its limit of ${what}. Delete a checkpoint, or replace one by reusing its name.`,
  );
}
