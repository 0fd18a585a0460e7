/** The session store that a command works on. Loads the library, so it is imported only when a command runs. */

import type { SessionStore, StoredSession } from '@llm-wasm-sandbox/core/internal';
import {
  isDatabaseAddress,
  LOCAL_TENANT,
  openSessions,
  openStore,
  SandboxError,
  type SessionRegistry,
  sessionFolder,
  tenantFolder,
  tenantFolders,
} from '@llm-wasm-sandbox/core/internal';

import { UsageError } from '../../exit-codes.ts';
import { hideArguments } from '../../hide-arguments.ts';
import type { StoreFlags } from '../../shared-options.ts';

export interface SessionContext {
  /** The folder or the database of the store, for messages. Contains no password. */
  readonly location: string;
  readonly store: SessionStore;
  readonly sessions: SessionRegistry;
}

/** How long a command waits for a session that a server is using. */
const LEASE_WAIT_SECONDS = 20;

/** The store that the flags name: a folder or the address of a PostgreSQL database, or what a tenant of a server has in it. */
export function openSessionContext({ store: address = sessionFolder(), tenant }: StoreFlags): SessionContext {
  hideArguments(address);
  const { location, storeFor } = openStore(address, { leaseWaitSeconds: LEASE_WAIT_SECONDS });
  const isInFolder = tenant !== undefined && !isDatabaseAddress(address);
  if (isInFolder) checkTenant(address, tenant);
  // In a database, servers without tokens and the command line have the same tenant.
  const store = storeFor(
    tenant === LOCAL_TENANT ? '' : (tenant ?? ''),
    isInFolder ? tenantFolder(tenant) : '',
  );
  return { location, store, sessions: openSessions({ store }) };
}

function checkTenant(address: string, tenant: string): void {
  const folders = tenantFolders(address);
  if (folders.includes(tenantFolder(tenant))) return;
  const names = folders.map((folder) => folder.slice(tenantFolder('').length)).join(', ');
  throw new UsageError(
    `${address} has no sessions of tenant ${JSON.stringify(tenant.slice(0, 100))}. ${names === '' ? 'It does not contain sessions of a server' : `Pass --tenant with one of: ${names}`}.`,
  );
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
