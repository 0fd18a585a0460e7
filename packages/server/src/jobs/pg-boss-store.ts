/**
 * The connection to pg-boss, which stores the jobs in PostgreSQL. Every tenant has its own queue, so tenants cannot delay
 * each other. Programs and results are stored as JSON text inside JSON, because PostgreSQL rejects some strings.
 */

import { type BatchResult, SandboxError, sha256Hex, toStoreError } from '@llm-wasm-sandbox/core/internal';
import * as z from 'zod';

/** Receives the jobs that the host has repeatedly failed to run. */
const DEAD_LETTER_QUEUE = 'dead-letters';
const QUEUE_PREFIX = 'programs-';
/** How often a job is retried after a host failure. */
const RETRIES = 3;

/** Runs SQL statements. */
export interface SqlExecutor {
  executeSql(
    text: string,
    values?: unknown[],
  ): Promise<{ readonly rows: readonly Record<string, unknown>[] }>;
}

interface NewJob {
  readonly id: string;
  readonly name: string;
  readonly data: JobData;
  readonly priority: number;
  readonly expireInSeconds: number;
}

/** A job as pg-boss returns it. */
export interface StoredJob {
  readonly id: string;
  readonly name: string;
  readonly data: JobData;
  readonly state: string;
  readonly retryCount: number;
  readonly startedOn: Date | null;
  readonly output: unknown;
}

/** The part of pg-boss that is used. Versions 10 and 12 have it, except for the arguments of `insert`. */
interface Boss {
  on(event: 'error', listener: () => void): unknown;
  start(): Promise<unknown>;
  stop(options: { graceful: boolean }): Promise<void>;
  createQueue(name: string, options?: object): Promise<void>;
  insert(...args: unknown[]): Promise<unknown>;
  fetch(name: string, options: { batchSize: number; includeMetadata: true }): Promise<StoredJob[]>;
  getJobById(name: string, id: string, options: { includeArchive: boolean }): Promise<StoredJob | null>;
  complete(name: string, id: string, output: object): Promise<{ readonly affected: number }>;
  fail(name: string, id: string, output: object): Promise<unknown>;
  getDb(): SqlExecutor;
}

type BossClass = new (options: object) => Boss;

export interface JobStore {
  readonly boss: Boss;
  /** Adds jobs to a queue. */
  readonly insert: (name: string, jobs: readonly NewJob[], db?: SqlExecutor) => Promise<unknown>;
  readonly schema: string;
  readonly connectionString: string;
}

function rejectMissing(cause: unknown): never {
  const message =
    'Jobs require the packages pg and pg-boss. Install them with "npm install pg pg-boss", or "npm install pg pg-boss@10" with Node.js 20.';
  throw new SandboxError('not_installed', message, { cause });
}

/** Connects to the database, and creates or upgrades the tables. */
export async function openJobStore(
  { connectionString, schema }: Pick<JobStore, 'connectionString' | 'schema'>,
  supervision: object,
): Promise<JobStore> {
  const module: { PgBoss?: unknown; default?: unknown } = await import('pg-boss').catch(rejectMissing);
  // Version 12 has no default export, and `insert` takes the name of the queue.
  const isNew = module.PgBoss !== undefined;
  const Boss = (module.PgBoss ?? module.default) as BossClass;
  const boss = new Boss({ connectionString, schema, schedule: false, supervise: false, ...supervision });
  // Failed queries are reported by the call that made them; maintenance is retried.
  boss.on('error', () => {});
  try {
    await boss.start();
    await boss.createQueue(DEAD_LETTER_QUEUE);
  } catch (cause) {
    await boss.stop({ graceful: false }).catch(() => {});
    throw toStoreError(cause, 'open the job queue');
  }
  const insert: JobStore['insert'] = (name, jobs, db) => {
    const options = db === undefined ? {} : { db };
    if (!isNew) return boss.insert(jobs, options);
    return boss.insert(
      name,
      jobs.map(({ name: _, ...job }) => job),
      options,
    );
  };
  return { boss, insert, schema, connectionString };
}

export async function closeJobStore({ boss }: JobStore): Promise<void> {
  await boss.stop({ graceful: false });
}

/** Opens a separate connection. */
export async function connect({ connectionString }: JobStore) {
  const { default: pg } = await import('pg').catch(rejectMissing);
  const client = new pg.Client({ connectionString, keepAlive: true, connectionTimeoutMillis: 10_000 });
  // A connection that breaks between two queries fails the next one.
  client.on('error', () => {});
  await client.connect();
  // Closing the connection rolls back what was not committed, and releases its locks.
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.end().catch(() => {}) });
}

/** Runs statements of pg-boss in one transaction. */
export async function inTransaction(
  store: JobStore,
  work: (db: SqlExecutor) => Promise<unknown>,
): Promise<void> {
  await using client = await connect(store);
  await client.query('BEGIN');
  await work({ executeSql: (text, values) => client.query(text, values) });
  await client.query('COMMIT');
}

/** Tenant names may contain any characters, but queue names may not. */
export const queueOf = (tenant: string) => QUEUE_PREFIX + sha256Hex(tenant).slice(0, 40);

export const isTenantQueue = (name: string) => name.startsWith(QUEUE_PREFIX);

/** Creates the queue of a tenant unless it exists. */
export async function createTenantQueue({ boss }: JobStore, name: string): Promise<void> {
  const options = { retryLimit: RETRIES, retryDelay: 1, retryBackoff: true, deadLetter: DEAD_LETTER_QUEUE };
  await boss.createQueue(name, { name, ...options });
}

/** What a job contains. */
export interface JobData {
  readonly tenant: string;
  /** Time limit that the worker must enforce, so that the job ends before it expires. */
  readonly timeout_seconds: number;
  /** The program as JSON text. */
  readonly program: string;
}

const outputSchema = z.object({ outcome: z.string() });

/** The result of a job as JSON that PostgreSQL can store. */
export const encodeOutcome = ({ index: _, ...outcome }: BatchResult) => ({
  outcome: JSON.stringify(outcome),
});

/** The result of a job; undefined if the job failed and has none. */
export function decodeOutcome(output: unknown): Omit<BatchResult, 'index'> | undefined {
  const { data } = outputSchema.safeParse(output);
  return data === undefined ? undefined : JSON.parse(data.outcome);
}
