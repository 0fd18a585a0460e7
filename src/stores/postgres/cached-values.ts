/**
 * Values that servers with the same database share for a limited time, such as outputs of recent calls. The oldest values of a
 * tenant are removed when it has too many or they are too large.
 */
import type { Database } from './database.ts';

const MAX_VALUES = 200;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_AGE_HOURS = 24;
/** Interval at which a process removes old values of all tenants. */
const SWEEP_INTERVAL_MS = 600_000;
/** When the old values of a database were last removed. */
const sweptAt = new WeakMap<Database, number>();
const IS_CURRENT = `created_at > now() - make_interval(hours => ${MAX_AGE_HOURS})`;

export interface CachedValue {
  readonly key: string;
  readonly session_id: string;
  readonly value: Uint8Array;
}

/** The values of one tenant. */
export class CachedValues {
  constructor(
    readonly database: Database,
    readonly tenant: string,
  ) {}

  async add(values: readonly CachedValue[]): Promise<void> {
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

  async get(key: string): Promise<Uint8Array | undefined> {
    const { rows } = await this.database.query(
      `SELECT value FROM ${this.database.table('cached_values')} WHERE tenant = $1 AND key = $2 AND ${IS_CURRENT}`,
      [this.tenant, key],
    );
    return rows[0]?.['value'] as Buffer | undefined;
  }

  /** The keys of the values of a session, latest first. */
  async keys(session_id: string): Promise<string[]> {
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
