/**
 * What a store keeps of a session, and what any store can be asked. A store takes whole snapshots: it is handed the
 * state after a call and keeps either that or the one before, never a mixture. What it hands back has been checked.
 */

import type { Entry } from '../fs/entries.ts';
import type { TreeEdit } from '../fs/tree-changes.ts';
import type { SessionRecord } from '../schema.ts';

export type { SessionRecord };

/**
 * The memory, descriptors and files of a session at one moment. Once handed over, neither the object nor anything in it
 * changes, bytes included: stores keep it by reference and encode each object once.
 */
export interface SessionState {
  /** Grows with every call and every rollback; says which of two states is newer. */
  readonly version: number;
  /** The interpreter, as its difference to the boot image; absent where each call starts a fresh one. */
  readonly delta: Uint8Array | undefined;
  /** Files of /app, by path. */
  readonly workspace: ReadonlyMap<string, Entry>;
  /** Files of /tmp. */
  readonly tmp: readonly Entry[];
}

export interface Checkpoint {
  readonly name: string;
  readonly created_at: string;
  readonly state: SessionState;
}

export interface StoredSession {
  readonly record: SessionRecord;
  readonly state: SessionState;
  /** The state before the last call, for undo. */
  readonly undo: SessionState | undefined;
  readonly checkpoints: readonly Checkpoint[];
}

/** Files that could be had from a session, whatever became of the rest. */
export interface SalvagedWorkspace {
  readonly workspace: ReadonlyMap<string, Entry>;
  /** Why this may be less than the session had; undefined when nothing is damaged. */
  readonly damage: string | undefined;
}

export interface SessionStore {
  /** Records of all sessions, oldest use first; damaged ones are left out and named in `damaged`. */
  list(): Promise<{ readonly records: readonly SessionRecord[]; readonly damaged: readonly string[] }>;
  /** Undefined for a session the store does not have; throws `session_damaged` for one it cannot vouch for. */
  read(id: string): Promise<StoredSession | undefined>;
  /** The files alone, with what a person did to them meanwhile; a damaged session may still have some. */
  readWorkspace(id: string): Promise<SalvagedWorkspace | undefined>;
  /** Replaces what is kept of the session, all or nothing. A caller that has not acquired it does so for the moment. */
  write(session: StoredSession): Promise<void>;
  /** Forgets a session, damaged or not, and returns how many bytes that freed: 0 when there was none. */
  delete(id: string): Promise<number>;
  /** Bytes the session takes in the store, 0 when there is none. */
  size(id: string): Promise<number>;
  /** Makes the caller the only writer of a session; the answer lets go of it. Throws `session_busy` when somebody is. */
  acquire(id: string): Promise<() => Promise<void>>;
  /**
   * What somebody else changed in the workspace; asked by the writer before each call, when it has nothing left to write.
   * Each edit is told once, and told again to the next writer unless a write came between.
   */
  edits(id: string): Promise<TreeEdit>;
}
