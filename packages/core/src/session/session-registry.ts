/**
 * The sessions of one store: creates, opens, lists and deletes them. It is the only registry of open sessions. A session
 * stays open until it is closed, released or deleted; opening it again returns the same object.
 */
import { randomUUID } from 'node:crypto';
import type { z } from 'zod';
import { invalidArgument, SandboxError } from '../errors.ts';
import { isoTime } from '../schema/iso-time.ts';
import {
  type Commit,
  type CreateMode,
  createMode,
  type PruneOptions,
  parse,
  pruneOptions,
  type SessionLimits,
  sandboxOptions,
  sessionsOptions,
  textArgument,
} from '../schema.ts';
import { memoryStore } from '../stores/memory/memory-store.ts';
import type { LeaseWait, SessionRecord, SessionStore } from '../stores/store.ts';
import { openSession } from './create-sandbox.ts';
import { OpenSessions } from './open-sessions.ts';
import type {
  CreateOptions,
  ImportOptions,
  OpenOptions,
  PruneReport,
  SessionInfo,
  SessionsOptions,
} from './registry-options.ts';
import type { Session, SessionOwner } from './session.ts';
import { SessionAdmission } from './session-admission.ts';
import { runtimeMismatch, sessionNotFound } from './session-errors.ts';
import { withImageAdvice } from './session-image.ts';
import { decodeExport, exportSession } from './transfer-session.ts';

const HOUR_MS = 3_600_000;
const YEAR_MS = 365 * 24 * HOUR_MS;
/** Shared sessions that were not used for this long are closed. Opening them again reads them from the store. */
const CLOSE_IDLE_MS = 600_000;

/** Opens a registry of the sessions in a store. Throws `invalid_argument` if the options are invalid. */
export function openSessions(options: SessionsOptions = {}): SessionRegistry {
  const {
    store: given,
    limits,
    commit,
    lease,
    lease_wait_seconds,
  } = parse(sessionsOptions, options, 'options');
  const store = (given as SessionStore | undefined) ?? memoryStore();
  if (lease === 'call' && store.revision === undefined)
    throw invalidArgument(
      'options.lease: "call" requires a store that processes can share, such as postgresStore().',
    );
  const leaseWaitMs = lease === 'call' ? lease_wait_seconds * 1000 : undefined;
  return new SessionRegistry(store, limits, commit, leaseWaitMs);
}

/** Creates, opens, lists and deletes the sessions of one store. Created by `openSessions`. */
export class SessionRegistry {
  readonly #open = new OpenSessions();
  readonly #admission: SessionAdmission;
  /** Sessions that are being deleted, with a promise that resolves when that has ended. */
  readonly #deletions = new Map<string, Promise<unknown>>();
  readonly #expiry: NodeJS.Timeout;
  readonly #owner: SessionOwner;
  readonly #wait: LeaseWait | undefined;
  #idleTimer: NodeJS.Timeout | undefined;

  /** @internal */
  constructor(
    /** Store of the sessions. */
    readonly store: SessionStore,
    /** Limits of the registry, with defaults filled in. */
    readonly limits: SessionLimits,
    /** When calls are saved, for sessions that do not set `commit`. */
    readonly commit: Commit,
    /** How long an operation waits for the lease; undefined if sessions hold it while they are open. */
    leaseWaitMs: number | undefined,
  ) {
    this.#owner = {
      reserve: (session_id) => this.reserve(session_id),
      adopt: (session) => this.#open.add(session.session_id, Promise.resolve(session)),
      closed: (session) => this.#open.remove(session),
      leaseWaitMs,
    };
    this.#wait = leaseWaitMs === undefined ? undefined : { ms: leaseWaitMs };
    // Another process may have deleted a session that is open here.
    this.#admission = new SessionAdmission(store, limits, () => (this.#isShared ? [] : this.#open.names()));
    if (this.#isShared) {
      const closeIdle = () => this.#open.closeIdle(CLOSE_IDLE_MS);
      this.#idleTimer = setInterval(closeIdle, CLOSE_IDLE_MS / 10).unref();
    }
    this.#expiry = setInterval(
      () => void this.prune({ older_than_hours: limits.idle_hours }).catch(() => {}),
      HOUR_MS,
    );
    this.#expiry.unref();
  }

  /**
   * Creates a session, or opens the existing session with the given name. Throws `session_mismatch` if the existing session
   * has a different runtime or different settings. Throws `session_busy` if another process is using the session, or
   * `session_limit` if the registry has reached a limit.
   */
  async create(options: CreateOptions, mode: CreateMode = {}): Promise<Session> {
    const { exclusive } = parse(createMode, mode, 'mode');
    const { session_id = randomUUID() } = this.#checkOptions(options);
    const unreserve = await this.#admission.reserve(session_id, exclusive);
    try {
      const mode = exclusive ? 'new' : undefined;
      const session = await this.#openOnce(session_id, { ...options, session_id }, mode);
      if (session.runtime !== options.runtime) throw runtimeMismatch(session, options.runtime);
      return session;
    } finally {
      unreserve();
    }
  }

  /**
   * Returns the session with the given name, and opens it if necessary. The options apply only if the session is not open
   * yet. They can be a function that computes the options from the record. Throws `session_not_found` if the session does
   * not exist.
   */
  async get(
    session_id: string,
    options: OpenOptions | ((record: SessionRecord) => OpenOptions) = {},
  ): Promise<Session> {
    parse(textArgument, session_id, 'session_id');
    const open = await this.#openSession(session_id);
    if (open !== undefined) return open;
    const record = await this.#record(session_id);
    const { runtime, auto_persist_globals } = record;
    const given = typeof options === 'function' ? options(record) : options;
    // An image that is no longer cached is built again under the limits of the session.
    const policy = { ...record.policy, ...given.policy };
    const settings = { ...given, policy, runtime, auto_persist_globals, session_id };
    return this.#openOnce(session_id, settings, 'stored').catch((cause) => {
      throw withImageAdvice(cause, record);
    });
  }

  /** Returns the session if it is open in this registry, otherwise undefined. */
  opened(session_id: string): Session | undefined {
    return this.#open.opened(session_id);
  }

  /** Returns the open session, which another caller may have opened meanwhile, or opens it. */
  async #openOnce(
    session_id: string,
    options: CreateOptions,
    mustBe: 'new' | 'stored' | undefined,
  ): Promise<Session> {
    do {
      const open = await this.#openSession(session_id);
      if (open !== undefined) return open;
      // Another caller may have started to open it meanwhile.
    } while (this.#open.has(session_id));
    const opening = this.#openNow(options, mustBe);
    this.#open.add(session_id, opening);
    return opening;
  }

  get #isShared(): boolean {
    return this.#wait !== undefined;
  }

  /** The session if it is open or being opened, and the store still has it. */
  async #openSession(session_id: string): Promise<Session | undefined> {
    await this.#closed(session_id);
    const session = await this.#open.request(session_id);
    if (session === undefined || !this.#isShared || (await session.isCurrent())) return session;
    await session.close();
    return this.#openSession(session_id);
  }

  /** Waits for a session that is being closed or deleted, so that it can be opened again. */
  async #closed(session_id: string): Promise<void> {
    await this.#deletions.get(session_id);
    await this.#open.waitUntilClosed(session_id);
  }

  async #openNow(options: CreateOptions, mustBe: 'new' | 'stored' | undefined): Promise<Session> {
    // Without packages, a stored session is opened with those that it has recorded.
    const usesRecorded = mustBe === 'stored' && (options.packages ?? options.preload) === undefined;
    const opening = { owner: this.#owner, mustBe, usesRecorded };
    return openSession(this.#checkOptions(options), options.policy ?? {}, opening);
  }

  #checkOptions(options: CreateOptions): z.output<typeof sandboxOptions> {
    return parse(sandboxOptions, { commit: this.commit, ...options, store: this.store }, 'options');
  }

  /** Returns the records of all sessions, most recently used first. */
  async list(): Promise<SessionRecord[]> {
    const { records } = await this.store.list();
    const current = new Map(records.map((record) => [record.session_id, record]));
    // The record of an open session may be newer than the stored one, unless processes share the sessions.
    if (!this.#isShared)
      for (const { session_id, session } of this.#open.sessions()) current.set(session_id, session);
    return [...current.values()].sort((a, b) => (a.last_used_at < b.last_used_at ? 1 : -1));
  }

  /** Returns the record, files, variables and checkpoints of a session. Opens the session as `get` does. */
  async info(
    session_id: string,
    options: OpenOptions | ((record: SessionRecord) => OpenOptions) = {},
  ): Promise<SessionInfo> {
    const session = await this.get(session_id, options);
    const [files, variables, checkpoints] = await Promise.all([
      session.listFiles(),
      session.variables(),
      session.checkpoints(),
    ]);
    await session.flush();
    return {
      ...(await session.committedRecord()),
      files,
      workspace_bytes: files.reduce((sum, file) => sum + file.size_bytes, 0),
      stored_bytes: await this.store.size(session_id),
      variables,
      checkpoints,
    };
  }

  /**
   * Deletes all files, folders and links of the workspace of a session. Returns the number of files deleted. The
   * variables are kept.
   */
  async resetWorkspace(session_id: string): Promise<number> {
    return (await this.get(session_id)).clearFiles();
  }

  /**
   * Deletes a session. Returns the number of bytes freed. Throws `session_not_found` if the session does not exist, or
   * `session_busy` if another process or registry is using it.
   */
  async delete(session_id: string): Promise<number> {
    parse(textArgument, session_id, 'session_id');
    for (let other = this.#deletions.get(session_id); other; other = this.#deletions.get(session_id))
      await other;
    const deletion = this.#delete(session_id);
    const ended = Promise.allSettled([deletion]);
    this.#deletions.set(session_id, ended);
    void ended.then(() => {
      if (this.#deletions.get(session_id) === ended) this.#deletions.delete(session_id);
    });
    return deletion;
  }

  async #delete(session_id: string): Promise<number> {
    const wasOpen = this.#open.has(session_id);
    // A session that is about to be deleted need not be saved.
    await this.release(session_id).catch(() => {});
    this.#open.forgetFailure(session_id);
    const { records, damaged } = await this.store.list();
    const isStored = records.some((record) => record.session_id === session_id);
    if (!isStored && !damaged.includes(session_id)) {
      if (!wasOpen) throw sessionNotFound(session_id);
      return 0;
    }
    const unlock = await this.#lock(session_id);
    try {
      return await this.store.delete(session_id);
    } finally {
      await unlock?.();
    }
  }

  /**
   * Locks the session, so that nothing has it open. Throws `session_busy`; if the lock fails for another reason, the
   * session can still be deleted.
   */
  async #lock(session_id: string): Promise<(() => Promise<void>) | undefined> {
    try {
      return await this.store.acquire(session_id, this.#wait);
    } catch (cause) {
      if (cause instanceof SandboxError && cause.code === 'session_busy') throw cause;
      return undefined;
    }
  }

  /**
   * Returns a session as the bytes of one file: record, limits, current state, undo state and checkpoints. Throws
   * `session_not_found` if the session does not exist.
   */
  async export(session_id: string): Promise<Uint8Array> {
    parse(textArgument, session_id, 'session_id');
    await this.#closed(session_id);
    await this.opened(session_id)?.flush();
    return exportSession(this.store, session_id);
  }

  /**
   * Imports an exported session. Returns its record. Throws `session_exists` if a session with the same name exists, or
   * `session_limit` if the registry has reached a limit.
   */
  async import(bytes: Uint8Array, options: ImportOptions = {}): Promise<SessionRecord> {
    const stored = await decodeExport(bytes, options);
    const { session_id } = stored.record;
    const releaseLock = await this.store.acquire(session_id, this.#wait);
    try {
      const unreserve = await this.reserve(session_id);
      try {
        await this.store.write(stored);
      } finally {
        unreserve();
      }
    } finally {
      await releaseLock();
    }
    return stored.record;
  }

  /** Closes a session. The session stays in the store. Throws if the session could not be saved. */
  async release(session_id: string): Promise<void> {
    parse(textArgument, session_id, 'session_id');
    await this.#open.release(session_id);
  }

  /**
   * Deletes the sessions that have not been used for the given time. The age of a damaged session is unknown, so a damaged
   * session is reported as an error.
   */
  async prune(options: PruneOptions): Promise<PruneReport> {
    const isRequestedSince = (id: string, ms: number) => this.#open.isRequestedSince(id, ms);
    return pruneSessions(this, isRequestedSince, parse(pruneOptions, options, 'options'));
  }

  /**
   * Closes all open sessions. The sessions stay in the store. Throws `store_failed` if a session could not be saved when it
   * was closed, now or earlier.
   */
  async close(): Promise<void> {
    clearInterval(this.#expiry);
    clearInterval(this.#idleTimer);
    await this.#open.closeAll();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #record(session_id: string): Promise<SessionRecord> {
    const record = (await this.list()).find((one) => one.session_id === session_id);
    if (record !== undefined) return record;
    // A damaged session is not listed; reading it reports the damage.
    await this.store.read(session_id);
    throw sessionNotFound(session_id);
  }

  /**
   * Reserves a place for a session that the caller, not the registry, will write to the store. Returns a function that
   * releases the place. Call this function when the session is in the store or could not be created. Throws `session_exists`
   * if a session with the same name exists, or `session_limit` if the registry has reached a limit.
   */
  async reserve(session_id: string): Promise<() => void> {
    return this.#admission.reserve(session_id, true);
  }
}

/** `isRequestedSince` returns whether a session was requested after a given time; such a session is not deleted. */
async function pruneSessions(
  sessions: Pick<SessionRegistry, 'store' | 'list' | 'delete'>,
  isRequestedSince: (session_id: string, ms: number) => boolean,
  { older_than_hours, dry_run = false, include_very_old = false }: PruneOptions,
): Promise<PruneReport> {
  const beforeMs = Date.now() - older_than_hours * HOUR_MS;
  const before = isoTime(beforeMs);
  const old = (await sessions.list()).filter(
    ({ session_id, last_used_at }) => last_used_at <= before && !isRequestedSince(session_id, beforeMs),
  );
  const pruned: { session_id: string; bytes: number }[] = [];
  const errors = (await sessions.store.list()).damaged.map((session_id) => ({
    session_id,
    error: 'The session is damaged, so its age is unknown. Save the files you need, then delete it by name.',
  }));
  const veryOld = isoTime(beforeMs - YEAR_MS);
  for (const { session_id, last_used_at } of old) {
    if (last_used_at <= veryOld && !include_very_old) {
      errors.push({ session_id, error: keptText(last_used_at) });
      continue;
    }
    try {
      const bytes = dry_run ? await sessions.store.size(session_id) : await sessions.delete(session_id);
      pruned.push({ session_id, bytes });
    } catch (cause) {
      errors.push({ session_id, error: cause instanceof Error ? cause.message : String(cause) });
    }
  }
  return { pruned, reclaimed_bytes: pruned.reduce((sum, { bytes }) => sum + bytes, 0), errors, dry_run };
}

/** A clock that is far ahead makes every session look old. */
const keptText = (lastUsed: string) =>
  `The session was kept: it was last used at ${lastUsed}, and the clock of this machine says ${isoTime(Date.now())}. ` +
  'If the clock is right, delete it with include_very_old (session prune --include-very-old).';
