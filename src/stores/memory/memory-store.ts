/**
 * Sessions for as long as the process lives. Same promises as a store on disk, short of surviving: whole snapshots, one
 * writer at a time, the same refusals.
 */
import { SandboxError } from '../../errors.ts';
import { byLastUse, checkSession, checkState, statesOf } from '../format/stored-session.ts';
import { checkSessionId, foldSessionId, rejectCaseConflict } from '../session-id.ts';
import type { SessionStore, StoredSession } from '../store.ts';

/** A store that forgets everything when the process ends. */
export function memoryStore(): SessionStore {
  const sessions = new Map<string, StoredSession>();
  const held = new Set<string>();

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
      for (const [, state] of statesOf(session)) checkState(state);
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
      if (held.has(key)) {
        const what = `Another sandbox of this process (pid ${process.pid}) is using session "${id}".`;
        throw new SandboxError('session_busy', `${what} Close it first, or fork the session.`);
      }
      held.add(key);
      let isReleased = false;
      return async () => {
        if (!isReleased) held.delete(key);
        isReleased = true;
      };
    },
    async edits(id) {
      checkSessionId(id);
      return { removed: [], entries: [] };
    },
  };
}

/** Contents that several states share count once. */
function bytesOf(session: StoredSession): number {
  const contents = new Map<string, number>();
  const buffers = new Map<ArrayBufferLike, number>();
  const add = (bytes: Uint8Array | undefined) => {
    if (bytes === undefined || bytes.length === 0) return;
    const buffer = buffers.get(bytes.buffer) ?? buffers.size;
    buffers.set(bytes.buffer, buffer);
    contents.set(`${buffer}:${bytes.byteOffset}:${bytes.length}`, bytes.length);
  };
  for (const [, { delta, workspace, tmp }] of statesOf(session)) {
    add(delta);
    for (const { data } of workspace.values()) add(data);
    for (const { data } of tmp) add(data);
  }
  return [...contents.values()].reduce((sum, length) => sum + length, 0);
}
