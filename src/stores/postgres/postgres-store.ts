/**
 * The public interface of the PostgreSQL store: its options, its connections and its error messages. Any number of
 * processes on any number of machines can share a database.
 */
import { z } from 'zod';
import { SandboxError } from '../../errors.ts';
import type { TreeEdit } from '../../fs/flat-entries.ts';
import { parse } from '../../schema.ts';
import { withStoreErrors } from '../session-writers.ts';
import type { SessionStore } from '../store.ts';
import { connectionPool } from './connection-pool.ts';
import { Database, type PostgresPool, toStoreError } from './database.ts';
import { TenantSessionStore } from './tenant-session-store.ts';

export const DEFAULT_SCHEMA = 'llm_wasm_sandbox';
const DEFAULT_LEASE_SECONDS = 30;
const DEFAULT_MAX_SESSION_BYTES = 4 * 1024 * 1024 * 1024;

/** Options of `postgresStore`. Either `connectionString` or `pool` is required. */
export interface PostgresStoreOptions {
  /** URL of the database, such as `postgres://user:password@host:5432/database`. Requires the package `pg`. */
  readonly connectionString?: string;
  /** A `Pool` from the package `pg`. The store does not close it. */
  readonly pool?: PostgresPool;
  /** Schema of the tables, which are created before the first query. Default: `llm_wasm_sandbox`. */
  readonly schema?: string;
  /** The tenant whose sessions the store contains. Tenants share the tables but no data. Default: the empty string. */
  readonly tenant?: string;
  /** Time after which another process can take over the session of a process that does not respond. Default: 30. */
  readonly leaseSeconds?: number;
  /** How long to wait for a session that another process is using, before `session_busy` is thrown. Default: 0. */
  readonly leaseWaitSeconds?: number;
  /** Maximum size of one session in bytes, including its undo state and checkpoints. Default: 4 GiB. */
  readonly maxSessionBytes?: number;
  /** Maximum size of all sessions of the tenant in bytes; contents that they share count once. Default: no limit. */
  readonly maxTenantBytes?: number;
  /** Number of sessions that the tenant may have, across all processes. Default: no limit. */
  readonly maxSessions?: number;
  /** Sessions that are not open and have not been used for this long are deleted. Default: never. */
  readonly ttlSeconds?: number;
}

/** A store in PostgreSQL. */
export interface PostgresStore extends SessionStore {
  /** Closes the connections, unless the caller provided the pool. */
  close(): Promise<void>;
}

/** Creates a store in a PostgreSQL database, version 14 or newer. Connects when it is first used. */
export function postgresStore(options: PostgresStoreOptions): PostgresStore {
  checkOptions(options);
  const {
    tenant = '',
    leaseSeconds = DEFAULT_LEASE_SECONDS,
    leaseWaitSeconds = 0,
    maxSessionBytes = DEFAULT_MAX_SESSION_BYTES,
    maxTenantBytes = Number.POSITIVE_INFINITY,
    maxSessions = Number.POSITIVE_INFINITY,
    ttlSeconds,
  } = options;
  const limits = { leaseSeconds, maxSessionBytes, maxTenantBytes, maxSessions, ttlSeconds };
  const store = new TenantSessionStore(databaseFor(options), tenant, limits);
  const defaultWait = leaseWaitSeconds > 0 ? { ms: leaseWaitSeconds * 1000 } : undefined;
  const withErrors = <T>(operation: string, work: () => Promise<T>, id?: string) =>
    withStoreErrors(toStoreError, operation, work, id);
  return {
    list: () => withErrors('list the sessions', () => store.list()),
    read: (id) => withErrors('read', () => store.read(id), id),
    readCheckpoint: (id, name) => withErrors('read', () => store.readCheckpoint(id, name), id),
    readWorkspace: (id) => withErrors('read', () => store.readWorkspace(id), id),
    write: (session, revision) => {
      const { session_id } = session.record;
      return withErrors('write', () => store.write(session, revision), session_id);
    },
    revision: (id) => withErrors('read', () => store.revision(id), id),
    delete: (id) => withErrors('delete', () => store.delete(id), id),
    size: (id) => withErrors('determine the size of', () => store.size(id), id),
    acquire: (id, wait = defaultWait) => withErrors('lock', () => store.acquire(id, wait), id),
    edits: (id) => withErrors('check for edits in', async () => NO_EDITS, id),
    close: () => (options.pool === undefined ? store.database.close() : Promise.resolve()),
  };
}

/** A renewal takes place after a third of the lease, so a shorter lease would expire on a busy machine. */
const seconds = z.number().min(0.1).max(86_400);
const bytes = z.number().int().min(1);
const storeOptions = z.object({
  tenant: z
    .string()
    .max(200)
    .refine((text) => !/[\p{Surrogate}\0]/u.test(text), 'must be valid Unicode without NUL')
    .optional(),
  leaseSeconds: seconds.optional(),
  leaseWaitSeconds: z.number().min(0).max(3600).optional(),
  maxSessionBytes: bytes.optional(),
  maxTenantBytes: bytes.optional(),
  maxSessions: z.number().int().min(1).optional(),
  ttlSeconds: z.number().min(1).max(1e10).optional(),
});

function checkOptions(options: PostgresStoreOptions): void {
  parse(storeOptions, options, 'options');
}

const NO_EDITS: TreeEdit = { removed: [], entries: [] };

function databaseFor({ connectionString, pool, schema = DEFAULT_SCHEMA }: PostgresStoreOptions): Database {
  if ((connectionString === undefined) === (pool === undefined))
    throw new SandboxError('invalid_argument', 'postgresStore: pass either connectionString or pool.');
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema))
    throw new SandboxError(
      'invalid_argument',
      'postgresStore: schema must consist of up to 63 lower-case letters, digits and underscores, and start with a letter or an underscore.',
    );
  return new Database(pool ?? connectionPool(connectionString!), schema);
}
