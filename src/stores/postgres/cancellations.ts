/**
 * Requests to cancel the programs of a session, for servers that share a database. The server that runs a program looks for
 * them. Times are compared as ages, so the clocks of servers and database may differ.
 */
import type { Database } from './database.ts';

/** Requests that are older have been seen by every server that was running a program. */
const MAX_AGE_MINUTES = 60;

/** The requests of one tenant. */
export class Cancellations {
  constructor(
    readonly database: Database,
    readonly tenant: string,
  ) {}

  /** Requests the cancellation of the programs of a session that are active now. */
  async request(session_id: string): Promise<void> {
    const table = this.database.table('cancellations');
    await this.database.query(
      `INSERT INTO ${table} (tenant, session_id, requested_at) VALUES ($1, $2, clock_timestamp())
       ON CONFLICT (tenant, session_id) DO UPDATE SET requested_at = clock_timestamp()`,
      [this.tenant, session_id],
    );
    await this.database.query(
      `DELETE FROM ${table} WHERE tenant = $1 AND requested_at < clock_timestamp() - make_interval(mins => $2)`,
      [this.tenant, MAX_AGE_MINUTES],
    );
  }

  /** The age of the last request of each session in milliseconds, for the sessions that have one. */
  async ages(session_ids: readonly string[]): Promise<Map<string, number>> {
    const { rows } = await this.database.query(
      `SELECT session_id, extract(epoch FROM clock_timestamp() - requested_at) * 1000 AS age
       FROM ${this.database.table('cancellations')} WHERE tenant = $1 AND session_id = ANY($2)`,
      [this.tenant, session_ids],
    );
    return new Map(rows.map(({ session_id, age }) => [session_id as string, Number(age)]));
  }
}
