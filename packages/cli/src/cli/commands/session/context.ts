/** The session store that a command works on. Loads the library, so it is imported only when a command runs. */

import { join } from 'node:path';
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

/** The store of one tenant. --store is a folder, which has no tenants, or the address of a PostgreSQL database. */
export function openSessionContext({ store, dataDir, tenant }: StoreFlags): SessionContext {
  if (dataDir !== undefined) return openContext(tenantPath(dataDir, tenant ?? LOCAL_TENANT));
  return openContext(store, tenant);
}

/** The stores that the flags name: one, or those of all tenants of a server. */
export function openSessionContexts(flags: StoreFlags): SessionContext[] {
  const { dataDir, tenant } = flags;
  if (dataDir === undefined || tenant !== undefined) return [openSessionContext(flags)];
  return serverFolders(dataDir).map((name) => openContext(join(dataDir, name)));
}

function serverFolders(dataDir: string): string[] {
  const folders = tenantFolders(dataDir);
  if (folders.length > 0) return folders;
  throw new UsageError(
    `${dataDir} does not contain sessions of an MCP server. Pass the data_dir of the server.`,
  );
}

function tenantPath(dataDir: string, tenant: string): string {
  const folders = serverFolders(dataDir);
  if (folders.includes(tenantFolder(tenant))) return join(dataDir, tenantFolder(tenant));
  const names = folders.map((folder) => folder.slice(tenantFolder('').length)).join(', ');
  throw new UsageError(
    `${dataDir} has no sessions of tenant ${JSON.stringify(tenant.slice(0, 100))}. Pass --tenant with one of: ${names}.`,
  );
}

function openContext(address: string = sessionFolder(), tenant?: string): SessionContext {
  hideArguments(address);
  if (tenant !== undefined && !isDatabaseAddress(address))
    throw new UsageError(
      '--tenant requires a database in --store. To use the data folder of an MCP server, pass --data-dir.',
    );
  const { location, storeFor } = openStore(address, { leaseWaitSeconds: LEASE_WAIT_SECONDS });
  const store = storeFor(tenant ?? '', '');
  return { location, store, sessions: openSessions({ store }) };
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
