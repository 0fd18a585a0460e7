/**
 * Opens a store from its address: a folder, or a PostgreSQL database. The only place that interprets addresses. Neither
 * `location` nor an error contains the password of a database.
 */
import { join } from 'node:path';
import { SandboxError } from '../errors.ts';
import { diskStore } from '../stores/disk/disk-store.ts';
import { isDatabaseAddress } from '../stores/is-database-address.ts';
import { connectionPool } from '../stores/postgres/connection-pool.ts';
import { Database } from '../stores/postgres/database.ts';
import { DEFAULT_SCHEMA, postgresStore } from '../stores/postgres/postgres-store.ts';
import type { SessionStore } from '../stores/store.ts';

export interface OpenedStore {
  /** The folder or the database, for messages. */
  readonly location: string;
  /** The database, for data that is not a session; undefined for a folder. */
  readonly database: Database | undefined;
  /** The sessions of a tenant. In a folder, they are in the subfolder `folder`. A database enforces `maxSessions`. */
  storeFor(tenant: string, folder: string, maxSessions?: number): SessionStore;
  /** Closes the connections. */
  close(): Promise<void>;
}

interface StoreSettings {
  /** Connections to a database, shared by all tenants. */
  readonly maxConnections?: number;
  readonly leaseSeconds?: number;
  readonly leaseWaitSeconds?: number;
  /** Bytes of the sessions of one tenant in a database. */
  readonly maxTenantBytes?: number;
  /** Time after which a database deletes a session that is not used. */
  readonly ttlSeconds?: number;
}

export function openStore(address: string, settings: StoreSettings = {}): OpenedStore {
  if (!isDatabaseAddress(address))
    return {
      location: address,
      database: undefined,
      storeFor: (_, folder) => diskStore(join(address, folder)),
      close: async () => {},
    };
  const { maxConnections, ...options } = settings;
  const location = withoutPassword(address);
  const pool = connectionPool(address, maxConnections);
  return {
    location,
    database: new Database(pool, DEFAULT_SCHEMA),
    storeFor: (tenant, _, maxSessions) =>
      postgresStore({ pool, tenant, ...(maxSessions !== undefined && { maxSessions }), ...options }),
    close: () => pool.end(),
  };
}

function withoutPassword(address: string): string {
  if (!URL.canParse(address))
    throw new SandboxError(
      'invalid_argument',
      'store: the address of the database is not a valid URL. Use the form postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special characters percent-encoded.',
    );
  const { protocol, username, host, pathname } = new URL(address);
  return `${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`;
}
