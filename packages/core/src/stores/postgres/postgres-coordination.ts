/**
 * Coordination through the database of the sessions. Ages are measured by the clock of the database, so the clocks of servers
 * may differ.
 */
import { randomBytes } from 'node:crypto';
import type {
  ApprovalRounds,
  Cancellations,
  Coordination,
  ExpiringValue,
  ExpiringValues,
  MinuteLimiter,
  RateLimiters,
  RoundKey,
  SessionBlobs,
} from '../coordination.ts';
import { MemoryValues } from '../memory-coordination.ts';
import { type Database, toStoreError } from './database.ts';

export function postgresCoordination(database: Database): Coordination {
  return {
    isShared: true,
    approvals: new PostgresRounds(database),
    signingKey: () => signingKey(database),
    values: (tenant) => new PostgresValues(database, tenant),
    cancellations: (tenant) => new PostgresCancellations(database, tenant),
    limiter: (limiters, name, perMinute) => sharedLimiter(limiters, database, name, perMinute),
    check: async () => {
      await database.query('SELECT 1', []);
    },
  };
}

/** The first server creates the key. */
async function signingKey(database: Database): Promise<Uint8Array> {
  const table = database.table('signing_keys');
  await database.query(
    `INSERT INTO ${table} (name, key) VALUES ('approval_rounds', $1) ON CONFLICT DO NOTHING`,
    [randomBytes(32)],
  );
  const { rows } = await database.query(`SELECT key FROM ${table} WHERE name = 'approval_rounds'`, []);
  return rows[0]!['key'] as Uint8Array;
}

const MAX_VALUES = 200;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_AGE_HOURS = 24;
/** Interval at which a process removes old values of all tenants. */
const SWEEP_INTERVAL_MS = 600_000;
/** When the old values of a database were last removed. */
const sweptAt = new WeakMap<Database, number>();
const IS_CURRENT = `created_at > now() - make_interval(hours => ${MAX_AGE_HOURS})`;

/** The values are also kept in memory, so that this server has them even if the database cannot be reached. */
class PostgresValues extends MemoryValues implements ExpiringValues {
  constructor(
    readonly database: Database,
    readonly tenant: string,
  ) {
    super();
  }

  override async add(values: readonly ExpiringValue[]): Promise<void> {
    await super.add(values);
    const table = this.database.table('cached_values');
    for (const { key, session_id, value } of values)
      await this.database.query(
        `INSERT INTO ${table} (tenant, key, session_id, value) VALUES ($1, $2, $3, $4)`,
        [this.tenant, key, session_id, value],
      );
    await this.database.query(
      `DELETE FROM ${table} WHERE tenant = $1 AND key IN (
         SELECT key FROM (
           SELECT key, row_number() OVER newest AS count, sum(length(value)) OVER newest AS bytes
           FROM ${table} WHERE tenant = $1 WINDOW newest AS (ORDER BY position DESC)
         ) AS ranked
         WHERE count > $2 OR bytes > $3)`,
      [this.tenant, MAX_VALUES, MAX_BYTES],
    );
    await this.#sweep();
  }

  override async get(key: string): Promise<Uint8Array | undefined> {
    const own = await super.get(key);
    if (own !== undefined) return own;
    const { rows } = await this.database.query(
      `SELECT value FROM ${this.database.table('cached_values')} WHERE tenant = $1 AND key = $2 AND ${IS_CURRENT}`,
      [this.tenant, key],
    );
    return rows[0]?.['value'] as Buffer | undefined;
  }

  override async keys(session_id: string): Promise<string[]> {
    const { rows } = await this.database.query(
      `SELECT key FROM ${this.database.table('cached_values')}
       WHERE tenant = $1 AND session_id = $2 AND ${IS_CURRENT} ORDER BY position DESC`,
      [this.tenant, session_id],
    );
    return rows.map(({ key }) => key as string);
  }

  /** Removes the old values of all tenants, including those that no longer make calls. */
  async #sweep(): Promise<void> {
    const { database } = this;
    const now = performance.now();
    if (now - (sweptAt.get(database) ?? Number.NEGATIVE_INFINITY) < SWEEP_INTERVAL_MS) return;
    sweptAt.set(database, now);
    await database.query(`DELETE FROM ${database.table('cached_values')} WHERE NOT ${IS_CURRENT}`, []);
  }
}

/** Requests that are older have been seen by every server that was running a program. */
const MAX_REQUEST_MINUTES = 60;

class PostgresCancellations implements Cancellations {
  constructor(
    readonly database: Database,
    readonly tenant: string,
  ) {}

  async request(session_id: string): Promise<void> {
    const table = this.database.table('cancellations');
    await this.database.query(
      `INSERT INTO ${table} (tenant, session_id, requested_at) VALUES ($1, $2, clock_timestamp())
       ON CONFLICT (tenant, session_id) DO UPDATE SET requested_at = clock_timestamp()`,
      [this.tenant, session_id],
    );
    await this.database.query(
      `DELETE FROM ${table} WHERE tenant = $1 AND requested_at < clock_timestamp() - make_interval(mins => $2)`,
      [this.tenant, MAX_REQUEST_MINUTES],
    );
  }

  async ages(session_ids: readonly string[]): Promise<Map<string, number>> {
    const { rows } = await this.database.query(
      `SELECT session_id, extract(epoch FROM clock_timestamp() - requested_at) * 1000 AS age
       FROM ${this.database.table('cancellations')} WHERE tenant = $1 AND session_id = ANY($2)`,
      [this.tenant, session_ids],
    );
    return new Map(rows.map(({ session_id, age }) => [session_id as string, Number(age)]));
  }
}

/** Rounds that no server has used for this long are removed. */
const MAX_IDLE_MINUTES = 60;

class PostgresRounds implements ApprovalRounds {
  readonly #table: string;

  constructor(readonly database: Database) {
    this.#table = database.table('approval_rounds');
  }

  async open({ tenant, run, round, request }: RoundKey): Promise<void> {
    await this.database.query(
      `WITH idle AS (
         DELETE FROM ${this.#table} WHERE tenant = $1 AND seen_at < clock_timestamp() - make_interval(mins => $5)
       )
       INSERT INTO ${this.#table} (tenant, run, round, request, seen_at) VALUES ($1, $2, $3, $4, clock_timestamp())`,
      [tenant, run, round, request, MAX_IDLE_MINUTES],
    );
  }

  async close(round: string): Promise<boolean> {
    return this.#hasChanged(`DELETE FROM ${this.#table} WHERE round = $1 AND answer IS NULL`, [round]);
  }

  async answer({ tenant, run, round, request }: RoundKey, answer: string): Promise<boolean> {
    return this.#hasChanged(
      `UPDATE ${this.#table} SET answer = $5, seen_at = clock_timestamp()
       WHERE round = $1 AND tenant = $2 AND run = $3 AND request = $4 AND answer IS NULL`,
      [round, tenant, run, request, answer],
    );
  }

  async #hasChanged(statement: string, values: unknown[]): Promise<boolean> {
    try {
      return (await this.database.query(statement, values)).rowCount === 1;
    } catch (error) {
      throw toStoreError(error, 'record the answer');
    }
  }

  async answered(rounds: readonly string[]) {
    const { rows } = await this.database.query(
      `UPDATE ${this.#table} SET seen_at = clock_timestamp()
       WHERE round = ANY($1) AND answer IS NOT NULL RETURNING round, answer, is_cancelled`,
      [rounds],
    );
    return rows.map((row) => ({
      round: row['round'] as string,
      answer: row['answer'] as string,
      isCancelled: row['is_cancelled'] === true,
    }));
  }

  async finish(round: string, outcome: string): Promise<void> {
    await this.database.query(`UPDATE ${this.#table} SET outcome = $2 WHERE round = $1`, [round, outcome]);
  }

  async cancel(round: string): Promise<void> {
    await this.database.query(`UPDATE ${this.#table} SET is_cancelled = true WHERE round = $1`, [round]);
  }

  async outcome(round: string): Promise<{ outcome: string | undefined; ageMs: number } | undefined> {
    const { rows } = await this.database.query(
      `SELECT outcome, extract(epoch FROM clock_timestamp() - seen_at) * 1000 AS age FROM ${this.#table} WHERE round = $1`,
      [round],
    );
    const row = rows[0];
    return row && { outcome: (row['outcome'] as string | null) ?? undefined, ageMs: Number(row['age']) };
  }

  async remove(rounds: readonly string[]): Promise<void> {
    await this.database.query(`DELETE FROM ${this.#table} WHERE round = ANY($1)`, [rounds]);
  }
}

/**
 * Uses are counted in the database; those beyond the limit are refused without a query. Without the database, each server counts
 * for itself.
 */
function sharedLimiter(
  { RateLimiterMemory, RateLimiterPostgres }: RateLimiters,
  database: Database,
  keyPrefix: string,
  points: number,
): MinuteLimiter {
  const limits = { keyPrefix, points, duration: 60 };
  return new RateLimiterPostgres({
    ...limits,
    inMemoryBlockOnConsumed: points,
    storeClient: {
      query: ({ text, values }: { text: string; values: unknown[] }) => database.query(text, values),
    },
    storeType: 'pool',
    schemaName: database.schema,
    tableName: 'rate_limits',
    tableCreated: true,
    insuranceLimiter: new RateLimiterMemory(limits),
  });
}

/** The tables of data that belongs to sessions: what the playground shows, and the records of sandboxes of E2B. */
export type BlobTable = 'session_blobs' | 'sandboxes';

/** Data that belongs to sessions. That of sessions which no longer exist is removed when other data is written. */
export class PostgresBlobs implements SessionBlobs {
  readonly #table: string;

  constructor(
    readonly database: Database,
    readonly tenant: string,
    table: BlobTable,
  ) {
    this.#table = database.table(table);
  }

  async read(session_id: string, maxBytes: number): Promise<Uint8Array | undefined> {
    const { rows } = await this.database.query(
      `SELECT value FROM ${this.#table} WHERE tenant = $1 AND session_id = $2 AND length(value) <= $3`,
      [this.tenant, session_id, maxBytes],
    );
    return rows[0]?.['value'] as Buffer | undefined;
  }

  async write(session_id: string, bytes: Uint8Array): Promise<void> {
    await this.database.query(
      `INSERT INTO ${this.#table} (tenant, session_id, value) VALUES ($1, $2, $3)
       ON CONFLICT (tenant, session_id) DO UPDATE SET value = $3, written_at = now()`,
      [this.tenant, session_id, bytes],
    );
    // A new session may not have been saved yet.
    await this.database.query(
      `DELETE FROM ${this.#table} AS blobs WHERE tenant = $1 AND written_at < now() - interval '1 hour'
         AND NOT EXISTS (
           SELECT FROM ${this.database.table('sessions')} AS sessions
           WHERE sessions.tenant = blobs.tenant AND sessions.id = blobs.session_id)`,
      [this.tenant],
    );
  }

  async delete(session_id: string): Promise<void> {
    await this.database.query(`DELETE FROM ${this.#table} WHERE tenant = $1 AND session_id = $2`, [
      this.tenant,
      session_id,
    ]);
  }
}
