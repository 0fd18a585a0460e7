/**
 * A store in the memory of this process. It gives the same guarantees as the disk store except persistence: atomic
 * writes, one writer per session, and the same validation.
 */
import { finishInSlices } from '../../concurrency/slices.ts';
import { invalidArgument, SandboxError } from '../../errors.ts';
import { checkSession, checkState, statesOf } from '../format/session-validation.ts';
import { heldBytes } from '../format/state-size.ts';
import { checkSessionId, foldSessionId, rejectCaseConflict } from '../session-id.ts';
import { type Holding, StateMemoryBudget } from '../state-memory-budget.ts';
import { byLastUse, type SessionState, type SessionStore, type StoredSession } from '../store.ts';

const DEFAULT_MAX_BYTES = 2 * 1024 * 1024 * 1024;

/** Options of `memoryStore`. */
export interface MemoryStoreOptions {
  /**
   * Maximum total size of all sessions in bytes, including their undo states and checkpoints. A write that would exceed it
   * throws `session_limit`. Default: 2 GiB.
   */
  readonly maxBytes?: number;
}

/** Creates a store in the memory of the process. Its sessions exist until the process ends. */
export function memoryStore({ maxBytes = DEFAULT_MAX_BYTES }: MemoryStoreOptions = {}): SessionStore {
  return createMemoryStore(new StateMemoryBudget({ maxBytes, maxBytesPerTenant: maxBytes }).open(''));
}

/** Creates a store whose sessions are counted in `holding`. */
export function createMemoryStore(holding: Holding): SessionStore {
  const sessions = new Map<string, StoredSession>();
  const held = new Map<string, number>();
  /** States that were checked; they never change. */
  const checked = new WeakSet<SessionState>();
  const acquired = new Set<string>();

  const size = (id: string) => held.get(id) ?? 0;
  return {
    isInMemory: true,
    async list() {
      const records = [...sessions.values()].map(({ record }) => record).sort(byLastUse);
      return { records, damaged: [] };
    },
    async read(id) {
      return sessions.get(checkSessionId(id));
    },
    async readWorkspace(id) {
      const session = sessions.get(checkSessionId(id));
      return session && { workspace: session.state.workspace, damage: undefined };
    },
    async write(session) {
      checkSession(session);
      if (session.checkpoints.some(({ state }) => state === undefined))
        throw invalidArgument('session.checkpoints: a checkpoint has no state.');
      const { session_id } = session.record;
      const states = statesOf(session);
      let before = sessions.get(session_id)?.state.workspace;
      for (const state of states) {
        if (!checked.has(state)) checkState(state, before);
        checked.add(state);
        before = state.workspace;
      }
      const bytes = await finishInSlices(heldBytes(states));
      rejectCaseConflict(session_id, sessions.keys());
      holding.resizeNow(holding.bytes - (held.get(session_id) ?? 0) + bytes);
      held.set(session_id, bytes);
      sessions.set(session_id, { ...session, checkpoints: [...session.checkpoints] });
    },
    async delete(id) {
      const freed = size(checkSessionId(id));
      sessions.delete(id);
      holding.set(holding.bytes - freed);
      held.delete(id);
      return freed;
    },
    async size(id) {
      return size(checkSessionId(id));
    },
    async acquire(id) {
      const key = foldSessionId(checkSessionId(id));
      rejectCaseConflict(id, sessions.keys());
      if (acquired.has(key)) {
        throw new SandboxError(
          'session_busy',
          `Session "${id}" is open in another sandbox of this process (pid ${process.pid}). Close that sandbox first, or fork the session.`,
          {
            publicMessage: `Session "${id}" is in use by another call to this server, for example one that is closing it. Retry in a moment.`,
          },
        );
      }
      acquired.add(key);
      let isReleased = false;
      return async () => {
        if (!isReleased) acquired.delete(key);
        isReleased = true;
      };
    },
    async edits(id) {
      // The id of a stored session is valid, and every call asks for the edits.
      if (!sessions.has(id)) checkSessionId(id);
      return { removed: [], entries: [] };
    },
  };
}
