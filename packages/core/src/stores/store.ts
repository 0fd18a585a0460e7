/**
 * The interface of a session store and the data it stores. A store saves whole sessions: after a failed write it still
 * holds the previous version, never a mixture of two. Everything it returns has been validated.
 */
import type { Entry, TreeEdit } from '../fs/flat-entries.ts';
import type { PausedExecution, SessionRecord } from '../schema.ts';

export type { SessionRecord };

/**
 * The memory, descriptors and files of a session at one point in time. After a state has been passed to a store, neither the
 * object nor its bytes may change, because stores hold the state by reference and encode it only once.
 */
export interface SessionState {
  /** Number that increases with every call and every rollback. The newer of two states has the higher version. */
  readonly version: number;
  /**
   * Difference between the memory of the interpreter and the image that it started from, in parts. Consecutive states share
   * the parts that did not change. Undefined if every call starts a fresh interpreter.
   */
  readonly delta: readonly Uint8Array[] | undefined;
  /** Entries of /app by path. A store that clones or serialises this map must first copy it with `new Map()`. */
  readonly workspace: ReadonlyMap<string, Entry>;
  /** Entries of /tmp. */
  readonly tmp: readonly Entry[];
  /** Program that is waiting for answers to tool calls, if there is one. */
  readonly paused?: PausedExecution | undefined;
}

/** A state of a session that was saved under a name. */
export interface Checkpoint {
  /** Name of the checkpoint. */
  readonly name: string;
  /** Time of creation in ISO 8601. */
  readonly created_at: string;
  /** Size of the memory and files in bytes, including what the checkpoint shares with other states. */
  readonly size_bytes: number;
  /** State that the checkpoint restores. Undefined if only the store has the state (see `SessionStore.readCheckpoint`). */
  readonly state: SessionState | undefined;
}

/** A session as a store writes and reads it. */
export interface StoredSession {
  /** Record of the session. */
  readonly record: SessionRecord;
  /** State from which the next call starts. */
  readonly state: SessionState;
  /** State before the last call, for `undo`. Undefined if there is no call to undo. */
  readonly undo: SessionState | undefined;
  /** Checkpoints, oldest first. */
  readonly checkpoints: readonly Checkpoint[];
}

/** The workspace files that could be read from an intact or damaged session. */
export interface RecoveredWorkspace {
  /** Entries by path. */
  readonly workspace: ReadonlyMap<string, Entry>;
  /** Reason why files are possibly missing. Undefined if the session is intact. */
  readonly damage: string | undefined;
}

/** The time to wait for a session that another process is using. */
export interface LeaseWait {
  /** Maximum time in milliseconds. */
  readonly ms: number;
  /** Ends the wait. `acquire` then throws `session_busy`. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Stores sessions. Every method with a session id throws `invalid_argument` if the id is invalid, and `store_failed` if
 * the storage fails.
 */
export interface SessionStore {
  /**
   * Whether the store holds sessions in the memory of this process. Such a store limits their size itself. The pool does not
   * count these sessions towards `maxHeldBytes`, and does not unload them. Default: false.
   */
  readonly isInMemory?: boolean;
  /** Returns the records of all sessions, least recently used first, and the ids of damaged sessions. */
  list(): Promise<{ readonly records: readonly SessionRecord[]; readonly damaged: readonly string[] }>;
  /** Returns a session, or undefined if the session does not exist. Throws `session_damaged` if the session is damaged. */
  read(id: string): Promise<StoredSession | undefined>;
  /**
   * Returns the state of a checkpoint, or undefined if the checkpoint does not exist. Throws `session_damaged` if the state
   * is damaged. If a store has this method, its `read` returns checkpoints without their states, and its `write` accepts
   * checkpoints without a state if the store already has the state.
   */
  readCheckpoint?(id: string, name: string): Promise<SessionState | undefined>;
  /**
   * Returns the workspace files of a session, including external edits, or undefined if the session does not exist. If the
   * session is damaged, returns the files that are still readable.
   */
  readWorkspace(id: string): Promise<RecoveredWorkspace | undefined>;
  /**
   * Writes a session and atomically replaces its previous version. If the caller has not acquired the session, the store
   * acquires it for the write. A store with `revision` also stores the given revision. Default: a new revision.
   */
  write(session: StoredSession, revision?: string): Promise<void>;
  /**
   * Returns the revision of the last write, or undefined if the session does not exist. If a store has this method,
   * several processes can share the store: an unchanged revision means that no other process has written the session.
   */
  revision?(id: string): Promise<string | undefined>;
  /** Deletes an intact or damaged session. Returns the number of bytes freed, or 0 if the session does not exist. */
  delete(id: string): Promise<number>;
  /** Returns the size of a session in the store in bytes, or 0 if the session does not exist. */
  size(id: string): Promise<number>;
  /**
   * Makes the caller the only writer of a session. Returns a function that releases the session and does not throw. Throws
   * `session_busy` if the session already has a writer. A store with `revision` waits up to `wait` before it throws.
   */
  acquire(id: string, wait?: LeaseWait): Promise<() => Promise<void>>;
  /**
   * Returns external edits: changes to the workspace that the session itself did not make. The writer uses this method
   * before each call, when no write is pending. A writer gets each edit only once. If the writer releases the session
   * without writing to it, the next writer gets the edit again.
   */
  edits(id: string): Promise<TreeEdit>;
}

/** Sort order of `list()`: least recently used first, ties by id. */
export function byLastUse(a: SessionRecord, b: SessionRecord): number {
  const difference = Date.parse(a.last_used_at) - Date.parse(b.last_used_at);
  return difference !== 0 ? difference : a.session_id < b.session_id ? -1 : 1;
}
