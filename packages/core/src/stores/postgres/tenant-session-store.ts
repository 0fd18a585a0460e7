/**
 * The sessions of one tenant. A read takes place in one snapshot of the database; a write needs the lease of the session
 * (session-lease.ts) and is one transaction (session-commit.ts).
 */
import { randomUUID } from 'node:crypto';
import { SandboxError } from '../../errors.ts';
import type { Entry, TreeEdit } from '../../fs/flat-entries.ts';
import { asDamaged, type ObjectSource } from '../format/object-ref.ts';
import { ifIntact, recoverEntries } from '../format/recover-entries.ts';
import { encodeStates, readCheckpoint, type SessionManifest, sessionFrom } from '../format/session-codec.ts';
import { checkSession, statesOf } from '../format/session-validation.ts';
import { readTree } from '../format/stored-tree.ts';
import { foldSessionId, rejectCaseConflict } from '../session-id.ts';
import { SessionWriters } from '../session-writers.ts';
import {
  byLastUse,
  type LeaseWait,
  type RecoveredWorkspace,
  type SessionRecord,
  type SessionState,
  type SessionStore,
  type StoredSession,
} from '../store.ts';
import type { Database } from './database.ts';
import { ObjectRows, removeUnreferenced } from './object-rows.ts';
import { CommitCache, type CommitLimits, decodeManifest, SessionCommits } from './session-commit.ts';
import { SessionLease } from './session-lease.ts';

/** Time between two searches for expired sessions and garbage. */
const SWEEP_INTERVAL_MS = 60_000;

interface TableLimits extends CommitLimits {
  readonly leaseSeconds: number;
  readonly ttlSeconds: number | undefined;
}

export class TenantSessionStore implements SessionStore {
  readonly #writers = new SessionWriters<SessionCommits>();
  readonly #commits = new CommitCache();
  #sweptAt = Number.NEGATIVE_INFINITY;

  constructor(
    readonly database: Database,
    readonly tenant: string,
    readonly limits: TableLimits,
  ) {}

  async list() {
    await this.#sweep();
    const { rows } = await this.database.query(
      `SELECT id, manifest FROM ${this.database.table('sessions')} WHERE tenant = $1`,
      [this.tenant],
    );
    const records: SessionRecord[] = [];
    const damaged: string[] = [];
    for (const { id, manifest } of rows as { id: string; manifest: unknown }[]) {
      try {
        records.push(decodeManifest(id, manifest).record);
      } catch (error) {
        if (!(error instanceof SandboxError)) throw error;
        damaged.push(id);
      }
    }
    return { records: records.sort(byLastUse), damaged: damaged.sort() };
  }

  read(id: string): Promise<StoredSession | undefined> {
    return this.#withManifest(id, (manifest, objects) =>
      sessionFrom(manifest, objects, this.limits.maxSessionBytes),
    );
  }

  readCheckpoint(id: string, name: string): Promise<SessionState | undefined> {
    return this.#withManifest(id, (manifest, objects) =>
      readCheckpoint(manifest, name, objects, this.limits.maxSessionBytes),
    );
  }

  /** No other program can edit files in a database. */
  async edits(): Promise<TreeEdit> {
    return { removed: [], entries: [] };
  }

  async readWorkspace(id: string): Promise<RecoveredWorkspace | undefined> {
    try {
      const session = await this.read(id);
      return session && { workspace: session.state.workspace, damage: undefined };
    } catch (error) {
      if (!(error instanceof SandboxError) || error.code !== 'session_damaged') throw error;
      return this.#recoverWorkspace(id, error.message);
    }
  }

  async size(id: string): Promise<number> {
    const { database } = this;
    const { rows } = await database.query(
      `SELECT length(manifest) + (
         SELECT coalesce(sum(o.bytes), 0) FROM ${database.table('session_objects')} r
         JOIN ${database.table('objects')} o USING (tenant, name)
         WHERE r.tenant = s.tenant AND r.session_id = s.id) AS bytes
       FROM ${database.table('sessions')} s WHERE tenant = $1 AND id = $2`,
      [this.tenant, id],
    );
    return Number(rows[0]?.['bytes'] ?? 0);
  }

  async revision(id: string): Promise<string | undefined> {
    const { rows } = await this.database.query(
      `SELECT commit_id FROM ${this.database.table('sessions')} WHERE tenant = $1 AND id = $2`,
      [this.tenant, id],
    );
    return rows[0]?.['commit_id'] as string | undefined;
  }

  async write(session: StoredSession, revision: string = randomUUID()): Promise<void> {
    checkSession(session);
    // Throws for an invalid state before anything is locked. The encoded states are cached.
    await encodeStates(statesOf(session));
    const { session_id } = session.record;
    const write = async (commits: SessionCommits) => this.#collect(await commits.write(session, revision));
    await this.#writers.run(session_id, write, () => this.acquire(session_id));
  }

  async delete(id: string): Promise<number> {
    return this.#writers.run(
      id,
      async (commits) => {
        const freed = await this.size(id);
        await this.#collect(await commits.delete());
        return freed;
      },
      () => this.#lock(id),
    );
  }

  async acquire(id: string, wait?: LeaseWait): Promise<() => Promise<void>> {
    await this.#sweep();
    const release = await this.#lock(id, wait);
    try {
      const { rows } = await this.database.query(
        `SELECT id FROM ${this.database.table('sessions')} WHERE tenant = $1 AND lower(id) = $2`,
        [this.tenant, foldSessionId(id)],
      );
      const existing = rows.map((row) => row['id'] as string);
      rejectCaseConflict(id, existing);
    } catch (error) {
      await release();
      throw error;
    }
    return release;
  }

  /** Acquires a session even if its id conflicts with that of another one. A session with a conflict can only be deleted. */
  async #lock(id: string, wait?: LeaseWait): Promise<() => Promise<void>> {
    const { database, tenant, limits } = this;
    const { leaseSeconds } = limits;
    const options = { database, tenant, id, foldedId: foldSessionId(id), leaseSeconds };
    const lease = await SessionLease.acquire(options, wait);
    const commits = new SessionCommits(database, tenant, id, lease, limits, this.#commits);
    return this.#writers.add(id, commits, () => lease.release());
  }

  /** Removes objects that are no longer referenced. What remains after a failure is removed by a later sweep. */
  async #collect(names: readonly string[]): Promise<void> {
    await removeUnreferenced(this.database, this.tenant, names).catch(() => {});
  }

  /** Deletes expired sessions, and what killed processes left behind, at most once a minute. */
  async #sweep(): Promise<void> {
    if (performance.now() - this.#sweptAt < SWEEP_INTERVAL_MS) return;
    this.#sweptAt = performance.now();
    const { ttlSeconds } = this.limits;
    if (ttlSeconds !== undefined) {
      await this.#deleteExpired(ttlSeconds);
    }
    await this.#deleteUnusedLeases().catch(() => {});
    await removeUnreferenced(this.database, this.tenant).catch(() => {});
  }

  /** Deletes the leases of sessions that do not exist, and the places of processes that no longer wait. */
  async #deleteUnusedLeases(): Promise<void> {
    const { database, tenant } = this;
    await database.query(
      `WITH waiters AS (
         DELETE FROM ${database.table('lease_waiters')}
         WHERE tenant = $1 AND expires_at < clock_timestamp() - make_interval(mins => 1))
       DELETE FROM ${database.table('leases')} l
       WHERE tenant = $1 AND expires_at < clock_timestamp() - make_interval(mins => 1) AND NOT EXISTS (
         SELECT FROM ${database.table('sessions')} s WHERE s.tenant = l.tenant AND lower(s.id) = l.folded_id)`,
      [tenant],
    );
  }

  /**
   * Takes the lease of each expired session and deletes the session in the same statement. A session whose lease another
   * process takes at this moment is kept, and so is one that was used meanwhile.
   */
  async #deleteExpired(ttlSeconds: number): Promise<void> {
    const { database, tenant } = this;
    const isExpired = 'last_used_at < clock_timestamp() - make_interval(secs => $2)';
    await database.query(
      `WITH taken AS (
         INSERT INTO ${database.table('leases')} AS held
           (tenant, folded_id, fencing_token, owner, holder, since, expires_at)
         SELECT tenant, lower(id), nextval('${database.table('fencing_tokens')}'), gen_random_uuid(), 'expiry',
           clock_timestamp(), '-infinity'
         FROM ${database.table('sessions')} WHERE tenant = $1 AND ${isExpired}
         ON CONFLICT (tenant, folded_id) DO UPDATE SET fencing_token = excluded.fencing_token, owner = excluded.owner,
           holder = excluded.holder WHERE held.expires_at <= clock_timestamp()
         RETURNING folded_id
       )
       DELETE FROM ${database.table('sessions')}
       WHERE tenant = $1 AND lower(id) IN (SELECT folded_id FROM taken) AND ${isExpired}`,
      [tenant, ttlSeconds],
    );
  }

  #withManifest<T>(
    id: string,
    read: (manifest: SessionManifest, objects: ObjectSource) => Promise<T>,
  ): Promise<T | undefined> {
    return this.database.transaction('REPEATABLE READ READ ONLY', async (client) => {
      const { rows } = await client.query(
        `SELECT manifest FROM ${this.database.table('sessions')} WHERE tenant = $1 AND id = $2`,
        [this.tenant, id],
      );
      if (rows.length === 0) return undefined;
      const manifest = decodeManifest(id, rows[0]!['manifest']);
      return await read(manifest, new ObjectRows(this.database, client, this.tenant)).catch(asDamaged);
    });
  }

  /** Returns the files of a damaged session whose objects are intact. */
  async #recoverWorkspace(id: string, damage: string): Promise<RecoveredWorkspace> {
    const workspace = new Map<string, Entry>();
    await ifIntact(() =>
      this.#withManifest(id, async ({ state }, objects) => {
        const tree = await ifIntact(() => readTree(objects, state.workspace));
        await recoverEntries(tree?.entries ?? [], objects, this.limits.maxSessionBytes, workspace);
      }),
    );
    return { workspace, damage };
  }
}
