/** The sessions of a store on disk, as the commands use them. Loads the library, so it is itself loaded on demand. */
import { SandboxError } from '../errors.ts';
import { sessionFolder } from '../host/user-folders.ts';
import { openSessions, type Sessions } from '../session/registry.ts';
import { diskStore } from '../stores/disk/disk-store.ts';
import type { SessionStore } from '../stores/store.ts';

export interface Desk {
  readonly dir: string;
  readonly store: SessionStore;
  readonly sessions: Sessions;
}

/** `dir` is that of --store; without it, the folder of the user. */
export function openDesk(dir: string = sessionFolder()): Desk {
  const store = diskStore(dir);
  return { dir, store, sessions: openSessions({ store }) };
}

/** What a person needs to know when there is no such session. */
export function noSuchSession({ dir }: Desk, session_id: string): SandboxError {
  const name = JSON.stringify(session_id.slice(0, 100));
  const advice = 'See "llm-wasm-sandbox session list" for those there are, or give another --store';
  return new SandboxError('session_not_found', `There is no session ${name} in ${dir}. ${advice}.`);
}
