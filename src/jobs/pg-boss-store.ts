/**
 * The connection to pg-boss, which stores the jobs in PostgreSQL. Every tenant has its own queue, so tenants cannot delay
 * each other. Programs and results are stored as JSON text inside JSON, because PostgreSQL rejects some strings.
 */
import type PgBoss from 'pg-boss';
import { z } from 'zod';
import { SandboxError } from '../errors.ts';
import { sha256Hex } from '../framing/digest.ts';
import { parse } from '../schema.ts';
import type { BatchResult } from '../session/run-batch.ts';
import { toStoreError } from '../stores/postgres/database.ts';

/** Schema of the tables of pg-boss. */
const DEFAULT_SCHEMA = 'llm_wasm_sandbox_jobs';
/** Receives the jobs that the host has repeatedly failed to run. */
const DEAD_LETTER_QUEUE = 'dead-letters';
const QUEUE_PREFIX = 'programs-';
/** How often a job is retried after a host failure. */
const RETRIES = 3;

const connectionOptions = z.object({
  connectionString: z
    .string()
    .regex(/^postgres(ql)?:\/\//, 'must be an address that starts with postgres://')
    .refine(
      (address) => URL.canParse(address),
      'must be a valid URL, with special characters percent-encoded',
    ),
  schema: z
    .string()
    .regex(
      /^[a-z_][a-z0-9_]{0,49}$/,
      'must consist of up to 50 lower-case letters, digits and underscores, and start with a letter or an underscore',
    )
    .default(DEFAULT_SCHEMA),
});

/** The database in which jobs are stored. */
export interface JobStoreOptions {
  /** URL of the database, such as `postgres://user:password@host:5432/database`. Requires the packages `pg` and `pg-boss`. */
  readonly connectionString: string;
  /** Schema of the tables. Default: `llm_wasm_sandbox_jobs`. */
  readonly schema?: string;
}

export interface JobStore {
  readonly boss: PgBoss;
  readonly schema: string;
  readonly connectionString: string;
}

function rejectMissing(cause: unknown): never {
  const message = 'Jobs require the packages pg and pg-boss. Install them with "npm install pg pg-boss@10".';
  throw new SandboxError('not_installed', message, { cause });
}

/** Connects to the database, and creates or upgrades the tables. */
export async function openJobStore(options: JobStoreOptions, supervision: object): Promise<JobStore> {
  const { connectionString, schema } = parse(connectionOptions, options, 'options');
  const { default: Boss } = await import('pg-boss').catch(rejectMissing);
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
  return { boss, schema, connectionString };
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
  return client;
}

/** Runs statements of pg-boss in one transaction. */
export async function inTransaction(
  store: JobStore,
  work: (db: PgBoss.Db) => Promise<unknown>,
): Promise<void> {
  const client = await connect(store);
  try {
    await client.query('BEGIN');
    await work({ executeSql: (text, values) => client.query(text, values) });
    await client.query('COMMIT');
  } finally {
    // Closing the connection rolls back what was not committed.
    await client.end().catch(() => {});
  }
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
