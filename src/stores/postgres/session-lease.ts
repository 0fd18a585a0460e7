/**
 * The lease of a session: one writer among all processes that share the database. Only the clock of the database is used.
 * Every new writer gets a higher fencing token, and a commit locks the row of the lease and checks the token in its own
 * transaction, so a writer that has lost its lease cannot commit, however long it was suspended.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { SandboxError } from '../../errors.ts';
import type { Database, PostgresClient } from './database.ts';

export interface LeaseOptions {
  readonly database: Database;
  readonly tenant: string;
  readonly id: string;
  readonly foldedId: string;
  readonly leaseSeconds: number;
}

export class SessionLease {
  #timer: NodeJS.Timeout | undefined;

  private constructor(
    readonly options: LeaseOptions,
    readonly owner: string,
    readonly fencingToken: string,
  ) {}

  /** Acquires the lease if it is free or has expired. Throws `session_busy`. */
  static async acquire(options: LeaseOptions): Promise<SessionLease> {
    const { database, tenant, foldedId, leaseSeconds } = options;
    const owner = randomUUID();
    const leases = database.table('leases');
    const { rows } = await database.query(
      `INSERT INTO ${leases} AS held (tenant, folded_id, fencing_token, owner, holder, since, expires_at)
       VALUES ($1, $2, 1, $3, $4, clock_timestamp(), clock_timestamp() + make_interval(secs => $5))
       ON CONFLICT (tenant, folded_id) DO UPDATE SET fencing_token = held.fencing_token + 1, owner = excluded.owner,
         holder = excluded.holder, since = excluded.since, expires_at = excluded.expires_at
       WHERE held.expires_at <= clock_timestamp()
       RETURNING fencing_token`,
      [tenant, foldedId, owner, `pid ${process.pid} on ${hostname()}`.slice(0, 300), leaseSeconds],
    );
    if (rows.length === 0) throw await busy(options);
    const lease = new SessionLease(options, owner, String(rows[0]!['fencing_token']));
    lease.#timer = setInterval(() => void lease.#renew(), (leaseSeconds * 1000) / 3);
    lease.#timer.unref();
    return lease;
  }

  /** Locks the lease until the end of the transaction. Throws `session_busy` if another writer has taken it over. */
  async lock(client: Pick<PostgresClient, 'query'>): Promise<void> {
    const { database } = this.options;
    const { rows } = await client.query(
      `SELECT FROM ${database.table('leases')}
       WHERE tenant = $1 AND folded_id = $2 AND owner = $3 AND fencing_token = $4 AND expires_at > clock_timestamp()
       FOR UPDATE`,
      this.#key,
    );
    if (rows.length === 0) throw lost(this.options.id);
  }

  /** Releases the lease. Its row stays in the table as expired, because the fencing token must never decrease. */
  async release(): Promise<void> {
    clearInterval(this.#timer);
    const { database } = this.options;
    await database.query(
      `UPDATE ${database.table('leases')} SET expires_at = '-infinity'
       WHERE tenant = $1 AND folded_id = $2 AND owner = $3 AND fencing_token = $4`,
      this.#key,
    );
  }

  get #key(): unknown[] {
    const { tenant, foldedId } = this.options;
    return [tenant, foldedId, this.owner, this.fencingToken];
  }

  /** Extends the lease, unless it has expired: another process may be about to take it. */
  async #renew(): Promise<void> {
    const { database, leaseSeconds } = this.options;
    const renewed = database.query(
      `UPDATE ${database.table('leases')} SET expires_at = clock_timestamp() + make_interval(secs => $5)
       WHERE tenant = $1 AND folded_id = $2 AND owner = $3 AND fencing_token = $4 AND expires_at > clock_timestamp()`,
      [...this.#key, leaseSeconds],
    );
    // A failed renewal is retried by the timer. If the lease expires in the meantime, the next commit is rejected.
    await renewed.catch(() => {});
  }
}

async function busy({ database, tenant, id, foldedId }: LeaseOptions): Promise<SandboxError> {
  const { rows } = await database.query(
    `SELECT holder, to_char(since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS since
     FROM ${database.table('leases')} WHERE tenant = $1 AND folded_id = $2`,
    [tenant, foldedId],
  );
  const { holder = 'another process', since = 'now' } = rows[0] ?? {};
  return new SandboxError(
    'session_busy',
    `Session "${id}" is open elsewhere (${holder}, since ${since}). Wait until it is closed, or fork the session.`,
    { publicMessage: `Session "${id}" is in use by another call or another server. Retry in a moment.` },
  );
}

function lost(id: string): SandboxError {
  const message = `This process did not renew its lease of session "${id}" in time, so another process can take over the session. Open the session again.`;
  return new SandboxError('session_busy', message, { publicMessage: message });
}
