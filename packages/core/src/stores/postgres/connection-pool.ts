/** A pool of connections of the package `pg`, which is loaded when the first connection is needed. */
import { SandboxError } from '../../errors.ts';
import type { PostgresClient, PostgresPool } from './database.ts';

/** That of the package `pg`, too. */
export const DEFAULT_CONNECTIONS = 10;
const CONNECT_TIMEOUT_MS = 10_000;
/** A server that does not answer must not block a call forever. */
const QUERY_TIMEOUT_MS = 30_000;

/** `max` is the maximum number of connections. */
export function connectionPool(connectionString: string, max = DEFAULT_CONNECTIONS): PostgresPool {
  let loading: Promise<PostgresPool> | undefined;
  const load = () => {
    loading ??= loadPool(connectionString, max);
    // A failure is not cached, because the next attempt may succeed.
    loading.catch(() => {
      loading = undefined;
    });
    return loading;
  };
  return {
    options: { max },
    connect: async (): Promise<PostgresClient> => (await load()).connect(),
    on: () => {},
    end: async () => {
      const pool = loading;
      loading = undefined;
      await (await pool)?.end();
    },
  };
}

async function loadPool(connectionString: string, max: number): Promise<PostgresPool> {
  const { default: pg } = await import('pg').catch((cause) => {
    const message = 'The PostgreSQL store requires the package pg. Install it with "npm install pg".';
    throw new SandboxError('not_installed', message, { cause, publicMessage: message });
  });
  const pool = new pg.Pool({
    connectionString,
    max,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    allowExitOnIdle: true,
  });
  // An idle connection that breaks is replaced when it is needed.
  pool.on('error', () => {});
  return pool;
}
