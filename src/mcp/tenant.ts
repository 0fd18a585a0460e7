/**
 * One tenant of a server: its sessions, its default workspace, its outputs, its numbers, and what it has under way.
 * Everything a tool does for a tenant goes through this, so that nobody reaches what is not theirs.
 */
import { randomUUID } from 'node:crypto';
import { SandboxError } from '../errors.ts';
import { DEFAULT_RUNTIME } from '../runtimes/languages.ts';
import { createSandbox, type Sandbox } from '../sandbox/sandbox.ts';
import type { EventLogger, PolicyInput, RuntimeName } from '../schema.ts';
import type { Sessions } from '../session/registry.ts';
import type { SessionRecord } from '../stores/store.ts';
import { TenantStats } from './metrics.ts';
import { OutputCache } from './output-cache.ts';

/** The name under which the files of calls without a session are found. */
export const DEFAULT_SESSION = 'default';

export interface NewSession {
  readonly language: RuntimeName;
  readonly session_id?: string | undefined;
  readonly auto_persist_globals?: boolean | undefined;
  readonly preload?: readonly string[] | undefined;
  readonly policy: PolicyInput;
}

/** The most that a session may have of each, whatever it was made with. */
export type PolicyMaximums = Readonly<Record<'fuel_budget' | 'memory_bytes' | 'timeout_seconds', number>>;

export class Tenant {
  readonly outputs = new OutputCache();
  readonly stats = new TenantStats();
  readonly #executions = new Map<string, Set<AbortController>>();
  /** Sessions this tenant has open; what they hold may be newer than what is in the store. */
  readonly #opened = new Map<string, Sandbox>();
  readonly #opening = new Map<string, Promise<Sandbox>>();
  /** Names of sessions that are being made and are in no list yet. */
  readonly #making = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();
  #common: Promise<Sandbox> | undefined;

  constructor(
    readonly id: string,
    readonly sessions: Sessions,
    readonly policy: PolicyInput,
    readonly maximums: PolicyMaximums,
    readonly logger: EventLogger,
  ) {}

  /** The files of calls without a session. They are nobody's session and count against no limit. */
  defaultWorkspace(): Promise<Sandbox> {
    this.#common ??= createSandbox({ runtime: DEFAULT_RUNTIME, policy: this.policy, logger: this.logger });
    return this.#common;
  }

  async create({
    language,
    session_id = randomUUID(),
    policy,
    preload,
    ...rest
  }: NewSession): Promise<Sandbox> {
    if (session_id === DEFAULT_SESSION) {
      throw new SandboxError(
        'invalid_argument',
        `session_id: ${DEFAULT_SESSION} is the name of the workspace of calls without a session. Choose another.`,
      );
    }
    return this.#begin(session_id, async () => {
      const sandbox = await this.sessions.create({
        runtime: language,
        session_id,
        policy: { ...this.policy, ...policy },
        logger: this.logger,
        auto_persist_globals: rest.auto_persist_globals ?? true,
        ...(preload !== undefined && preload.length > 0 && { preload: [...preload] }),
      });
      this.#opened.set(session_id, sandbox);
      return sandbox;
    });
  }

  /** Makes a session whose name is free and that there is room for, also when many are asked for at the same time. */
  async #begin(session_id: string, make: () => Promise<Sandbox>): Promise<Sandbox> {
    await this.#alone(async () => {
      const ids = new Set([...this.#making, ...(await this.sessions.list()).map((one) => one.session_id)]);
      if (ids.has(session_id)) {
        const advice = 'Use it with execute_code, destroy it first, or choose another session_id';
        throw new SandboxError('session_mismatch', `There is already a session ${session_id}. ${advice}.`);
      }
      if (ids.size >= this.sessions.limits.max_sessions) {
        const advice = 'destroy_session ends one that is no longer needed';
        throw new SandboxError('session_limit', `There are already ${ids.size} sessions; ${advice}.`);
      }
      this.#making.add(session_id);
    });
    try {
      return await make();
    } finally {
      // In turn too: whoever counts just now must find it either among those being made or among those made.
      await this.#alone(async () => this.#making.delete(session_id));
    }
  }

  /** Runs work after all that was given before, whatever became of that. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  /** The sandbox of a session, or of the files of calls without one. */
  async open(session_id: string | undefined): Promise<Sandbox> {
    if (session_id === undefined || session_id === DEFAULT_SESSION) return this.defaultWorkspace();
    // Calls that come at the same time for a session that is closed open it once.
    const opening = this.#opening.get(session_id) ?? this.#open(session_id);
    this.#opening.set(session_id, opening);
    return opening.finally(() => this.#opening.delete(session_id));
  }

  /** The sandbox of a session that has an interpreter of its own. */
  async session(session_id: string): Promise<Sandbox> {
    if (session_id !== DEFAULT_SESSION) return this.open(session_id);
    const fact = 'The default workspace has files only: every call in it starts a fresh interpreter';
    throw new SandboxError('invalid_argument', `${fact}. create_session makes a session.`);
  }

  async #open(session_id: string): Promise<Sandbox> {
    try {
      const sandbox = await this.sessions.get(session_id, ({ policy }) => ({
        policy: { ...this.#lowered(policy), mounts: this.policy.mounts },
        logger: this.logger,
      }));
      this.#opened.set(session_id, sandbox);
      return sandbox;
    } catch (cause) {
      if (!(cause instanceof SandboxError) || cause.code !== 'session_not_found') throw cause;
      const there = (await this.sessions.list()).slice(0, 20).map((record) => record.session_id);
      const listing = there.length > 0 ? `Yours are: ${there.join(', ')}` : 'You have none';
      throw new SandboxError('session_not_found', `${cause.message} ${listing}; create_session makes one.`);
    }
  }

  /** Limits of a stored session that are above what this server allows by now, brought down to that. */
  #lowered(policy: SessionRecord['policy']): PolicyInput {
    const names = Object.keys(this.maximums) as (keyof PolicyMaximums)[];
    const over = names.filter((name) => (policy[name] ?? 0) > this.maximums[name]);
    return Object.fromEntries(over.map((name) => [name, this.maximums[name]]));
  }

  async fork(session_id: string, new_session_id: string = randomUUID()): Promise<Sandbox> {
    if (session_id === DEFAULT_SESSION || new_session_id === DEFAULT_SESSION)
      throw new SandboxError(
        'invalid_argument',
        'The default workspace can neither be forked nor be a fork.',
      );
    const sandbox = await this.open(session_id);
    return this.#begin(new_session_id, async () => {
      const fork = await sandbox.fork(new_session_id);
      // The sandbox of the fork is opened anew by whoever asks for it, under the same roof as all others.
      await fork.close();
      return this.open(new_session_id);
    });
  }

  async destroy(session_id: string): Promise<void> {
    this.cancel(session_id);
    try {
      await this.open(session_id);
      await this.sessions.delete(session_id);
    } catch (cause) {
      // What cannot be opened any more can still be removed.
      if (!(cause instanceof SandboxError) || cause.code !== 'session_damaged') throw cause;
      await this.sessions.store.delete(session_id);
    }
    this.#opened.delete(session_id);
  }

  /** Closes a session; it stays in the store. */
  async release(session_id: string): Promise<void> {
    this.cancel(session_id);
    this.#opened.delete(session_id);
    await this.sessions.release(session_id);
  }

  /** Files of a session, without opening one that is closed: neither an interpreter nor its lock is needed to look. */
  async files(session_id: string): Promise<{ readonly path: string; readonly size_bytes: number }[]> {
    const open =
      session_id === DEFAULT_SESSION ? await this.defaultWorkspace() : this.#opened.get(session_id);
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
  async runCancellable<T>(
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

  /** Stops what a session, or everything the tenant, has under way or waiting; returns how many calls that were. */
  cancel(session_id?: string): number {
    const sets =
      session_id === undefined ? [...this.#executions.values()] : [this.#executions.get(session_id)];
    const running = sets.flatMap((set) => [...(set ?? [])]);
    for (const execution of running) execution.abort();
    return running.length;
  }

  runningCalls(session_id: string): number {
    return this.#executions.get(session_id)?.size ?? 0;
  }

  get totalRunningCalls(): number {
    return [...this.#executions.values()].reduce((sum, set) => sum + set.size, 0);
  }

  async close(): Promise<void> {
    this.cancel();
    await this.sessions.close();
    await (await this.#common)?.close();
  }
}
