/**
 * Validation of sessions before a store accepts them and after they are read: the record matches its schema, the files
 * form a tree, and the keys of the workspace map are the paths of its entries. Every store accepts the same sessions.
 */
import * as z from 'zod';
import { invalidArgument } from '../../errors.ts';
import { checkTree } from '../../fs/check-tree-edit.ts';
import { checkEntries, type Entry } from '../../fs/flat-entries.ts';
import { EMPTY_TREE, FileTree } from '../../fs/immutable-file-tree.ts';
import { checkpointName, parse, pausedExecution, sessionRecord } from '../../schema.ts';
import type { SessionState, StoredSession } from '../store.ts';

export const stateVersion = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
export const checkpointTime = z.iso.datetime();
export const checkpointSize = z.number().int().min(0).max(Number.MAX_SAFE_INTEGER);
export const MAX_CHECKPOINTS = 1000;

const recordAndCheckpoints = z.object({
  record: sessionRecord,
  checkpoints: z
    .array(z.object({ name: checkpointName, created_at: checkpointTime, size_bytes: checkpointSize }))
    .max(MAX_CHECKPOINTS),
});

/** Validates everything but the states. Throws `invalid_argument`. */
export function checkSession(session: StoredSession): void {
  const { checkpoints } = parse(recordAndCheckpoints, session, 'session');
  if (new Set(checkpoints.map(({ name }) => name)).size !== checkpoints.length) {
    throw invalidArgument('session.checkpoints: two checkpoints have the same name.');
  }
}

/** A state after its validation. */
interface CheckedState {
  readonly workspace: FileTree;
  /** Sorted by path. */
  readonly tmp: readonly Entry[];
}

/**
 * Validates one state. Only what its workspace does not share with `before`, the workspace of another state of the
 * session, takes time. Throws `invalid_argument` or `invalid_path`.
 */
export function checkState(state: SessionState, before?: ReadonlyMap<string, Entry>): CheckedState {
  parse(stateVersion, state.version, 'state.version');
  parse(pausedExecution.optional(), state.paused, 'state.paused');
  if (state.delta !== undefined && !isArrayOfBytes(state.delta)) {
    throw invalidArgument('state.delta: must be undefined or an array of Uint8Array.');
  }
  return { workspace: checkWorkspace(state.workspace, before), tmp: checkEntries(state.tmp) };
}

function checkWorkspace(
  workspace: ReadonlyMap<string, Entry>,
  before: ReadonlyMap<string, Entry> | undefined,
): FileTree {
  if (!(workspace instanceof FileTree)) return checkMap(workspace);
  checkTree(workspace, before instanceof FileTree ? before : EMPTY_TREE);
  return workspace;
}

function checkMap(workspace: ReadonlyMap<string, Entry>): FileTree {
  for (const [path, entry] of workspace) {
    if (path === entry.path) continue;
    throw invalidArgument(
      `state.workspace: the entry with key ${JSON.stringify(path)} has the path ${JSON.stringify(entry.path)}.`,
    );
  }
  return FileTree.from(checkEntries(workspace.values()));
}

function isArrayOfBytes(value: unknown): boolean {
  return Array.isArray(value) && value.every((part) => part instanceof Uint8Array);
}

/**
 * The states that a session object contains: the current state, the undo state and those of the checkpoints, in this
 * order.
 */
export function statesOf({ state, undo, checkpoints }: StoredSession): SessionState[] {
  const states = [state, undo, ...checkpoints.map((checkpoint) => checkpoint.state)];
  return states.filter((one) => one !== undefined);
}
