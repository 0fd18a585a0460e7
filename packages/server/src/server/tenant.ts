/**
 * One tenant of a server: its sessions, default workspace, cached outputs, statistics and active calls. Tools reach all of
 * these only through this class, so a tenant cannot reach those of another.
 */
import { randomUUID } from 'node:crypto';
import {
  AUTO,
  type Coordination,
  type CreateOptions,
  createSandbox,
  DEFAULT_RUNTIME,
  type DrawPicture,
  type Entry,
  type ErrorCode,
  type EventLogger,
  type OpenOptions,
  type Policy,
  type PolicyInput,
  type ReadableFiles,
  RecentResults,
  type RuntimeName,
  requestedPackages,
  requestPicture,
  type Sandbox,
  SandboxError,
  type SandboxOptions,
  type Session,
  type SessionBlobs,
  type SessionInfo,
  type SessionRecord,
  type SessionRegistry,
  type WorkerPool,
  WorkspaceFiles,
} from '@llm-wasm-sandbox/core/internal';
import { ActiveCalls } from './active-calls.ts';
import { TenantStats } from './metrics.ts';
import { checkWithin, type TenantNetwork } from './network-config.ts';

/** The session id that stands for the default workspace, which calls without `session_id` use. */
export const DEFAULT_SESSION = 'default';

interface NewSession {
  readonly language: RuntimeName;
  readonly session_id?: string | undefined;
  readonly auto_persist_globals?: boolean | undefined;
  readonly preload?: readonly string[] | undefined;
  /** Copy the files of the default workspace. */
  readonly copy_files?: boolean | undefined;
  /** Cancels the preloading. */
  readonly signal?: AbortSignal | undefined;
  readonly policy: PolicyInput;
}

/** The policy fields that limit what a program may use. */
type LimitName = {
  [Name in keyof Policy]-?: Policy[Name] extends number ? Name : never;
}[keyof Policy];

/** The highest limits that the server grants to a session. */
export type PolicyMaximums = Readonly<Record<LimitName, number>>;

interface TenantOptions
  extends Pick<
    Tenant,
    'storeName' | 'policy' | 'network' | 'maximums' | 'logger' | 'packages' | 'timelines' | 'sandboxRecords'
  > {
  readonly coordination: Coordination;
  /** Has the default workspace as its only session; undefined if it is not shared with other servers. */
  readonly workspaces: SessionRegistry | undefined;
}

export class Tenant {
  /** Outputs and results of recent calls. */
  readonly recent: RecentResults;
  readonly stats = new TenantStats();
  /** The name of the tenant in the store. */
  readonly storeName: string;
  readonly drawPicture: DrawPicture = (...args) => requestPicture(this.pool, this.id, ...args);
  /** Its running and queued calls. */
  readonly calls: ActiveCalls;
  readonly policy: PolicyInput;
  /** The requests that its programs may send. */
  readonly network: TenantNetwork;
  readonly maximums: PolicyMaximums;
  readonly logger: EventLogger;
  /** Sources of the packages that programs can import. */
  readonly packages: readonly string[];
  /** What the playground shows of the sessions; undefined if it is not stored. */
  readonly timelines: SessionBlobs | undefined;
  /** The records of sandboxes of E2B. */
  readonly sandboxRecords: SessionBlobs;
  readonly #workspaces: SessionRegistry | undefined;
  #defaultWorkspace: Promise<Sandbox> | undefined;

  constructor(
    readonly id: string,
    readonly sessions: SessionRegistry,
    readonly pool: WorkerPool,
    { coordination, workspaces, ...options }: TenantOptions,
  ) {
    const { storeName } = options;
    this.storeName = storeName;
    this.policy = options.policy;
    this.network = options.network;
    this.maximums = options.maximums;
    this.logger = options.logger;
    this.packages = options.packages;
    this.timelines = options.timelines;
    this.sandboxRecords = options.sandboxRecords;
    this.recent = new RecentResults(coordination.values(storeName), coordination.isShared);
    this.#workspaces = workspaces;
    this.calls = new ActiveCalls(coordination.cancellations?.(storeName));
  }

  #packages(preloadsModules = false): string[] {
    // Modules can be preloaded only from packages that are added.
    return this.#isOnDemand && preloadsModules ? requestedPackages() : [...this.packages];
  }

  get #isOnDemand(): boolean {
    return this.packages.includes(AUTO);
  }

  /** Options of every sandbox of this tenant. */
  get #sandboxOptions(): Pick<SandboxOptions, 'pool' | 'tenant' | 'logger'> {
    return { pool: this.pool, tenant: this.id, logger: this.logger };
  }

  /** The files of calls without a session. They do not count against the session limit. */
  defaultWorkspace(): Promise<Sandbox> {
    const options = {
      ...this.#sandboxOptions,
      runtime: DEFAULT_RUNTIME,
      packages: this.#packages(),
      policy: this.policy,
    };
    if (this.#workspaces !== undefined) {
      // A stored workspace can have other limits.
      const policy = { ...this.maximums, ...this.policy };
      return sharedWorkspace(this.#workspaces, { ...options, policy });
    }
    this.#defaultWorkspace ??= createSandbox(options);
    // A failure is not cached: the next call tries again.
    this.#defaultWorkspace.catch(() => {
      this.#defaultWorkspace = undefined;
    });
    return this.#defaultWorkspace;
  }

  async create({
    language,
    session_id,
    policy,
    preload = [],
    auto_persist_globals = true,
    copy_files = false,
    signal,
  }: NewSession): Promise<Session> {
    if (session_id === DEFAULT_SESSION) {
      throw new SandboxError(
        'invalid_argument',
        `session_id: "${DEFAULT_SESSION}" is reserved for the default workspace. Choose another session_id.`,
      );
    }
    checkWithin(this.network, policy.network_only);
    const options = {
      ...this.#sandboxOptions,
      runtime: language,
      packages: this.#packages(preload.length > 0),
      policy: { ...this.policy, ...policy },
      auto_persist_globals,
      ...(preload.length > 0 && { preload: [...preload] }),
      ...(session_id !== undefined && { session_id }),
      ...(signal !== undefined && { signal }),
    };
    const session = await withToolAdvice(() => this.sessions.create(options, { exclusive: true }));
    try {
      if (copy_files) await session.copyFiles(await this.defaultWorkspace());
    } catch (cause) {
      await this.sessions.delete(session.session_id);
      throw cause;
    }
    return session;
  }

  /** Opens a session, or the default workspace if `session_id` is undefined or `DEFAULT_SESSION`. */
  async open(session_id: string | undefined): Promise<Sandbox> {
    if (session_id === undefined || session_id === DEFAULT_SESSION) return this.defaultWorkspace();
    return this.session(session_id);
  }

  /** Opens a session; throws for the default workspace, which has no interpreter state. */
  async session(session_id: string): Promise<Session> {
    if (session_id === DEFAULT_SESSION) {
      const reason = 'The default workspace has only files; every call in it starts a fresh interpreter';
      throw new SandboxError('invalid_argument', `${reason}. Start a session with create_session.`);
    }
    try {
      return await this.sessions.get(session_id, this.#openOptions);
    } catch (cause) {
      throw await this.#withSessionList(cause);
    }
  }

  /** Opens a session, which is created on first use. */
  async openOrCreate(session_id: string, language: RuntimeName): Promise<Session> {
    const hasCode = (cause: unknown, code: ErrorCode) => cause instanceof SandboxError && cause.code === code;
    return this.session(session_id).catch(async (cause: unknown) => {
      if (!hasCode(cause, 'session_not_found')) throw cause;
      return this.create({ language, session_id, policy: {} }).catch((failure: unknown) => {
        // Another call, or another server, has created it meanwhile.
        if (!hasCode(failure, 'session_exists')) throw failure;
        return this.session(session_id);
      });
    });
  }

  /** The record, files, variables and checkpoints of a session. */
  sessionInfo(session_id: string): Promise<SessionInfo> {
    return this.sessions.info(session_id, this.#openOptions);
  }

  readonly #openOptions = ({ policy }: SessionRecord): OpenOptions => ({
    ...this.#sandboxOptions,
    ...(this.#isOnDemand && { packages: AUTO }),
    // A stored session follows the settings of this server.
    policy: { ...this.#cappedLimits(policy), ...this.#ownPolicy },
  });

  get #ownPolicy(): PolicyInput {
    const { mounts, network, error_guidance, fuel_analysis } = this.policy;
    return { mounts, network, error_guidance, fuel_analysis };
  }

  /** Adds the ids of the tenant's sessions to a `session_not_found` error. */
  async #withSessionList(cause: unknown): Promise<unknown> {
    if (!(cause instanceof SandboxError) || cause.code !== 'session_not_found') return cause;
    const ids = (await this.sessions.list()).slice(0, 20).map((record) => record.session_id);
    const existing = ids.length > 0 ? `Your sessions: ${ids.join(', ')}` : 'You have no sessions';
    return new SandboxError(cause.code, `${cause.message} ${existing}. create_session starts a session.`);
  }

  /** Limits of a stored session that exceed the maximums of this server, lowered to the maximums. */
  #cappedLimits(policy: SessionRecord['policy']): PolicyInput {
    const names = Object.keys(this.maximums) as LimitName[];
    const exceeded = names.filter((name) => (policy[name] ?? 0) > this.maximums[name]);
    return Object.fromEntries(exceeded.map((name) => [name, this.maximums[name]]));
  }

  async fork(session_id: string, new_session_id: string = randomUUID()): Promise<Session> {
    if (session_id === DEFAULT_SESSION || new_session_id === DEFAULT_SESSION)
      throw new SandboxError(
        'invalid_argument',
        `The default workspace cannot be forked, and a fork cannot be named "${DEFAULT_SESSION}". Fork a session instead, and give the fork another name.`,
      );
    const session = await this.session(session_id);
    return withToolAdvice(() => session.fork(new_session_id));
  }

  /** Deletes a session, even one that is damaged and cannot be opened. */
  async destroy(session_id: string): Promise<void> {
    this.calls.cancel(session_id);
    try {
      await this.sessions.delete(session_id);
    } catch (cause) {
      throw await this.#withSessionList(cause);
    }
    await this.timelines?.delete(session_id);
    await this.sandboxRecords.delete(session_id);
  }

  /** The ids of all sessions in the store, including those that are damaged. */
  async storedSessionIds(): Promise<string[]> {
    const { damaged } = await this.sessions.store.list();
    return [...(await this.sessions.list()).map(({ session_id }) => session_id), ...damaged];
  }

  /** Closes a session without deleting it from the store. */
  async release(session_id: string): Promise<void> {
    this.calls.cancel(session_id);
    await this.sessions.release(session_id);
  }

  /** Closes a session whose program is paused, so that a person can resume it from another process. */
  async releaseIfPaused(session_id: string): Promise<void> {
    if (this.sessions.store.isInMemory || this.calls.count(session_id) > 0) return;
    if (this.sessions.opened(session_id)?.session.paused !== undefined)
      await this.sessions.release(session_id);
  }

  /**
   * The files of a session, for reading. If the session is damaged or its interpreter cannot be restored, these are the
   * files that the store still has.
   */
  async readableFiles(session_id: string): Promise<ReadableFiles> {
    try {
      return await this.open(session_id);
    } catch (cause) {
      if (!(cause instanceof SandboxError) || !UNOPENABLE.has(cause.code)) throw cause;
      const stored = await this.sessions.store.readWorkspace(session_id);
      if (stored === undefined) throw cause;
      return recoveredFiles(stored.workspace);
    }
  }

  /** Files of a session. A closed session is read from the store, without starting an interpreter or taking its lock. */
  async files(session_id: string): Promise<{ readonly path: string; readonly size_bytes: number }[]> {
    const open =
      session_id === DEFAULT_SESSION ? await this.defaultWorkspace() : this.sessions.opened(session_id);
    if (open !== undefined && !open.isClosed) return open.listFiles();
    const { workspace } = (await this.sessions.store.readWorkspace(session_id)) ?? { workspace: new Map() };
    return [...workspace.values()]
      .filter(({ kind }) => kind === 'file')
      .map(({ path, data }) => ({ path, size_bytes: data?.length ?? 0 }));
  }

  /** Bytes that `files` has to read from the store: none if the session is open. */
  async listingBytes(session_id: string): Promise<number> {
    return this.sessions.opened(session_id) === undefined ? this.sessions.store.size(session_id) : 0;
  }

  /** Deletes all files, folders and links of a session or the default workspace; returns the number of files. */
  async resetWorkspace(session_id: string): Promise<number> {
    return (await this.open(session_id)).clearFiles();
  }

  async close(): Promise<void> {
    this.calls.cancel();
    try {
      await Promise.all([this.sessions.close(), this.#workspaces?.close()]);
    } finally {
      // A workspace that could not be created has nothing to close.
      await (await this.#defaultWorkspace?.catch(() => undefined))?.close();
    }
  }
}

/** Errors of sessions that are in the store but cannot be opened. */
const UNOPENABLE: ReadonlySet<ErrorCode> = new Set([
  'session_damaged',
  'session_mismatch',
  'image_invalid',
  'build_failed',
]);

function recoveredFiles(entries: ReadonlyMap<string, Entry>): ReadableFiles {
  const unlimited = { maxBytes: Number.POSITIVE_INFINITY, maxFiles: Number.POSITIVE_INFINITY };
  const files = new WorkspaceFiles(Date.now, unlimited).with(entries);
  return {
    recovery:
      'The session cannot be opened; these are the files that were recovered. Save the files you need, then delete the session with destroy_session.',
    listFiles: async () => files.list(),
    fileContents: async (path) => files.contents(path),
    fileSize: async (path) => files.size(path),
  };
}

/** The default workspace of servers that share a database: a session without an interpreter. */
async function sharedWorkspace(workspaces: SessionRegistry, options: CreateOptions): Promise<Sandbox> {
  const open = workspaces.opened(DEFAULT_SESSION);
  if (open !== undefined && (await open.isCurrent())) return open;
  return workspaces.create({ ...options, session_id: DEFAULT_SESSION, auto_persist_globals: false });
}

/** The tools that resolve errors of creating a session. */
const TOOL_ADVICE: Readonly<Partial<Record<ErrorCode, string>>> = {
  session_exists: 'Or use the existing session with execute_code, or delete it with destroy_session.',
  session_limit: 'destroy_session deletes a session.',
};

async function withToolAdvice<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const advice = cause instanceof SandboxError ? TOOL_ADVICE[cause.code] : undefined;
    if (advice === undefined) throw cause;
    const { code, message } = cause as SandboxError;
    throw new SandboxError(code, `${message} ${advice}`);
  }
}
