/** The session store that a command works on. Loads the library, so it is imported only when a command runs. */
import { SandboxError } from '../../../errors.ts';
import { sessionFolder } from '../../../host/user-folders.ts';
import { openSessions, type SessionRegistry } from '../../../session/registry.ts';
import { diskStore } from '../../../stores/disk/disk-store.ts';
import type { SessionStore, StoredSession } from '../../../stores/store.ts';

export interface SessionContext {
  readonly dir: string;
  readonly store: SessionStore;
  readonly sessions: SessionRegistry;
}

/** `dir` is the value of --store; the default is the user's session folder. */
export function openSessionContext(dir: string = sessionFolder()): SessionContext {
  const store = diskStore(dir);
  return { dir, store, sessions: openSessions({ store }) };
}

export async function readSession(context: SessionContext, id: string): Promise<StoredSession> {
  const stored = await context.store.read(id);
  if (stored === undefined) throw notInStore(context, id);
  return stored;
}

export function notInStore({ dir }: SessionContext, session_id: string): SandboxError {
  const name = JSON.stringify(session_id.slice(0, 100));
  const advice = 'Run "llm-wasm-sandbox session list" to see the sessions there, or pass another --store';
  return new SandboxError('session_not_found', `Session ${name} does not exist in ${dir}. ${advice}.`);
}
