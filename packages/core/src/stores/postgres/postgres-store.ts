/**
 * The public interface of the PostgreSQL store: its options, its connections and its error messages. Any number of
 * processes on any number of machines can share a database.
 */
import * as z from 'zod';
import { invalidArgument } from '../../errors.ts';
import { parse } from '../../schema.ts';
import { withStoreErrors } from '../session-writers.ts';
import type { SessionStore } from '../store.ts';
import { connectionPool, DEFAULT_CONNECTIONS } from './connection-pool.ts';
import { Database, type PostgresPool, toStoreError } from './database.ts';
import { TenantSessionStore } from './tenant-session-store.ts';

export const DEFAULT_SCHEMA = 'llm_wasm_sandbox';
const DEFAULT_LEASE_SECONDS = 30;
const DEFAULT_MAX_SESSION_BYTES = 4 * 1024 * 1024 * 1024;

/** Options of `postgresStore`. Exactly one of `connectionString` and `pool` is required. */
export interface PostgresStoreOptions {
  /** URL of the database, such as `postgres://user:password@host:5432/database`. Requires the package `pg`. */
  readonly connectionString?: string;
  /** A `Pool` from the package `pg`. The store does not close it. */
  readonly pool?: PostgresPool;
  /** Schema of the tables. Default: `llm_wasm_sandbox`. */
  readonly schema?: string;
  /**
   * Tenant whose sessions the store contains. Tenants share tables, but not data. Default: the empty string. Maximum: 200
   * characters.
   */
  readonly tenant?: string;
  /**
   * Time in seconds after which another process can take over a session if the process that is using the session does not
   * respond. Default: 30. Maximum: 86,400.
   */
  readonly leaseSeconds?: number;
  /**
   * Maximum time in seconds to wait for a session that another process is using. After that, the store throws
   * `session_busy`. Default: 0. Maximum: 3,600.
   */
  readonly leaseWaitSeconds?: number;
  /** Maximum size of one session in bytes, including its undo state and checkpoints. Default: 4 GiB. */
  readonly maxSessionBytes?: number;
  /**
   * Maximum total size of all sessions of the tenant in bytes. Contents that sessions share count once. Default: no
   * limit.
   */
  readonly maxTenantBytes?: number;
  /** Maximum number of sessions of the tenant, across all processes. Default: no limit. */
  readonly maxSessions?: number;
  /** Time in seconds since the last use after which a session that is not open is deleted. Default: no limit. */
  readonly ttlSeconds?: number;
}

/** A store in a PostgreSQL database. Created by `postgresStore`. */
export interface PostgresStore extends SessionStore {
  /** Closes the connections. A pool that the caller provided stays open. */
  close(): Promise<void>;
}

/**
 * Creates a store in a PostgreSQL database, version 14 or newer. The store connects and creates its tables when it is first
 * used. Throws `invalid_argument` if the options are invalid.
 */
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
  const reporting = withStoreErrors(store, toStoreError);
  return {
    ...reporting,
    acquire: (id, wait = defaultWait) => reporting.acquire(id, wait),
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

/** The stores of several tenants can share a pool. Each uses half of the connections at most. */
const shareOf = ({ options }: PostgresPool) =>
  Math.max(1, Math.floor((options?.max ?? DEFAULT_CONNECTIONS) / 2));

function databaseFor({ connectionString, pool, schema = DEFAULT_SCHEMA }: PostgresStoreOptions): Database {
  if ((connectionString === undefined) === (pool === undefined))
    throw invalidArgument('postgresStore: pass either connectionString or pool.');
  if (!/^[a-z_][a-z0-9_]{0,62}$/.test(schema))
    throw invalidArgument(
      'postgresStore: schema must consist of up to 63 lower-case letters, digits and underscores, and start with a letter or an underscore.',
    );
  return pool === undefined
    ? new Database(connectionPool(connectionString!), schema)
    : new Database(pool, schema, shareOf(pool));
}
