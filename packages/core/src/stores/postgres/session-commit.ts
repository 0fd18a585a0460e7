/**
 * Commits a session in one transaction. The transaction inserts the objects that the tenant does not have and the
 * references that the previous commit does not have, so its cost is proportional to what the call changed.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { SandboxError } from '../../errors.ts';
import { formatBytes, formatItems } from '../../quantities.ts';
import { asDamaged } from '../format/object-ref.ts';
import {
  decodeSessionManifest,
  encodeStates,
  MAX_MANIFEST_BYTES,
  objectsOf,
  referencedObjects,
  type SessionManifest,
  type StateManifest,
  storedStates,
  toSessionManifest,
} from '../format/session-codec.ts';
import { statesOf } from '../format/session-validation.ts';
import { damaged, encodePrettyJson } from '../format/stored-json.ts';
import { foldSessionId } from '../session-id.ts';
import type { StoredSession } from '../store.ts';
import { type Database, LostCommitError, type Queryable } from './database.ts';
import { insertObjects, ObjectRows } from './object-rows.ts';
import type { SessionLease } from './session-lease.ts';

/** Throws `session_damaged` if the bytes are not the manifest of this session. */
export function decodeManifest(id: string, bytes: unknown): SessionManifest {
  const manifest = decodeSessionManifest(bytes as Uint8Array, 'manifest');
  if (manifest.record.session_id !== id) throw damaged('manifest', 'belongs to another session');
  return manifest;
}

/** How often, and with what delay, the outcome of a commit is checked after its connection was lost. */
const OUTCOME_CHECKS = 5;
const OUTCOME_DELAY_MS = 500;

export interface CommitLimits {
  readonly maxSessionBytes: number;
  readonly maxTenantBytes: number;
  readonly maxSessions: number;
}

/** What the session contains according to its row; valid as long as the row has this commit id. */
interface Committed {
  readonly commitId: string;
  readonly checkpoints: SessionManifest['checkpoints'];
  /** The objects that the session references, with their sizes. */
  readonly references: ReadonlyMap<string, number>;
  /** The objects of the states that only the store has, by state. */
  readonly storedObjects: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

/** Object names of the cached commits of a store. */
const MAX_CACHED_NAMES = 100_000;

/** The last commits of the sessions that this process has written. A commit needs to read nothing if it is here. */
export class CommitCache {
  /** Least recently used first. */
  readonly #commits = new Map<string, Committed>();
  #names = 0;

  get(id: string): Committed | undefined {
    return this.#commits.get(id);
  }

  set(id: string, commit: Committed | undefined): void {
    this.#names -= namesOf(this.#commits.get(id));
    this.#commits.delete(id);
    if (commit === undefined) return;
    this.#commits.set(id, commit);
    this.#names += namesOf(commit);
    for (const [oldest, other] of this.#commits) {
      if (this.#names <= MAX_CACHED_NAMES) break;
      this.#names -= namesOf(other);
      this.#commits.delete(oldest);
    }
  }
}

function namesOf(commit: Committed | undefined): number {
  if (commit === undefined) return 0;
  const stored = [...commit.storedObjects.values()].reduce((sum, { size }) => sum + size, 0);
  return 1 + commit.references.size + stored;
}

/** A commit that is being written. */
interface NextCommit extends Committed {
  readonly manifest: Uint8Array;
  /** The objects that the previous commit does not reference. */
  readonly added: ReadonlyMap<string, Uint8Array>;
  /** The names of the objects that only the previous commit references. */
  readonly removed: readonly string[];
}

/** Commits the states of one session, for the holder of its lease. */
export class SessionCommits {
  constructor(
    readonly database: Database,
    readonly tenant: string,
    readonly id: string,
    readonly lease: SessionLease,
    readonly limits: CommitLimits,
    readonly cache: CommitCache,
  ) {}

  /** Commits a session. Returns the names of the objects that it no longer references. */
  async write(session: StoredSession, commitId: string): Promise<readonly string[]> {
    let next: NextCommit | undefined;
    try {
      await this.database.transaction('READ COMMITTED', async (client) => {
        await this.lease.lock(client);
        const before = await this.#current(client);
        // Rejects most sessions above the limit before their objects are sent.
        if (before === undefined) await this.#checkSessions(client, 1);
        next = await this.#prepare(client, before, session, commitId);
        await this.#writeRows(client, next, session.record.last_used_at, before === undefined);
      });
    } catch (error) {
      this.cache.set(this.id, undefined);
      await this.#checkOutcome(error, (current) => current === commitId);
    }
    const { manifest: _manifest, added: _added, removed, ...commit } = next!;
    this.cache.set(this.id, commit);
    return removed;
  }

  /** Deletes the session. Returns the names of the objects that it referenced. */
  async delete(): Promise<readonly string[]> {
    this.cache.set(this.id, undefined);
    let references: ReadonlyMap<string, number> = new Map();
    try {
      await this.database.transaction('READ COMMITTED', async (client) => {
        await this.lease.lock(client);
        references = await this.#references(client);
        const sessions = this.database.table('sessions');
        await client.query(`DELETE FROM ${sessions} WHERE tenant = $1 AND id = $2`, [this.tenant, this.id]);
      });
    } catch (error) {
      await this.#checkOutcome(error, (current) => current === undefined);
    }
    return [...references.keys()];
  }

  async #prepare(
    client: Queryable,
    before: Committed | undefined,
    session: StoredSession,
    commitId: string,
  ): Promise<NextCommit> {
    const objects = new Map(
      (await encodeStates(statesOf(session))).flatMap((state) => [...objectsOf(state)]),
    );
    const references = new Map([...objects].map(([name, { length }]) => [name, length]));
    const stored = storedStates(before?.checkpoints, session);
    const storedObjects = new Map<string, ReadonlyMap<string, number>>();
    for (const state of stored.values()) {
      const key = JSON.stringify(state);
      const known = storedObjects.get(key) ?? before?.storedObjects.get(key);
      storedObjects.set(key, known ?? (await this.#objectsOf(client, state)));
    }
    for (const names of storedObjects.values())
      for (const [name, bytes] of names) references.set(name, bytes);
    this.#checkSize(references);
    const manifest = toSessionManifest(session, stored);
    const bytes = encodePrettyJson(manifest);
    if (bytes.length > MAX_MANIFEST_BYTES)
      throw this.#tooLarge('its manifest is', bytes.length, MAX_MANIFEST_BYTES);
    const known = before?.references ?? new Map<string, number>();
    return {
      commitId,
      checkpoints: manifest.checkpoints,
      references,
      storedObjects,
      manifest: bytes,
      added: new Map([...objects].filter(([name]) => !known.has(name))),
      removed: [...known.keys()].filter((name) => !references.has(name)),
    };
  }

  /** Locks objects before the tenant, in every commit: another order would cause deadlocks between commits. */
  async #writeRows(client: Queryable, next: NextCommit, lastUsedAt: string, isNew: boolean): Promise<void> {
    const { database, tenant, id } = this;
    const inserted = await insertObjects(database, client, tenant, next.added);
    await client.query(
      `INSERT INTO ${database.table('sessions')} (tenant, id, commit_id, manifest, last_used_at)
       VALUES ($1, $2, $3, $4, $5)
       ON CONFLICT (tenant, id) DO UPDATE SET commit_id = excluded.commit_id, manifest = excluded.manifest,
         last_used_at = excluded.last_used_at`,
      [tenant, id, next.commitId, Buffer.from(next.manifest), lastUsedAt],
    );
    const references = database.table('session_objects');
    if (next.added.size > 0)
      await client.query(
        `INSERT INTO ${references} (tenant, session_id, name) SELECT $1, $2, * FROM unnest($3::text[])`,
        [tenant, id, [...next.added.keys()]],
      );
    if (next.removed.length > 0)
      await client.query(
        `DELETE FROM ${references} WHERE tenant = $1 AND session_id = $2 AND name = ANY($3)`,
        [tenant, id, next.removed],
      );
    const isLimited = isNew && this.limits.maxSessions !== Number.POSITIVE_INFINITY;
    if (inserted > 0 || isLimited) await this.#count(client, inserted);
    if (isLimited) await this.#checkSessions(client, 0);
  }

  /** Checks that the tenant may have `added` more sessions. Exact if the row of the tenant is locked. */
  async #checkSessions(client: Queryable, added: number): Promise<void> {
    const { maxSessions } = this.limits;
    if (maxSessions === Number.POSITIVE_INFINITY) return;
    const { rows } = await client.query(
      `SELECT count(*) AS count FROM ${this.database.table('sessions')} WHERE tenant = $1`,
      [this.tenant],
    );
    const count = Number(rows[0]!['count']) + added;
    if (count <= maxSessions) return;
    const fact = `The store already has ${formatItems(count - 1, 'session')}, and the limit is ${maxSessions}`;
    throw new SandboxError('session_limit', `${fact}. Delete or prune sessions that are no longer needed.`);
  }

  /** Adds to the bytes of the tenant. The row stays locked until the end of the transaction, so the limits are exact. */
  async #count(client: Queryable, inserted: number): Promise<void> {
    const { rows } = await client.query(
      `INSERT INTO ${this.database.table('tenants')} AS t (tenant, bytes) VALUES ($1, $2)
       ON CONFLICT (tenant) DO UPDATE SET bytes = t.bytes + excluded.bytes RETURNING bytes`,
      [this.tenant, inserted],
    );
    const bytes = Number(rows[0]!['bytes']);
    const { maxTenantBytes } = this.limits;
    if (bytes > maxTenantBytes)
      throw this.#tooLarge('the total size of the sessions of this tenant is', bytes, maxTenantBytes);
  }

  /** What the row of the session contains. It is read unless the cached commit is the one that the row has. */
  async #current(client: Queryable): Promise<Committed | undefined> {
    const sessions = this.database.table('sessions');
    const key = [this.tenant, this.id];
    const { rows } = await client.query(
      `SELECT commit_id FROM ${sessions} WHERE tenant = $1 AND id = $2 FOR UPDATE`,
      key,
    );
    if (rows.length === 0) return undefined;
    const commitId = rows[0]!['commit_id'] as string;
    const last = this.cache.get(this.id);
    if (last?.commitId === commitId) return last;
    const found = await client.query(`SELECT manifest FROM ${sessions} WHERE tenant = $1 AND id = $2`, key);
    const references = await this.#references(client);
    const checkpoints = this.#checkpoints(found.rows[0]!['manifest']);
    return { commitId, checkpoints, references, storedObjects: new Map() };
  }

  /** A write may replace a damaged session, which has no checkpoints to keep. */
  #checkpoints(manifest: unknown): SessionManifest['checkpoints'] {
    try {
      return decodeManifest(this.id, manifest).checkpoints;
    } catch (error) {
      if (error instanceof SandboxError) return [];
      throw error;
    }
  }

  async #references(client: Queryable): Promise<Map<string, number>> {
    const { rows } = await client.query(
      `SELECT name, o.bytes FROM ${this.database.table('session_objects')} r
       JOIN ${this.database.table('objects')} o USING (tenant, name) WHERE r.tenant = $1 AND session_id = $2`,
      [this.tenant, this.id],
    );
    return new Map(rows.map(({ name, bytes }) => [name as string, Number(bytes)]));
  }

  #objectsOf(client: Queryable, state: StateManifest): Promise<ReadonlyMap<string, number>> {
    return referencedObjects(state, new ObjectRows(this.database, client, this.tenant)).catch(asDamaged);
  }

  /**
   * Returns if a transaction took effect although its reply was lost. Throws the error if it had no effect, and
   * `commit_unknown` if that cannot be determined. `tookEffect` decides by the commit that the session has.
   */
  async #checkOutcome(error: unknown, tookEffect: (commitId: string | undefined) => boolean): Promise<void> {
    if (!(error instanceof LostCommitError)) throw error;
    for (let check = 0; check < OUTCOME_CHECKS; check++) {
      let current: string | undefined;
      try {
        current = await this.#committed();
      } catch {
        await sleep(OUTCOME_DELAY_MS);
        continue;
      }
      if (!tookEffect(current)) throw error;
      return;
    }
    throw this.#unknownOutcome(error);
  }

  /**
   * The last commit of the session; undefined if there is none. A transaction whose reply was lost has locked the lease, so
   * this waits until that transaction has ended.
   */
  #committed(): Promise<string | undefined> {
    const leases = `SELECT FROM ${this.database.table('leases')} WHERE tenant = $1 AND folded_id = $2 FOR UPDATE`;
    const sessions = `SELECT commit_id FROM ${this.database.table('sessions')} WHERE tenant = $1 AND id = $2`;
    return this.database.transaction('READ COMMITTED', async (client) => {
      await client.query(leases, [this.tenant, foldSessionId(this.id)]);
      const { rows } = await client.query(sessions, [this.tenant, this.id]);
      return rows[0]?.['commit_id'] as string | undefined;
    });
  }

  #unknownOutcome(cause: unknown): SandboxError {
    const reason = cause instanceof Error ? cause.message : String(cause);
    const fact = `The connection to the session store was lost while session "${this.id}" was being saved, so it is not known whether the change took effect`;
    const advice = 'Read the state of the session before you repeat the change';
    return new SandboxError('commit_unknown', `${fact}: ${reason}. ${advice}.`, {
      cause,
      publicMessage: `${fact}. ${advice}.`,
    });
  }

  #checkSize(references: ReadonlyMap<string, number>): void {
    let total = 0;
    for (const bytes of references.values()) total += bytes;
    const { maxSessionBytes } = this.limits;
    if (total > maxSessionBytes) throw this.#tooLarge('its size is', total, maxSessionBytes);
  }

  #tooLarge(what: string, bytes: number, limit: number): SandboxError {
    return new SandboxError(
      'session_limit',
      `Session "${this.id}" cannot be stored: ${what} ${formatBytes(bytes)}, but the limit is ${formatBytes(limit)}. Delete files, checkpoints or sessions.`,
    );
  }
}
