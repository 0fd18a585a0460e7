/**
 * What a server keeps between requests: its callers, each with sessions, a default workspace, outputs and numbers of
 * its own, and the queue they share. A caller's things can be reached through that caller only.
 */
import { randomUUID } from 'node:crypto';
import { basename, join, resolve } from 'node:path';
import { SandboxError } from '../errors.ts';
import { createSandbox, type Sandbox } from '../sandbox.ts';
import type { EventLogger, PolicyInput, RuntimeName } from '../schema.ts';
import { openSessions, type Sessions } from '../sessions.ts';
import { diskStore } from '../stores/disk.ts';
import { memoryStore } from '../stores/memory.ts';
import type { SessionStore } from '../stores/store.ts';
import { sharedPool } from '../worker/guests.ts';
import { type Observer, silentObserver } from './observe.ts';
import { Outputs } from './outputs.ts';
import type { ServerSettings } from './settings.ts';
import { ServerMetrics, Tally } from './tally.ts';
import { Turns } from './turns.ts';

/** The name under which the files of calls without a session are found. */
export const DEFAULT_SESSION = 'default';
/** Programs at a time for each core: a caller's own slow each other down to a half, those of all to a quarter. */
const PER_CORE = { total: 4, perCaller: 2 } as const;
/** The caller of a server that cannot tell callers apart. */
export const LOCAL_CALLER = 'local';

export interface SessionWish {
  readonly language: RuntimeName;
  readonly session_id?: string | undefined;
  readonly auto_persist_globals?: boolean | undefined;
  readonly preload?: readonly string[] | undefined;
  readonly policy: PolicyInput;
}

/** The part of a policy that every sandbox of this server has. */
export function basePolicy(settings: ServerSettings): PolicyInput {
  const { fuel_budget, memory_bytes, timeout_seconds, external_files } = settings;
  return { fuel_budget, memory_bytes, timeout_seconds, mounts: externalMounts(external_files) };
}

/** One path is /external itself, several are found under it by their names. */
function externalMounts(paths: readonly string[]) {
  const at = (path: string) => (paths.length === 1 ? '/external' : `/external/${basename(resolve(path))}`);
  return paths.map((path) => ({ host_path: path, guest_path: at(path) }));
}

export class Caller {
  readonly outputs = new Outputs();
  readonly tally = new Tally();
  readonly #executions = new Map<string, Set<AbortController>>();
  /** What sessions were made with; the store does not know. */
  readonly #policies = new Map<string, PolicyInput>();
  /** Sessions this caller has open; what they hold may be newer than what is in the store. */
  readonly #opened = new Map<string, Sandbox>();
  #common: Promise<Sandbox> | undefined;

  constructor(
    readonly id: string,
    readonly sessions: Sessions,
    readonly policy: PolicyInput,
    readonly logger: EventLogger,
  ) {}

  /** The files of calls without a session. They are nobody's session and count against no limit. */
  common(): Promise<Sandbox> {
    this.#common ??= createSandbox({ runtime: 'python', policy: this.policy, logger: this.logger });
    return this.#common;
  }

  async create({
    language,
    session_id = randomUUID(),
    policy,
    preload,
    ...rest
  }: SessionWish): Promise<Sandbox> {
    if (session_id === DEFAULT_SESSION) {
      throw new SandboxError(
        'invalid_argument',
        `session_id: ${DEFAULT_SESSION} is the name of the workspace of calls without a session. Choose another.`,
      );
    }
    if (await this.has(session_id)) {
      const advice = 'Use it with execute_code, destroy it first, or choose another session_id';
      throw new SandboxError('session_mismatch', `There is already a session ${session_id}. ${advice}.`);
    }
    const merged = { ...this.policy, ...policy };
    const sandbox = await this.sessions.create({
      runtime: language,
      session_id,
      policy: merged,
      logger: this.logger,
      auto_persist_globals: rest.auto_persist_globals ?? true,
      ...(preload !== undefined && preload.length > 0 && { preload: [...preload] }),
    });
    this.#policies.set(session_id, merged);
    this.#opened.set(session_id, sandbox);
    return sandbox;
  }

  async has(session_id: string): Promise<boolean> {
    return (await this.sessions.list()).some((record) => record.session_id === session_id);
  }

  /** The sandbox of a session, or of the files of calls without one. */
  async open(session_id: string | undefined): Promise<Sandbox> {
    if (session_id === undefined || session_id === DEFAULT_SESSION) return this.common();
    try {
      const sandbox = await this.sessions.get(session_id, {
        policy: this.#policies.get(session_id) ?? this.policy,
        logger: this.logger,
      });
      this.#opened.set(session_id, sandbox);
      return sandbox;
    } catch (cause) {
      if (!(cause instanceof SandboxError) || cause.code !== 'session_not_found') throw cause;
      const there = (await this.sessions.list()).slice(0, 20).map((record) => record.session_id);
      const listing = there.length > 0 ? `Yours are: ${there.join(', ')}` : 'You have none';
      throw new SandboxError('session_not_found', `${cause.message} ${listing}; create_session makes one.`);
    }
  }

  async fork(session_id: string, new_session_id: string = randomUUID()): Promise<Sandbox> {
    if (session_id === DEFAULT_SESSION || new_session_id === DEFAULT_SESSION)
      throw new SandboxError(
        'invalid_argument',
        'The default workspace can neither be forked nor be a fork.',
      );
    const sandbox = await this.open(session_id);
    const { length } = await this.sessions.list();
    if (length >= this.sessions.limits.max_sessions)
      throw new SandboxError('session_limit', `There are already ${length} sessions. Destroy some first.`);
    const fork = await sandbox.fork(new_session_id);
    // The sandbox of the fork is opened anew by whoever asks for it, under the same roof as all others.
    await fork.close();
    const policy = this.#policies.get(session_id);
    if (policy !== undefined) this.#policies.set(new_session_id, policy);
    return this.open(new_session_id);
  }

  async destroy(session_id: string): Promise<void> {
    this.cancel(session_id);
    await this.open(session_id);
    await this.sessions.delete(session_id);
    this.#opened.delete(session_id);
    this.#policies.delete(session_id);
  }

  /** Closes a session; it stays in the store. */
  async release(session_id: string): Promise<void> {
    this.cancel(session_id);
    this.#opened.delete(session_id);
    await this.sessions.release(session_id);
  }

  /** Files of a session, without opening one that is closed: neither an interpreter nor its lock is needed to look. */
  async files(session_id: string): Promise<{ readonly path: string; readonly size_bytes: number }[]> {
    const open = session_id === DEFAULT_SESSION ? await this.common() : this.#opened.get(session_id);
    try {
      if (open !== undefined) return await open.listFiles();
    } catch (cause) {
      // Closed by somebody else since, as those are that were not used for long.
      if (!(cause instanceof SandboxError) || cause.code !== 'sandbox_closed') throw cause;
      this.#opened.delete(session_id);
    }
    const { workspace } = (await this.sessions.store.readWorkspace(session_id)) ?? { workspace: new Map() };
    return [...workspace.values()]
      .filter(({ kind }) => kind === 'file')
      .map(({ path, data }) => ({ path, size_bytes: data?.length ?? 0 }));
  }

  /** What listing the files of a session costs: nothing when it is open, or else what the store has to read. */
  async listingBytes(session_id: string): Promise<number> {
    return this.#opened.has(session_id) ? 0 : this.sessions.store.size(session_id);
  }

  /** Deletes the files of the default workspace or of a session; returns how many. */
  async resetWorkspace(session_id: string): Promise<number> {
    const sandbox = await this.open(session_id);
    if (session_id !== DEFAULT_SESSION) return this.sessions.resetWorkspace(session_id);
    const files = await sandbox.listFiles();
    for (const { path } of files) await sandbox.deleteFile(path);
    return files.length;
  }

  // ---- what is under way ----

  /** Runs work that `cancel` can stop; `signal` stops it too. */
  async cancellable<T>(
    session_id: string,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const own = new AbortController();
    const running = this.#executions.get(session_id) ?? new Set();
    running.add(own);
    this.#executions.set(session_id, running);
    try {
      return await work(AbortSignal.any([signal, own.signal]));
    } finally {
      running.delete(own);
      if (running.size === 0) this.#executions.delete(session_id);
    }
  }

  /** Stops what a session, or everything the caller, has under way or waiting; returns how many calls that were. */
  cancel(session_id?: string): number {
    const sets =
      session_id === undefined ? [...this.#executions.values()] : [this.#executions.get(session_id)];
    const running = sets.flatMap((set) => [...(set ?? [])]);
    for (const execution of running) execution.abort();
    return running.length;
  }

  executions(session_id: string): number {
    return this.#executions.get(session_id)?.size ?? 0;
  }

  get busy(): number {
    return [...this.#executions.values()].reduce((sum, set) => sum + set.size, 0);
  }

  async close(): Promise<void> {
    this.cancel();
    await this.sessions.close();
    await (await this.#common)?.close();
  }
}

/** Each caller has a folder of its own, whose name cannot lead elsewhere. */
function storeFor({ data_dir }: ServerSettings, caller: string): SessionStore {
  return data_dir === undefined ? memoryStore() : diskStore(join(data_dir, `caller-${caller}`));
}

export interface HouseOptions {
  readonly version?: string;
  readonly observer?: Observer;
  /** Where the sessions of a caller are kept; by default as the settings say. */
  readonly storeOf?: (caller: string) => SessionStore;
}

export class House {
  readonly startedAt = Date.now();
  readonly turns: Turns;
  readonly metrics: ServerMetrics;
  readonly observer: Observer;
  readonly version: string;
  readonly #callers = new Map<string, Caller>();
  readonly #storeOf: (caller: string) => SessionStore;
  #sessions = 0;

  constructor(
    readonly settings: ServerSettings,
    options: HouseOptions = {},
  ) {
    const callers = Math.max(1, settings.tokens.length);
    const total = settings.max_concurrent ?? Math.max(PER_CORE.total * sharedPool().size, callers);
    const perCaller = settings.max_concurrent_per_caller ?? PER_CORE.perCaller * sharedPool().size;
    this.turns = new Turns({ total, perCaller, queued: settings.max_queued, callers });
    // Whoever has its turn here does not wait for another one there.
    sharedPool().allow(total);
    this.observer = options.observer ?? silentObserver;
    this.version = options.version ?? '0.0.0';
    this.#storeOf = options.storeOf ?? ((id) => storeFor(settings, id));
    this.metrics = new ServerMetrics({
      running: () => this.turns.running,
      queued: () => this.turns.queued,
      sessions: () => this.#sessions,
    });
  }

  caller(id: string): Caller {
    let caller = this.#callers.get(id);
    if (caller === undefined) {
      const limits = { max_sessions: this.settings.max_sessions };
      const sessions = openSessions({ store: this.#storeOf(id), limits });
      caller = new Caller(id, sessions, basePolicy(this.settings), this.observer.log);
      this.#callers.set(id, caller);
    }
    return caller;
  }

  /** Brings the number of sessions up to date, for those who look at it. */
  async countSessions(): Promise<void> {
    const lists = await Promise.all([...this.#callers.values()].map(({ sessions }) => sessions.list()));
    this.#sessions = lists.reduce((sum, { length }) => sum + length, 0);
  }

  get busy(): number {
    return [...this.#callers.values()].reduce((sum, caller) => sum + caller.busy, 0);
  }

  /** Stops what is under way and writes all sessions to their store. */
  async close(): Promise<void> {
    await Promise.allSettled([...this.#callers.values()].map((caller) => caller.close()));
  }
}
