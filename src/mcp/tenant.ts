/**
 * One tenant of a server: its sessions, default workspace, cached outputs, statistics and active calls. Tools reach all of
 * these only through this class, so a tenant cannot reach those of another.
 */
import { randomUUID } from 'node:crypto';
import { SerialQueue } from '../concurrency/serial-queue.ts';
import { SandboxError } from '../errors.ts';
import { DEFAULT_RUNTIME } from '../runtimes/languages.ts';
import { createSandbox, type Sandbox } from '../sandbox/sandbox.ts';
import type { EventLogger, PolicyInput, RuntimeName } from '../schema.ts';
import type { Sessions } from '../session/registry.ts';
import type { SessionRecord } from '../stores/store.ts';
import { TenantStats } from './metrics.ts';
import { OutputCache } from './output-cache.ts';

/** The session id that stands for the default workspace, which calls without `session_id` use. */
export const DEFAULT_SESSION = 'default';

interface NewSession {
  readonly language: RuntimeName;
  readonly session_id?: string | undefined;
  readonly auto_persist_globals?: boolean | undefined;
  readonly preload?: readonly string[] | undefined;
  readonly policy: PolicyInput;
}

/** The highest limits that the server grants to a session. */
export type PolicyMaximums = Readonly<Record<'fuel_budget' | 'memory_bytes' | 'timeout_seconds', number>>;

export class Tenant {
  readonly outputs = new OutputCache();
  readonly stats = new TenantStats();
  readonly #activeCalls = new Map<string, Set<AbortController>>();
  /** Sessions that are open. Their files may be newer than those in the store. */
  readonly #opened = new Map<string, Sandbox>();
  readonly #opening = new Map<string, Promise<Sandbox>>();
  /** Ids of sessions that are being created and are not listed yet. */
  readonly #creating = new Set<string>();
  readonly #creationQueue = new SerialQueue();
  #defaultWorkspace: Promise<Sandbox> | undefined;

  constructor(
    readonly id: string,
    readonly sessions: Sessions,
    readonly policy: PolicyInput,
    readonly maximums: PolicyMaximums,
    readonly logger: EventLogger,
  ) {}

  /** The files of calls without a session. They do not count against the session limit. */
  defaultWorkspace(): Promise<Sandbox> {
    this.#defaultWorkspace ??= createSandbox({
      runtime: DEFAULT_RUNTIME,
      policy: this.policy,
      logger: this.logger,
    });
    return this.#defaultWorkspace;
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
        `session_id: "${DEFAULT_SESSION}" is reserved for the default workspace. Choose another session_id.`,
      );
    }
    return this.#reserve(session_id, async () => {
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

  /** Creates a session after checking that its id is unused and the limit not reached, also for concurrent calls. */
  async #reserve(session_id: string, create: () => Promise<Sandbox>): Promise<Sandbox> {
    await this.#creationQueue.run(async () => {
      const ids = new Set([...this.#creating, ...(await this.sessions.list()).map((one) => one.session_id)]);
      if (ids.has(session_id)) {
        const advice = 'Use it with execute_code, destroy it first, or choose another session_id';
        throw new SandboxError('session_exists', `Session ${session_id} already exists. ${advice}.`);
      }
      if (ids.size >= this.sessions.limits.max_sessions) {
        const advice = 'End one that you no longer need with destroy_session';
        throw new SandboxError('session_limit', `You already have ${ids.size} sessions. ${advice}.`);
      }
      this.#creating.add(session_id);
    });
    try {
      return await create();
    } finally {
      // Queued as well: a concurrent check must find the session either in `#creating` or in the list.
      await this.#creationQueue.run(() => this.#creating.delete(session_id));
    }
  }

  /** Opens a session, or the default workspace if `session_id` is undefined or `DEFAULT_SESSION`. */
  async open(session_id: string | undefined): Promise<Sandbox> {
    if (session_id === undefined || session_id === DEFAULT_SESSION) return this.defaultWorkspace();
    // Concurrent calls for a closed session share one attempt to open it.
    const opening = this.#opening.get(session_id) ?? this.#open(session_id);
    this.#opening.set(session_id, opening);
    return opening.finally(() => this.#opening.delete(session_id));
  }

  /** Opens a session; throws for the default workspace, which has no interpreter state. */
  async session(session_id: string): Promise<Sandbox> {
    if (session_id !== DEFAULT_SESSION) return this.open(session_id);
    const reason = 'The default workspace has only files; every call in it starts a fresh interpreter';
    throw new SandboxError('invalid_argument', `${reason}. Start a session with create_session.`);
  }

  async #open(session_id: string): Promise<Sandbox> {
    try {
      const sandbox = await this.sessions.get(session_id, ({ policy }) => ({
        policy: { ...this.#cappedLimits(policy), mounts: this.policy.mounts },
        logger: this.logger,
      }));
      this.#opened.set(session_id, sandbox);
      return sandbox;
    } catch (cause) {
      if (!(cause instanceof SandboxError) || cause.code !== 'session_not_found') throw cause;
      const ids = (await this.sessions.list()).slice(0, 20).map((record) => record.session_id);
      const existing = ids.length > 0 ? `Your sessions: ${ids.join(', ')}` : 'You have no sessions';
      throw new SandboxError(
        'session_not_found',
        `${cause.message} ${existing}. Start one with create_session.`,
      );
    }
  }

  /** Limits of a stored session that exceed the maximums of this server, lowered to the maximums. */
  #cappedLimits(policy: SessionRecord['policy']): PolicyInput {
    const names = Object.keys(this.maximums) as (keyof PolicyMaximums)[];
    const exceeded = names.filter((name) => (policy[name] ?? 0) > this.maximums[name]);
    return Object.fromEntries(exceeded.map((name) => [name, this.maximums[name]]));
  }

  async fork(session_id: string, new_session_id: string = randomUUID()): Promise<Sandbox> {
    if (session_id === DEFAULT_SESSION || new_session_id === DEFAULT_SESSION)
      throw new SandboxError(
        'invalid_argument',
        `The default workspace cannot be forked, and a fork cannot be named "${DEFAULT_SESSION}".`,
      );
    const sandbox = await this.open(session_id);
    return this.#reserve(new_session_id, async () => {
      const fork = await sandbox.fork(new_session_id);
      // The fork is opened again through `sessions`, which tracks all open sandboxes.
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
      // A damaged session cannot be opened but can still be deleted.
      if (!(cause instanceof SandboxError) || cause.code !== 'session_damaged') throw cause;
      await this.sessions.store.delete(session_id);
    }
    this.#opened.delete(session_id);
  }

  /** Closes a session without deleting it from the store. */
  async release(session_id: string): Promise<void> {
    this.cancel(session_id);
    this.#opened.delete(session_id);
    await this.sessions.release(session_id);
  }

  /** Files of a session. A closed session is read from the store, without starting an interpreter or taking its lock. */
  async files(session_id: string): Promise<{ readonly path: string; readonly size_bytes: number }[]> {
    const open =
      session_id === DEFAULT_SESSION ? await this.defaultWorkspace() : this.#opened.get(session_id);
    try {
      if (open !== undefined) return await open.listFiles();
    } catch (cause) {
      // Idle sessions are closed in the background.
      if (!(cause instanceof SandboxError) || cause.code !== 'sandbox_closed') throw cause;
      this.#opened.delete(session_id);
    }
    const { workspace } = (await this.sessions.store.readWorkspace(session_id)) ?? { workspace: new Map() };
    return [...workspace.values()]
      .filter(({ kind }) => kind === 'file')
      .map(({ path, data }) => ({ path, size_bytes: data?.length ?? 0 }));
  }

  /** Bytes that `files` has to read from the store: none if the session is open. */
  async listingBytes(session_id: string): Promise<number> {
    return this.#opened.has(session_id) ? 0 : this.sessions.store.size(session_id);
  }

  /** Deletes all files, folders and links of a session or the default workspace; returns the number of files. */
  async resetWorkspace(session_id: string): Promise<number> {
    return (await this.open(session_id)).clearFiles();
  }

  // ---- active calls ----

  /** Runs work until it ends, `signal` aborts or `cancel` is called. */
  async runCancellable<T>(
    session_id: string,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const controller = new AbortController();
    const calls = this.#activeCalls.get(session_id) ?? new Set();
    calls.add(controller);
    this.#activeCalls.set(session_id, calls);
    try {
      return await work(AbortSignal.any([signal, controller.signal]));
    } finally {
      calls.delete(controller);
      if (calls.size === 0) this.#activeCalls.delete(session_id);
    }
  }

  /** Cancels the active calls of a session, or of all sessions; returns their number. */
  cancel(session_id?: string): number {
    const sets =
      session_id === undefined ? [...this.#activeCalls.values()] : [this.#activeCalls.get(session_id)];
    const calls = sets.flatMap((set) => [...(set ?? [])]);
    for (const call of calls) call.abort();
    return calls.length;
  }

  /** Running and queued calls of a session. */
  activeCalls(session_id: string): number {
    return this.#activeCalls.get(session_id)?.size ?? 0;
  }

  get totalActiveCalls(): number {
    return [...this.#activeCalls.values()].reduce((sum, calls) => sum + calls.size, 0);
  }

  async close(): Promise<void> {
    this.cancel();
    await this.sessions.close();
    await (await this.#defaultWorkspace)?.close();
  }
}
