import { SandboxError } from '../errors.ts';
import type { SessionStore, StoredSession } from './store.ts';
export function memoryStore(): SessionStore {
  const sessions = new Map<string, StoredSession>();
  const held = new Set<string>();
  return {
    list: async () => ({ records: [...sessions.values()].map((s) => s.record), damaged: [] }),
    read: async (id) => sessions.get(id),
    write: async (s) => {
      sessions.set(s.record.session_id, s);
    },
    delete: async (id) => {
      sessions.delete(id);
      return 0;
    },
    size: async () => 0,
    acquire: async (id) => {
      if (held.has(id)) throw new SandboxError('session_busy', `${id} is in use`);
      held.add(id);
      return async () => {
        held.delete(id);
      };
    },
    edits: async () => ({ removed: [], entries: [] }),
  };
}
