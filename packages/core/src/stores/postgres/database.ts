/**
 * Connections to PostgreSQL. Transactions that fail because of another transaction are retried; every other error
 * becomes a `SandboxError` with advice. The tables are created and migrated before the first query.
 */
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { SandboxError } from '../../errors.ts';
import { MIGRATIONS } from './migrations.ts';

/** The result of a query. */
export interface PostgresResult {
  /** Rows, with values by column name. */
  readonly rows: readonly Record<string, unknown>[];
  /** Number of rows that the query returned or changed. */
  readonly rowCount: number | null;
}

/** The part of a client from the package `pg` that the store uses. */
export interface PostgresClient {
  /** Runs a query. */
  query(text: string, values?: unknown[]): Promise<PostgresResult>;
  /** Returns the connection to the pool. With an error, closes the connection instead. */
  release(error?: Error | boolean): void;
  /** Adds a listener for errors that occur between two queries. */
  on(event: 'error', listener: (error: Error) => void): unknown;
  /** Removes a listener. */
  off(event: 'error', listener: (error: Error) => void): unknown;
}

/** A connection for queries only. */
export type Queryable = Pick<PostgresClient, 'query'>;

/** The part of `Pool` from the package `pg` that the store uses. */
export interface PostgresPool {
  /** The options of the pool. */
  readonly options?: {
    /** Maximum number of connections. */
    readonly max?: number;
  };
  /** Returns a connection. */
  connect(): Promise<PostgresClient>;
  /** Adds a listener for errors of idle connections. */
  on(event: 'error', listener: (error: Error) => void): unknown;
  /** Closes all connections. */
  end(): Promise<void>;
}

/** The reply to a COMMIT was lost, so the transaction may have taken effect. */
export class LostCommitError extends Error {
  constructor(override readonly cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause));
  }
}

/** Errors after which the whole transaction is retried: serialisation, deadlock, foreign key of a removed object. */
const REPEATABLE = new Set(['40001', '40P01', '23503']);
const MAX_ATTEMPTS = 10;
/** Idle time in a transaction after which the server closes the connection. */
const IDLE_TIMEOUT_MS = 10_000;
/** Serialises migrations of all schemas of a database. */
const MIGRATION_LOCK = 0x5a4db0c5;

type TransactionIsolation = 'READ COMMITTED' | 'REPEATABLE READ READ ONLY';

export class Database {
  #ready: Promise<void> | undefined;
  #connections = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(
    readonly pool: PostgresPool,
    readonly schema: string,
    /** Connections that it uses at once. */
    readonly maxConnections = Number.POSITIVE_INFINITY,
  ) {}

  /** Runs `work` in a transaction. Retries from the start if another transaction interferes. */
  async transaction<T>(isolation: TransactionIsolation, work: (client: Queryable) => Promise<T>): Promise<T> {
    await this.#migrate();
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#transactionOnce(isolation, work);
      } catch (error) {
        if (attempt >= MAX_ATTEMPTS || !REPEATABLE.has(codeOf(error) ?? '')) throw error;
        await sleep(randomInt(1, 5 * attempt));
      }
    }
  }

  /** Runs one statement. */
  async query(text: string, values: unknown[]): Promise<PostgresResult> {
    await this.#migrate();
    return this.#withClient((client) => client.query(text, values));
  }

  /** The name of a table with its schema. */
  table(name: string): string {
    return `"${this.schema}".${name}`;
  }

  async close(): Promise<void> {
    this.#ready = undefined;
    await this.pool.end();
  }

  #transactionOnce<T>(isolation: TransactionIsolation, work: (client: Queryable) => Promise<T>): Promise<T> {
    return this.#withClient(async (client) => {
      // A process that is suspended in a transaction must not keep its locks.
      const timeout = `SET LOCAL idle_in_transaction_session_timeout = ${IDLE_TIMEOUT_MS}`;
      await client.query(`BEGIN ISOLATION LEVEL ${isolation}; ${timeout}`);
      try {
        const result = await work(client);
        await client.query('COMMIT').catch((error) => {
          throw isServerError(error) ? error : new LostCommitError(error);
        });
        return result;
      } catch (error) {
        // If this fails, the connection is lost, and the server rolls the transaction back.
        await client.query('ROLLBACK').catch((cause) => {
          throw isServerError(error) || error instanceof SandboxError ? cause : error;
        });
        throw error;
      }
    });
  }

  async #withClient<T>(work: (client: PostgresClient) => Promise<T>): Promise<T> {
    if (this.#connections >= this.maxConnections)
      await new Promise<void>((ready) => this.#waiting.push(ready));
    else this.#connections++;
    try {
      return await this.#withConnection(work);
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#connections--;
      else next();
    }
  }

  async #withConnection<T>(work: (client: PostgresClient) => Promise<T>): Promise<T> {
    const client = await this.pool.connect();
    client.on('error', ignoreError);
    let failure: unknown;
    try {
      return await work(client);
    } catch (error) {
      failure = error;
      throw error;
    } finally {
      client.off('error', ignoreError);
      // An error with a five-character code is a reply of the server, so the connection is still usable.
      client.release(failure !== undefined && !isServerError(failure) && !(failure instanceof SandboxError));
    }
  }

  #migrate(): Promise<void> {
    this.#ready ??= this.#transactionOnce('READ COMMITTED', (client) => this.#applyMigrations(client));
    this.#ready.catch(() => {
      this.#ready = undefined;
    });
    return this.#ready;
  }

  async #applyMigrations(client: Queryable): Promise<void> {
    const version = await this.#version(client);
    if (version !== undefined && this.#isCompatible(version)) return;
    await client.query('SELECT pg_advisory_xact_lock($1)', [MIGRATION_LOCK]);
    await client.query(`CREATE SCHEMA IF NOT EXISTS "${this.schema}"`);
    await client.query(`SET LOCAL search_path TO "${this.schema}"`);
    await client.query(
      'CREATE TABLE IF NOT EXISTS migrations (version int PRIMARY KEY, compatible_with int NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())',
    );
    // Only now: without the statements above, the server may still answer from its cache that there is no table.
    const { current = 0, compatibleWith = 0 } = (await this.#version(client)) ?? {};
    if (compatibleWith > MIGRATIONS.length) throw this.#newerTables(current);
    if (current >= MIGRATIONS.length) return;
    for (const [i, migration] of MIGRATIONS.entries()) {
      if (i < current) continue;
      await client.query(migration.sql);
      await client.query('INSERT INTO migrations (version, compatible_with) VALUES ($1, $2)', [
        i + 1,
        migration.compatibleWith,
      ]);
    }
  }

  #isCompatible({ current, compatibleWith }: TableVersion): boolean {
    return current >= MIGRATIONS.length && compatibleWith <= MIGRATIONS.length;
  }

  async #version(client: Queryable): Promise<TableVersion | undefined> {
    const name = this.table('migrations');
    const { rows } = await client.query('SELECT to_regclass($1) IS NOT NULL AS exists', [name]);
    if (rows[0]!['exists'] !== true) return undefined;
    const found = await client.query(
      `SELECT coalesce(max(version), 0) AS version, coalesce(max(compatible_with), 0) AS compatible_with FROM ${name}`,
    );
    const { version, compatible_with } = found.rows[0]!;
    return { current: Number(version), compatibleWith: Number(compatible_with) };
  }

  #newerTables(version: number): SandboxError {
    return new SandboxError(
      'store_failed',
      `The tables of schema "${this.schema}" have version ${version}, which is too new: this release supports version ${MIGRATIONS.length}. Upgrade llm-wasm-sandbox, or use another schema.`,
    );
  }
}

/** A connection that breaks between two queries fails the next query. Without a listener, the process would end. */
function ignoreError(): void {}

interface TableVersion {
  readonly current: number;
  readonly compatibleWith: number;
}

function codeOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === 'string' ? code : undefined;
}

/** Whether the error is a reply of the server: those have a five-character SQLSTATE. */
function isServerError(error: unknown): boolean {
  return /^[0-9A-Z]{5}$/.test(codeOf(error) ?? '') && !codeOf(error)!.startsWith('57P');
}

const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/^(28|3D)/, 'Check the user, the password and the database in the connection string'],
  [/^42501$/, 'Grant the user permission to create the schema, or create it beforehand'],
  [/^53100$/, 'The disk of the database is full: free some space and try again'],
  [/^53/, 'The database lacks resources or connections: reduce the load or raise its limits'],
  [/^(57P|08)/, 'The database is starting, stopping or not reachable: try again'],
  [/^E[A-Z]+$/, 'Check that the database is running and that its host and port are correct, and try again'],
];

/** Returns a SandboxError unchanged and converts any other error; `operation` completes the text "Could not …". */
export function toStoreError(error: unknown, operation: string): SandboxError {
  if (error instanceof SandboxError) return error;
  if (error instanceof LostCommitError) return toStoreError(error.cause, operation);
  const code = codeOf(error) ?? '';
  const advice = ADVICE.find(([pattern]) => pattern.test(code))?.[1] ?? 'Try again';
  const reason = error instanceof Error && error.message !== '' ? error.message : code;
  return new SandboxError('store_failed', `Could not ${operation}: ${reason}. ${advice}.`, {
    cause: error,
    publicMessage: `Could not ${operation}, because the session store is not available. Try again later.`,
  });
}
