/**
 * The lease of a session: one writer among all processes that share the database. Only the clock of the database is used.
 * Every new writer has a new owner id and a higher fencing token. A commit locks the row of the lease and checks both in
 * its own transaction, so a writer that has lost its lease cannot commit, however long it was suspended.
 */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { SandboxError } from '../../errors.ts';
import type { LeaseWait } from '../store.ts';
import type { Database, Queryable } from './database.ts';

interface LeaseOptions {
  readonly database: Database;
  readonly tenant: string;
  readonly id: string;
  readonly foldedId: string;
  readonly leaseSeconds: number;
}

/** Time between two attempts of a process that waits. It starts at the minimum and doubles up to the maximum. */
const MIN_POLL_MS = 10;
const MAX_POLL_MS = 100;
/** A process that has not tried for this long has lost its place in the queue. */
const WAITER_SECONDS = 2;

export class SessionLease {
  #timer: NodeJS.Timeout | undefined;

  private constructor(
    readonly options: LeaseOptions,
    readonly owner: string,
    readonly fencingToken: string,
  ) {}

  /**
   * Acquires the lease if it is free or has expired, and no other process has waited for it longer. Otherwise waits, in
   * order with the other processes. Throws `session_busy`.
   */
  static async acquire(options: LeaseOptions, wait?: LeaseWait): Promise<SessionLease> {
    const owner = randomUUID();
    const fencingToken =
      (await takeLease(options, owner)) ?? (wait && (await waitForLease(options, owner, wait)));
    if (fencingToken === undefined) throw await busy(options, wait);
    const lease = new SessionLease(options, owner, fencingToken);
    lease.#timer = setInterval(() => void lease.#renew(), (options.leaseSeconds * 1000) / 3);
    lease.#timer.unref();
    return lease;
  }

  /** Locks the lease until the end of the transaction. Throws `session_busy` if another writer has taken it over. */
  async lock(client: Queryable): Promise<void> {
    const { database } = this.options;
    const { rows } = await client.query(
      `SELECT FROM ${database.table('leases')}
       WHERE tenant = $1 AND folded_id = $2 AND owner = $3 AND fencing_token = $4 AND expires_at > clock_timestamp()
       FOR UPDATE`,
      this.#key,
    );
    if (rows.length === 0) throw lost(this.options.id);
  }

  /**
   * Releases the lease; never rejects. The row of a session that exists is kept, because updating it is cheaper than
   * inserting it again.
   */
  async release(): Promise<void> {
    clearInterval(this.#timer);
    const { database } = this.options;
    const isOwn = 'tenant = $1 AND folded_id = $2 AND owner = $3 AND fencing_token = $4';
    const isStored = `EXISTS (SELECT FROM ${database.table('sessions')} WHERE tenant = $1 AND lower(id) = $2)`;
    const releasing = database.query(
      `WITH unused AS (DELETE FROM ${database.table('leases')} WHERE ${isOwn} AND NOT ${isStored})
       UPDATE ${database.table('leases')} SET expires_at = '-infinity' WHERE ${isOwn} AND ${isStored}`,
      this.#key,
    );
    // A lease that cannot be released expires.
    await releasing.catch(() => {});
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

/** Takes the lease and returns its fencing token; undefined if it is held, or if another process has waited longer. */
async function takeLease(
  { database, tenant, foldedId, leaseSeconds }: LeaseOptions,
  owner: string,
  ticket: string | null = null,
): Promise<string | undefined> {
  const { rows } = await database.query(
    `INSERT INTO ${database.table('leases')} AS held
       (tenant, folded_id, fencing_token, owner, holder, since, expires_at)
     SELECT $1, $2, nextval('${database.table('fencing_tokens')}'), $3, $4, clock_timestamp(),
       clock_timestamp() + make_interval(secs => $5)
     WHERE NOT EXISTS (
       SELECT FROM ${database.table('lease_waiters')}
       WHERE tenant = $1 AND folded_id = $2 AND expires_at > clock_timestamp()
         AND ($6::bigint IS NULL OR ticket < $6))
     ON CONFLICT (tenant, folded_id) DO UPDATE SET fencing_token = excluded.fencing_token, owner = excluded.owner,
       holder = excluded.holder, since = excluded.since, expires_at = excluded.expires_at
     WHERE held.expires_at <= clock_timestamp()
     RETURNING fencing_token`,
    [tenant, foldedId, owner, `pid ${process.pid} on ${hostname()}`.slice(0, 300), leaseSeconds, ticket],
  );
  return rows.length === 0 ? undefined : String(rows[0]!['fencing_token']);
}

async function waitForLease(
  options: LeaseOptions,
  owner: string,
  { ms, signal }: LeaseWait,
): Promise<string | undefined> {
  const { database, tenant, foldedId } = options;
  const waiters = database.table('lease_waiters');
  const endsAt = performance.now() + ms;
  let pollMs = MIN_POLL_MS;
  try {
    while (performance.now() < endsAt && signal?.aborted !== true) {
      const { rows } = await database.query(
        `INSERT INTO ${waiters} (tenant, folded_id, owner, expires_at)
         VALUES ($1, $2, $3, clock_timestamp() + make_interval(secs => $4))
         ON CONFLICT (tenant, folded_id, owner) DO UPDATE SET expires_at = excluded.expires_at RETURNING ticket`,
        [tenant, foldedId, owner, WAITER_SECONDS],
      );
      const taken = await takeLease(options, owner, String(rows[0]!['ticket']));
      if (taken !== undefined) return taken;
      await sleep(Math.max(1, Math.min(pollMs, endsAt - performance.now())), undefined, { signal }).catch(
        () => {},
      );
      pollMs = Math.min(2 * pollMs, MAX_POLL_MS);
    }
    return undefined;
  } finally {
    // A row that cannot be deleted expires.
    const isOwn = 'tenant = $1 AND folded_id = $2 AND owner = $3';
    await database.query(`DELETE FROM ${waiters} WHERE ${isOwn}`, [tenant, foldedId, owner]).catch(() => {});
  }
}

async function busy(
  { database, tenant, id, foldedId }: LeaseOptions,
  wait: LeaseWait | undefined,
): Promise<SandboxError> {
  const { rows } = await database.query(
    `SELECT holder, to_char(since AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS since
     FROM ${database.table('leases')} WHERE tenant = $1 AND folded_id = $2`,
    [tenant, foldedId],
  );
  const lease = rows[0];
  const holder = lease === undefined ? 'another process' : `${lease['holder']}, since ${lease['since']}`;
  const advice =
    wait === undefined
      ? 'Wait until it is closed, or fork the session.'
      : `It did not become free within ${wait.ms / 1000} s. Try again later.`;
  const waited = wait === undefined ? '' : ` and did not become free within ${wait.ms / 1000} s`;
  return new SandboxError('session_busy', `Session "${id}" is open elsewhere (${holder}). ${advice}`, {
    publicMessage: `Session "${id}" is in use by another call or another server${waited}. Nothing was run. Retry in a moment.`,
  });
}

function lost(id: string): SandboxError {
  const message = `This process did not renew its lease on session "${id}" in time, so another process can take over the session. Nothing was saved. Open the session again.`;
  const publicMessage = `The server lost its lease on session "${id}" before it could save this call, so the call had no effect. Run it again.`;
  return new SandboxError('session_busy', message, { publicMessage });
}
