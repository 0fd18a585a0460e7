/**
 * A sandbox: a runtime, a policy and a workspace. `execute` puts a program through a fresh guest and tells what became
 * of it. How a guest fails is data in the result; only faults of the host or the caller are thrown.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { SandboxError } from './errors.ts';
import { Events } from './events.ts';
import { CallHistory, explain } from './explain.ts';
import { LiveOutput } from './live-output.ts';
import { importNames, readManifest } from './packages/manifest.ts';
import { readOwnPackages } from './packages/own.ts';
import { endedFromOutside, toResult } from './result.ts';
import { type Variable, variable, variablesProgram } from './runtimes/variables.ts';
import {
  deterministicMode,
  type EventLogger,
  type ExecuteOptions,
  executeOptions,
  type Policy,
  parse,
  type RuntimeName,
  type SandboxResult,
  sandboxOptions,
} from './schema.ts';
import { type CheckpointInfo, Session } from './session.ts';
import { readHostTree } from './stores/host-files.ts';
import { memoryStore } from './stores/memory.ts';
import { checkSessionId } from './stores/session-id.ts';
import type { SessionRecord, SessionStore } from './stores/store.ts';
import { Transaction } from './transaction.ts';
import { assetsOf, type Extras, extendedAssets, sharedPool } from './worker/guests.ts';
import {
  type MountSet,
  type RunJob,
  type RunOutcome,
  type SessionPart,
  toShared,
} from './worker/protocol.ts';
import { Workspace, type WorkspaceFile } from './workspace.ts';

/** What looking at a session may cost. */
const PEEK = { fuel_budget: 2_000_000_000, timeoutMs: 10_000, inject_setup: true };

/** Options of `createSandbox`. */
export type SandboxOptions = Omit<z.input<typeof sandboxOptions>, 'store'> & { store?: SessionStore };

/** Makes a sandbox. Guests are made by its calls, so this costs next to nothing. */
export async function createSandbox(options: SandboxOptions): Promise<Sandbox> {
  const { runtime, policy, preload, packages, logger, ...wanted } = parse(sandboxOptions, options, 'options');
  const extras = await extrasOf(runtime, preload, packages);
  const { minMemoryBytes: minimum, layers } = await assetsWith(runtime, extras);
  checkMemory(runtime, policy, minimum);
  checkMountPoints(
    policy,
    layers.map(({ at }) => at),
  );
  const mounts = policy.mounts.map(({ host_path, guest_path }) => ({
    at: guest_path,
    ...readHostTree(host_path, toShared),
  }));
  const session = await openSession(runtime, { ...wanted, preload: sessionPreload(extras) });
  const sandbox = new Sandbox(runtime, policy, { id: randomUUID(), mounts }, { session, extras, logger });
  new Events(logger, runtime).session('session.open', session?.record.session_id, {
    calls: session?.record.calls,
  });
  return sandbox;
}

function checkMemory(runtime: RuntimeName, { memory_bytes }: Policy, minimum: number): void {
  if (memory_bytes >= minimum) return;
  const found = `policy.memory_bytes: ${memory_bytes} is less than ${runtime} needs to start`;
  throw new SandboxError('invalid_argument', `${found}; the minimum is ${minimum}.`);
}

/** The session of a sandbox, if the options ask for one in any way. */
async function openSession(
  runtime: RuntimeName,
  wanted: Pick<z.output<typeof sandboxOptions>, 'session_id' | 'auto_persist_globals' | 'store' | 'preload'>,
): Promise<Session | undefined> {
  const { session_id, auto_persist_globals, store } = wanted;
  if (session_id === undefined && store === undefined && !auto_persist_globals) return undefined;
  if (session_id !== undefined) checkSessionId(session_id);
  return Session.open((store as SessionStore | undefined) ?? processStore, {
    session_id: session_id ?? randomUUID(),
    runtime,
    auto_persist_globals: auto_persist_globals ?? true,
    preload: wanted.preload,
  });
}

/** Sessions that were given no store live in this one, as long as the process does. */
const processStore = memoryStore();

/** Workspace paths that guidance about a missing file is made from. */
const FILES_LOOKED_AT = 200;
/** A mount has its place to itself: nothing of the guest's own world lies there, above it or below it. */
function checkMountPoints({ mounts }: Policy, layers: readonly string[]): void {
  const taken = ['/app', '/tmp', '/dev', ...layers];
  mounts.forEach(({ guest_path: path }, i) => {
    const other = taken.find((at) => at === path || at.startsWith(`${path}/`) || path.startsWith(`${at}/`));
    if (other !== undefined) {
      const advice = 'Use a path of its own, such as /external';
      throw new SandboxError(
        'invalid_argument',
        `policy.mounts.${i}.guest_path: ${path} collides with ${other}. ${advice}.`,
      );
    }
    taken.push(path);
  });
}

/** What a session remembers of its image, so that it is not opened in another. */
function sessionPreload(extras: Extras | undefined): string[] {
  if (extras === undefined) return [];
  const own = extras.packages && `packages:${extras.packages.sha256}`;
  return [...extras.preload, ...(own === undefined ? [] : [own])];
}

/** What the options ask for besides the ordinary guest, if anything, in one form for equal wishes. */
async function extrasOf(
  runtime: RuntimeName,
  preload: readonly string[],
  packages: readonly string[],
): Promise<Extras | undefined> {
  if (preload.length === 0 && packages.length === 0) return undefined;
  const modules = new Set(preload.flatMap((name) => importNames(runtime, name)));
  return {
    preload: [...modules].sort(),
    packages: packages.length === 0 ? undefined : await readOwnPackages(packages),
  };
}

const assetsWith = (runtime: RuntimeName, extras: Extras | undefined) =>
  extras === undefined ? assetsOf(runtime) : extendedAssets(runtime, extras);

interface SandboxParts {
  readonly session?: Session | undefined;
  readonly extras?: Extras | undefined;
  readonly logger?: EventLogger | undefined;
}

export class Sandbox {
  #workspace: Workspace;
  readonly #key = randomUUID();
  readonly #closing = new AbortController();
  readonly #session: Session | undefined;
  readonly #extras: Extras | undefined;
  readonly #history = new CallHistory();
  readonly #events: Events;

  /** Use `createSandbox`, which checks the policy. */
  constructor(
    readonly runtime: RuntimeName,
    readonly policy: Policy,
    readonly mountSet: MountSet,
    parts: SandboxParts = {},
  ) {
    this.#session = parts.session;
    this.#extras = parts.extras;
    this.#events = new Events(parts.logger, runtime);
    const startMs = deterministicMode(policy)?.startMs;
    this.#workspace = new Workspace(startMs === undefined ? Date.now : () => startMs, {
      maxBytes: policy.workspace_max_bytes,
      maxFiles: policy.workspace_max_files,
    });
    if (parts.session !== undefined) this.#workspace.replace(parts.session.state.workspace);
  }

  /** The name under which the session of this sandbox can be opened again. */
  get session_id(): string | undefined {
    return this.#session?.record.session_id;
  }

  /**
   * Runs a program over this sandbox's workspace, in a fresh guest or, in a session, in the one the calls before it
   * left. Calls of one sandbox run one after another.
   */
  async execute(code: string, options: ExecuteOptions = {}): Promise<SandboxResult> {
    this.#checkOpen();
    if (typeof code !== 'string') throw new SandboxError('invalid_argument', 'code: expected a string.');
    const call = parse(executeOptions, options, 'options');
    const submitted = performance.now();
    let started = submitted;
    const live = new LiveOutput(call.on_stdout, call.on_stderr);
    const limits = {
      fuel_budget: call.fuel_budget ?? this.policy.fuel_budget,
      timeout_seconds: call.timeout_seconds ?? this.policy.timeout_seconds,
    };
    const { fuel_budget } = limits;
    const { on_progress: onProgress } = call;
    const timeoutMs = limits.timeout_seconds * 1000;
    const executionId = randomUUID();
    this.#events.start(executionId, code, limits);
    const transaction = this.#session && new Transaction(this.#session, this.#workspace, code);
    const result = await sharedPool().submit({
      key: this.#key,
      sticky: transaction !== undefined,
      prepare: async () => {
        // A session stays in the image it began in: its memory is a difference to that.
        const bare = !call.inject_setup && this.#session === undefined;
        const assets = await assetsWith(this.runtime, bare ? undefined : this.#extras);
        if (call.files !== undefined) this.#workspace.write(call.files);
        const session = await transaction?.begin(this.#key);
        return { assets, job: this.#job(assets.id, code, call, timeoutMs, live.wanted, session) };
      },
      signal: AbortSignal.any([this.#closing.signal, ...(call.signal ? [call.signal] : [])]),
      onOutput: (stream, bytes) => live.push(stream, bytes),
      onSpent:
        onProgress && ((fuel_consumed) => live.guard(() => onProgress({ fuel_consumed, fuel_budget }))),
      onStart: () => {
        started = performance.now();
      },
      onResult: (ended) => {
        if (ended.type !== 'done') return;
        if (transaction === undefined) this.#workspace.apply(ended.outcome.changes);
        else transaction.answered(ended.outcome);
      },
      onSaved: (saved) => transaction?.saved(saved),
      onFinished: () => transaction?.finished(),
      limitMs: timeoutMs,
    });
    const queueMs = started - submitted;
    if (this.#closing.signal.aborted) this.#checkOpen();
    if (result.type === 'built' || result.type === 'extended')
      throw new SandboxError('internal', 'A run was answered with a build.');
    const outcome =
      result.type === 'done' ? result.outcome : endedFromOutside(result.type, performance.now() - started);
    live.end();
    const { metadata, ...rest } = toResult(
      this.runtime,
      outcome,
      queueMs,
      this.#extras?.packages?.topLevel ?? [],
    );
    const state = this.#session && result.type !== 'done' ? 'rolled_back' : metadata.state;
    const session = this.#session && { session_id: this.#session.record.session_id };
    const plain = { ...rest, metadata: { ...metadata, state, ...session } };
    const explained = this.#explain(plain, code, limits, outcome);
    this.#events.complete(executionId, explained.result, explained.unclassified);
    return explained.result;
  }

  #explain(
    result: SandboxResult,
    code: string,
    limits: { fuel_budget: number; timeout_seconds: number },
    outcome: RunOutcome,
  ): ReturnType<typeof explain> {
    const { policy } = this;
    const session = this.#history.session(this.#session?.record);
    const files = () => this.#workspace.paths(FILES_LOOKED_AT);
    const explained = explain(
      result,
      { code, policy, limits, outcome, imports: result.metadata.imports, session, files },
      readManifest(),
    );
    this.#history.remember(code, result.metadata.imports, readManifest());
    return explained;
  }

  /**
   * A sandbox of either runtime over the very same files, without a session. Calls of the two may run at the same time;
   * of a file that both write, the later end wins.
   */
  async alongside(runtime: RuntimeName): Promise<Sandbox> {
    this.#checkOpen();
    checkMemory(runtime, this.policy, (await assetsOf(runtime)).minMemoryBytes);
    const other = new Sandbox(runtime, this.policy, this.mountSet, { logger: this.#events.logger });
    other.#workspace = this.#workspace;
    return other;
  }

  // ---- the past and the future of a session ----

  /** Marks the present state, memory, open files and workspace together, under a name. */
  async checkpoint(name?: string): Promise<CheckpointInfo> {
    return this.#inTurn(async (session) => {
      const made = session.checkpoint(name);
      this.#events.session('session.checkpoint', this.session_id, { checkpoint: made.name });
      return made;
    });
  }

  async checkpoints(): Promise<CheckpointInfo[]> {
    return this.#inTurn(async (session) => session.checkpoints());
  }

  async deleteCheckpoint(name: string): Promise<void> {
    return this.#inTurn(async (session) => session.deleteCheckpoint(name));
  }

  /** Goes back to a checkpoint; without a name, to the state before the last call. */
  async rollback(name?: string): Promise<void> {
    return this.#inTurn(async (session) => {
      session.rollback(name);
      this.#workspace.replace(session.state.workspace);
      this.#events.session(
        'session.rollback',
        this.session_id,
        name === undefined ? {} : { checkpoint: name },
      );
    });
  }

  /** Another session that starts from the present state of this one; the two know nothing of each other afterwards. */
  async fork(newId: string = randomUUID()): Promise<Sandbox> {
    checkSessionId(newId);
    return this.#inTurn(async ({ store, state, record }) => {
      if ((await store.read(newId)) !== undefined) {
        throw new SandboxError(
          'session_mismatch',
          `There is already a session ${newId}. Choose another name for the fork.`,
        );
      }
      const { runtime, auto_persist_globals, preload } = record;
      const settings = { session_id: newId, runtime, auto_persist_globals, preload };
      const fork = await Session.open(store, settings, state);
      fork.persist();
      this.#events.session('session.fork', newId, { forked_from: record.session_id });
      const parts = { session: fork, extras: this.#extras, logger: this.#events.logger };
      return new Sandbox(this.runtime, this.policy, this.mountSet, parts);
    });
  }

  /** The variables of the session's interpreter, by asking a copy of it; nothing changes. */
  async variables(): Promise<Variable[]> {
    const session = this.#requireSession();
    const { runtime } = this;
    const result = await sharedPool().submit({
      key: this.#key,
      prepare: async () => {
        const code = variablesProgram(runtime, session.declared);
        const { version, delta, tmp } = session.state;
        const edits = { removed: [], entries: [] };
        const part = { id: this.#key, version, delta, tmp, edits, call: version + 1, isPeek: true };
        const assets = await assetsWith(runtime, this.#extras);
        return { assets, job: this.#job(assets.id, code, PEEK, PEEK.timeoutMs, false, part) };
      },
      limitMs: PEEK.timeoutMs,
    });
    if (result.type !== 'done') return [];
    const parsed = z.array(variable).safeParse(result.outcome.report?.result);
    return parsed.success ? parsed.data : [];
  }

  /** What is known of the session without asking the guest. */
  get session(): SessionRecord | undefined {
    return this.#session?.record;
  }

  /** Waits until the session is in its store; throws when it could not be written there. */
  async flush(): Promise<void> {
    await this.#inTurn((session) => session.flush());
  }

  /** Runs in order with the calls of this sandbox, on the state they left. */
  #inTurn<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const session = this.#requireSession();
    return sharedPool().turn(this.#key, async () => {
      session.withWorkspace(this.#workspace.snapshot());
      return work(session);
    });
  }

  #requireSession(): Session {
    this.#checkOpen();
    if (this.#session !== undefined) return this.#session;
    const advice = 'Make it with a session_id or with auto_persist_globals: true';
    throw new SandboxError('invalid_argument', `This sandbox has no session. ${advice}.`);
  }

  // ---- files ----

  #job(
    image: string,
    code: string,
    call: {
      stdin?: string | Uint8Array | undefined;
      fuel_budget?: number | undefined;
      inject_setup: boolean;
    },
    timeoutMs: number,
    live: boolean,
    session: SessionPart | undefined,
  ): RunJob {
    const { policy } = this;
    return {
      type: 'run',
      image,
      code,
      env: policy.env,
      injectSetup: call.inject_setup,
      stdin:
        typeof call.stdin === 'string'
          ? new TextEncoder().encode(call.stdin)
          : (call.stdin ?? new Uint8Array()),
      limits: {
        fuelBudget: call.fuel_budget ?? policy.fuel_budget,
        timeoutMs,
        memoryBytes: policy.memory_bytes,
        stdoutMaxBytes: policy.stdout_max_bytes,
        stderrMaxBytes: policy.stderr_max_bytes,
        workspaceMaxBytes: policy.workspace_max_bytes,
        workspaceMaxFiles: policy.workspace_max_files,
        deterministic: deterministicMode(policy),
      },
      workspace: this.#workspace.entries(),
      mountSet: this.mountSet,
      live,
      session,
    };
  }

  /** Files of the workspace, sorted by path. */
  async listFiles(): Promise<WorkspaceFile[]> {
    this.#checkOpen();
    return this.#workspace.list();
  }

  async readFile(path: string): Promise<Uint8Array>;
  async readFile(path: string, encoding: 'utf8'): Promise<string>;
  async readFile(path: string, encoding?: 'utf8'): Promise<Uint8Array | string> {
    this.#checkOpen();
    const bytes = this.#workspace.read(path);
    return encoding === 'utf8' ? new TextDecoder().decode(bytes) : bytes;
  }

  async writeFile(path: string, content: string | Uint8Array): Promise<void> {
    this.#checkOpen();
    this.#workspace.write({ [path]: content });
  }

  async deleteFile(path: string): Promise<void> {
    this.#checkOpen();
    this.#workspace.delete(path);
  }

  /** Ends what is running. A session is written to its store and can be opened again; other workspaces are forgotten. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return;
    this.#closing.abort();
    sharedPool().release(this.#key);
    const session = this.#session;
    if (session !== undefined) await sharedPool().turn(this.#key, () => session.close());
    this.#events.session('session.close', this.session_id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #checkOpen(): void {
    if (this.#closing.signal.aborted) {
      throw new SandboxError('sandbox_closed', 'This sandbox was closed. Make another with createSandbox().');
    }
  }
}
