/**
 * The interface of a session store and the data it stores. A store saves whole sessions: after a failed write it still
 * holds the previous version, never a mixture of two. Everything it returns has been validated.
 */
import type { Entry, TreeEdit } from '../fs/flat-entries.ts';
import type { PausedExecution, SessionRecord } from '../schema.ts';

export type { SessionRecord };

/**
 * Memory, descriptors and files of a session at one point in time. Once a state is passed to a store, neither the
 * object nor its bytes may change: stores hold it by reference and encode each state only once.
 */
export interface SessionState {
  /** Increases with every call and every rollback, so the higher of two versions is the newer state. */
  readonly version: number;
  /**
   * The interpreter as a difference from the boot image, in parts; undefined if every call starts a fresh interpreter.
   * Consecutive states share the parts that a call has not changed.
   */
  readonly delta: readonly Uint8Array[] | undefined;
  /** Files of /app by path. Not necessarily a `Map`: a store that clones or serialises it copies it with `new Map()` first. */
  readonly workspace: ReadonlyMap<string, Entry>;
  /** Files of /tmp. */
  readonly tmp: readonly Entry[];
  /** The program that is waiting for answers to tool calls, if there is one. */
  readonly paused?: PausedExecution | undefined;
}

/** A saved state with a name. */
export interface Checkpoint {
  /** Name of the checkpoint. */
  readonly name: string;
  /** Time of creation, ISO 8601 in UTC. */
  readonly created_at: string;
  /** Size of its memory and files, including what it shares with other states. */
  readonly size_bytes: number;
  /** The state that the checkpoint restores; undefined if only the store has it (see `SessionStore.readCheckpoint`). */
  readonly state: SessionState | undefined;
}

/** A complete session as a store saves and returns it. */
export interface StoredSession {
  /** Facts about the session. */
  readonly record: SessionRecord;
  /** The state that the next call starts from. */
  readonly state: SessionState;
  /** The state before the last call, for undo. */
  readonly undo: SessionState | undefined;
  /** The checkpoints, oldest first. */
  readonly checkpoints: readonly Checkpoint[];
}

/** The workspace files that could be read from a session, which may be damaged. */
export interface RecoveredWorkspace {
  /** Files by path. */
  readonly workspace: ReadonlyMap<string, Entry>;
  /** The reason why files may be missing; undefined if the session is intact. */
  readonly damage: string | undefined;
}

/** How long to wait for a session that another process is using. */
export interface LeaseWait {
  /** Maximum time in milliseconds. */
  readonly ms: number;
  /** Aborting stops the wait and rejects with `session_busy`. */
  readonly signal?: AbortSignal | undefined;
}

/** Saves sessions. Methods throw `invalid_argument` for an invalid session id. */
export interface SessionStore {
  /**
   * Whether the store holds sessions in the memory of this process, by reference. Such a store limits their size
   * itself, so the pool does not count them towards `maxHeldBytes` and does not unload them.
   */
  readonly isInMemory?: boolean;
  /** Returns the records of all sessions, least recently used first, and the ids of damaged sessions. */
  list(): Promise<{ readonly records: readonly SessionRecord[]; readonly damaged: readonly string[] }>;
  /** Returns a session, or undefined if it does not exist. Throws `session_damaged` if validation fails. */
  read(id: string): Promise<StoredSession | undefined>;
  /**
   * Returns the state of a checkpoint, or undefined if it does not exist. Throws `session_damaged`. A store with this
   * method keeps states outside the memory of the process: `read` returns checkpoints without their states, and `write`
   * accepts checkpoints without a state if the store has them already.
   */
  readCheckpoint?(id: string, name: string): Promise<SessionState | undefined>;
  /**
   * Returns the workspace files of a session including external edits, or undefined if the session does not exist.
   * For a damaged session it returns the files that are still readable.
   */
  readWorkspace(id: string): Promise<RecoveredWorkspace | undefined>;
  /**
   * Replaces the stored session atomically. If the caller does not hold the session, acquires it for the write. A store
   * with `revision` stores the given revision, by default a new one.
   */
  write(session: StoredSession, revision?: string): Promise<void>;
  /**
   * Returns the revision of the last write, or undefined if the session does not exist. A store with this method can be
   * shared: a session whose revision has not changed was not written by another process.
   */
  revision?(id: string): Promise<string | undefined>;
  /** Deletes a session, damaged or not, and returns the number of bytes freed; 0 if it does not exist. */
  delete(id: string): Promise<number>;
  /** Returns the number of bytes that the session occupies in the store; 0 if it does not exist. */
  size(id: string): Promise<number>;
  /**
   * Makes the caller the only writer of a session and returns a function that releases it. Throws `session_busy` if
   * the session already has a writer. A store that implements `revision` first waits for its turn, for at most `wait`.
   */
  acquire(id: string, wait?: LeaseWait): Promise<() => Promise<void>>;
  /**
   * Returns external edits: changes to the workspace that the session itself did not make. The writer calls it before
   * each call, when no write is pending. An edit is reported once, and again to the next writer if no write followed.
   */
  edits(id: string): Promise<TreeEdit>;
}

/** Sort order of `list()`: least recently used first, ties by id. */
export function byLastUse(a: SessionRecord, b: SessionRecord): number {
  const difference = Date.parse(a.last_used_at) - Date.parse(b.last_used_at);
  return difference !== 0 ? difference : a.session_id < b.session_id ? -1 : 1;
}
