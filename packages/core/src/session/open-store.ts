/**
 * Opens a store from its address: a folder, or a PostgreSQL database. The only place that interprets addresses. Neither
 * `location` nor an error contains the password of a database.
 */
import { join } from 'node:path';
import { invalidArgument } from '../errors.ts';
import { ensureWritableFolder } from '../host/ensure-writable-folder.ts';
import type { Coordination, SessionBlobs } from '../stores/coordination.ts';
import { diskBlobs } from '../stores/disk/disk-blobs.ts';
import { diskStore } from '../stores/disk/disk-store.ts';
import { isDatabaseAddress } from '../stores/is-database-address.ts';
import { memoryCoordination } from '../stores/memory-coordination.ts';
import { connectionPool } from '../stores/postgres/connection-pool.ts';
import { Database } from '../stores/postgres/database.ts';
import {
  type BlobTable,
  PostgresBlobs,
  postgresCoordination,
} from '../stores/postgres/postgres-coordination.ts';
import { DEFAULT_SCHEMA, postgresStore } from '../stores/postgres/postgres-store.ts';
import type { SessionStore } from '../stores/store.ts';

export interface OpenedStore {
  /** The folder or the database, for messages. */
  readonly location: string;
  /** What servers with the same store share besides sessions. */
  readonly coordination: Coordination;
  /** The sessions of a tenant. In a folder, they are in the subfolder `folder`. A database enforces `maxSessions`. */
  storeFor(tenant: string, folder: string, maxSessions?: number): SessionStore;
  /** Data that belongs to the sessions of a tenant. In a folder, it is in the subfolder `folder`; in a database, in a table. */
  blobsFor(tenant: string, folder: string, table: BlobTable): SessionBlobs;
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
      coordination: { ...memoryCoordination(), check: () => ensureWritableFolder(address) },
      storeFor: (_, folder) => diskStore(join(address, folder)),
      blobsFor: (_, folder) => diskBlobs(join(address, folder)),
      close: async () => {},
    };
  const { maxConnections, ...options } = settings;
  const location = withoutPassword(address);
  const pool = connectionPool(address, maxConnections);
  const database = new Database(pool, DEFAULT_SCHEMA);
  return {
    location,
    coordination: postgresCoordination(database),
    blobsFor: (tenant, _, table) => new PostgresBlobs(database, tenant, table),
    storeFor: (tenant, _, maxSessions) =>
      postgresStore({ pool, tenant, ...(maxSessions !== undefined && { maxSessions }), ...options }),
    close: () => pool.end(),
  };
}

function withoutPassword(address: string): string {
  if (!URL.canParse(address))
    throw invalidArgument(
      'store: the address of the database is not a valid URL. Use the form postgres://USER:PASSWORD@HOST:PORT/DATABASE, with special characters percent-encoded.',
    );
  const { protocol, username, host, pathname } = new URL(address);
  return `${protocol}//${username === '' ? '' : `${username}@`}${host}${pathname}`;
}
