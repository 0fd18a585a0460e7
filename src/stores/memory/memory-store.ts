/**
 * A store in the memory of this process. It gives the same guarantees as the disk store except persistence: atomic
 * writes, one writer per session, and the same validation.
 */
import { SandboxError } from '../../errors.ts';
import { checkSession, checkState, statesOf } from '../format/session-validation.ts';
import { checkSessionId, foldSessionId, rejectCaseConflict } from '../session-id.ts';
import { byLastUse, type SessionStore, type StoredSession } from '../store.ts';

/** Creates a store whose sessions exist until the process ends. */
export function memoryStore(): SessionStore {
  const sessions = new Map<string, StoredSession>();
  const acquired = new Set<string>();

  const size = (id: string) => {
    const session = sessions.get(id);
    return session === undefined ? 0 : bytesOf(session);
  };
  return {
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
      for (const state of statesOf(session)) checkState(state);
      const { session_id } = session.record;
      rejectCaseConflict(session_id, sessions.keys());
      sessions.set(session_id, { ...session, checkpoints: [...session.checkpoints] });
    },
    async delete(id) {
      const freed = size(checkSessionId(id));
      sessions.delete(id);
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
            publicMessage: `Session "${id}" is in use by another call of this server, for example one that closes it. Retry in a moment.`,
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
      checkSessionId(id);
      return { removed: [], entries: [] };
    },
  };
}

/** Counts contents that several states share only once. */
function bytesOf(session: StoredSession): number {
  const contents = new Map<string, number>();
  const buffers = new Map<ArrayBufferLike, number>();
  const add = (bytes: Uint8Array | undefined) => {
    if (bytes === undefined || bytes.length === 0) return;
    const buffer = buffers.get(bytes.buffer) ?? buffers.size;
    buffers.set(bytes.buffer, buffer);
    contents.set(`${buffer}:${bytes.byteOffset}:${bytes.length}`, bytes.length);
  };
  for (const { delta, workspace, tmp } of statesOf(session)) {
    delta?.forEach(add);
    for (const { data } of workspace.values()) add(data);
    for (const { data } of tmp) add(data);
  }
  return [...contents.values()].reduce((sum, length) => sum + length, 0);
}
