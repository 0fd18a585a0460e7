/**
 * Values that the servers of a database share for a limited time, such as outputs of recent calls. The oldest values of a
 * tenant are removed when it has too many or they are too large.
 */
import type { Database } from './database.ts';

const MAX_VALUES = 200;
const MAX_BYTES = 64 * 1024 * 1024;
const MAX_AGE_HOURS = 24;

export interface CachedValue {
  readonly key: string;
  readonly session_id: string;
  /** Any JSON value. */
  readonly value: unknown;
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
        [this.tenant, key, session_id, Buffer.from(JSON.stringify(value))],
      );
    await this.database.query(
      `DELETE FROM ${table} WHERE tenant = $1 AND key IN (
         SELECT key FROM (
           SELECT key, created_at, row_number() OVER newest AS count, sum(length(value)) OVER newest AS bytes
           FROM ${table} WHERE tenant = $1 WINDOW newest AS (ORDER BY position DESC)
         ) AS ranked
         WHERE count > $2 OR bytes > $3 OR created_at < now() - make_interval(hours => $4))`,
      [this.tenant, MAX_VALUES, MAX_BYTES, MAX_AGE_HOURS],
    );
  }

  async get(key: string): Promise<unknown> {
    const { rows } = await this.database.query(
      `SELECT value FROM ${this.database.table('cached_values')} WHERE tenant = $1 AND key = $2`,
      [this.tenant, key],
    );
    const value = rows[0]?.['value'] as Buffer | undefined;
    return value && JSON.parse(value.toString());
  }

  /** The keys of the values of a session, latest first. */
  async keys(session_id: string): Promise<string[]> {
    const { rows } = await this.database.query(
      `SELECT key FROM ${this.database.table('cached_values')}
       WHERE tenant = $1 AND session_id = $2 ORDER BY position DESC`,
      [this.tenant, session_id],
    );
    return rows.map(({ key }) => key as string);
  }
}
