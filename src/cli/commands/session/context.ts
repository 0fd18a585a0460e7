/** The session store that a command works on. Loads the library, so it is imported only when a command runs. */
import { SandboxError } from '../../../errors.ts';
import { sessionFolder } from '../../../host/user-folders.ts';
import { openSessions, type SessionRegistry } from '../../../session/registry.ts';
import { diskStore } from '../../../stores/disk/disk-store.ts';
import { postgresStore } from '../../../stores/postgres/postgres-store.ts';
import type { SessionStore, StoredSession } from '../../../stores/store.ts';

export interface SessionContext {
  /** The folder or the database of the store, for messages. Contains no password. */
  readonly location: string;
  readonly store: SessionStore;
  readonly sessions: SessionRegistry;
}

/** `location` is the value of --store: a folder, or the address of a PostgreSQL database. */
export function openSessionContext(location: string = sessionFolder()): SessionContext {
  const isDatabase = /^postgres(ql)?:\/\//.test(location);
  const store = isDatabase ? postgresStore({ connectionString: location }) : diskStore(location);
  const shown = isDatabase ? withoutPassword(location) : location;
  return { location: shown, store, sessions: openSessions({ store }) };
}

function withoutPassword(address: string): string {
  if (!URL.canParse(address)) return 'the PostgreSQL database';
  const { protocol, username, host, pathname } = new URL(address);
  return `${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`;
}

export async function readSession(context: SessionContext, id: string): Promise<StoredSession> {
  const stored = await context.store.read(id);
  if (stored === undefined) throw notInStore(context, id);
  return stored;
}

export function notInStore({ location }: SessionContext, session_id: string): SandboxError {
  const name = JSON.stringify(session_id.slice(0, 100));
  const advice = 'Run "llm-wasm-sandbox session list" to see the sessions there, or pass another --store';
  return new SandboxError('session_not_found', `Session ${name} does not exist in ${location}. ${advice}.`);
}
