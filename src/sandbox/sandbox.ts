/**
 * A sandbox: a runtime, a policy and a workspace. `execute` puts a program through a fresh guest and tells what became
 * of it. How a guest fails is data in the result; only faults of the host or the caller are thrown.
 */
import { randomUUID } from 'node:crypto';
import { SandboxError } from '../errors.ts';
import { readManifest } from '../packages/manifest.ts';
import type { Variable } from '../runtimes/language.ts';
import {
  deterministicMode,
  type ExecuteOptions,
  executeOptions,
  type Policy,
  parse,
  type RuntimeName,
  type SandboxResult,
} from '../schema.ts';
import type { CheckpointInfo } from '../session/checkpoint.ts';
import type { Session } from '../session/timeline.ts';
import type { SessionRecord } from '../stores/store.ts';
import { assetsOf, type ImageExtension, sharedPool } from '../worker/guest-assets.ts';
import type { MountSet, RunOutcome } from '../worker/protocol.ts';
import { askVariables, type CallLimits, type CallSource, runCall } from './call.ts';
import { CallHistory } from './call-history.ts';
import { Events } from './events.ts';
import { checkMemory, prepareParts, type SandboxOptions, type SandboxParts } from './options.ts';
import { toResult } from './result.ts';
import { addAnalysis } from './run-analysis.ts';
import { Workspace, type WorkspaceFile } from './workspace.ts';

export type { SandboxOptions } from './options.ts';

/** Workspace paths that guidance about a missing file is made from. */
const FILES_LOOKED_AT = 200;

/** Makes a sandbox. Guests are made by its calls, so this costs next to nothing. */
export async function createSandbox(options: SandboxOptions): Promise<Sandbox> {
  const parts = await prepareParts(options);
  const record = parts.session?.record;
  new Events(parts.logger, parts.runtime).session('session.open', record?.session_id, {
    calls: record?.calls,
  });
  return new Sandbox(parts);
}

export class Sandbox {
  #workspace: Workspace;
  readonly #key = randomUUID();
  readonly #closing = new AbortController();
  readonly #session: Session | undefined;
  readonly #extras: ImageExtension | undefined;
  readonly #history = new CallHistory();
  readonly #events: Events;

  readonly runtime: RuntimeName;
  readonly policy: Policy;
  readonly mountSet: MountSet;

  /** Use `createSandbox`, which checks the options. */
  constructor({ runtime, policy, mountSet, session, extras, logger }: SandboxParts) {
    this.runtime = runtime;
    this.policy = policy;
    this.mountSet = mountSet;
    this.#session = session;
    this.#extras = extras;
    this.#events = new Events(logger, runtime);
    const startMs = deterministicMode(policy)?.startMs;
    this.#workspace = new Workspace(startMs === undefined ? Date.now : () => startMs, {
      maxBytes: policy.workspace_max_bytes,
      maxFiles: policy.workspace_max_files,
    });
    if (session !== undefined) this.#workspace.replace(session.state.workspace);
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
    const limits = {
      fuel_budget: call.fuel_budget ?? this.policy.fuel_budget,
      timeout_seconds: call.timeout_seconds ?? this.policy.timeout_seconds,
    };
    const executionId = randomUUID();
    this.#events.start(executionId, code, limits);
    const { outcome, queueMs } = await runCall(this.#source, code, call, limits);
    this.#checkOpen();
    const ownPackages = this.#extras?.packages?.topLevel ?? [];
    const { metadata, ...rest } = toResult(this.runtime, outcome, queueMs, ownPackages);
    const session = this.#session && { session_id: this.#session.record.session_id };
    const plain = { ...rest, metadata: { ...metadata, ...session } };
    const analysed = this.#analyse(plain, code, limits, outcome);
    this.#events.complete(executionId, analysed.result, analysed.unclassified);
    return analysed.result;
  }

  #analyse(
    result: SandboxResult,
    code: string,
    limits: CallLimits,
    outcome: RunOutcome,
  ): ReturnType<typeof addAnalysis> {
    const { policy } = this;
    const { packages } = readManifest();
    const earlier = this.#history.earlierCalls(this.#session?.record);
    const files = () => this.#workspace.paths(FILES_LOOKED_AT);
    const analysed = addAnalysis(result, { code, policy, limits, outcome, earlier, files }, packages);
    this.#history.add(code, result.metadata.imports, packages);
    return analysed;
  }

  /**
   * A sandbox of either runtime over the very same files, without a session. Calls of the two may run at the same time;
   * of a file that both write, the later end wins.
   */
  async alongside(runtime: RuntimeName): Promise<Sandbox> {
    this.#checkOpen();
    checkMemory(runtime, this.policy, (await assetsOf(runtime)).minMemoryBytes);
    const other = this.#sibling({ runtime, session: undefined, extras: undefined });
    other.#workspace = this.#workspace;
    return other;
  }

  #sibling(parts: Partial<SandboxParts>): Sandbox {
    const { runtime, policy, mountSet } = this;
    const { logger } = this.#events;
    return new Sandbox({
      runtime,
      policy,
      mountSet,
      session: this.#session,
      extras: this.#extras,
      logger,
      ...parts,
    });
  }

  get #source(): CallSource {
    const { runtime, policy, mountSet } = this;
    return {
      key: this.#key,
      runtime,
      policy,
      mountSet,
      workspace: this.#workspace,
      extras: this.#extras,
      session: this.#session,
      closing: this.#closing.signal,
    };
  }

  // ---- the past and the future of a session ----

  /** Marks the present state, memory, open files and workspace together, under a name. */
  async checkpoint(name?: string): Promise<CheckpointInfo> {
    return this.#inTurn(async (session) => {
      await session.takeIn(this.#workspace);
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
    return this.#inTurn(async (origin) => {
      await origin.takeIn(this.#workspace);
      const session = await origin.fork(newId);
      this.#events.session('session.fork', newId, { forked_from: origin.record.session_id });
      return this.#sibling({ session });
    });
  }

  /** The variables of the session's interpreter, by asking a copy of it; nothing changes. */
  async variables(): Promise<Variable[]> {
    return askVariables(this.#source, this.#requireSession());
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
    this.#keepEdits();
  }

  async deleteFile(path: string): Promise<void> {
    this.#checkOpen();
    this.#workspace.delete(path);
    this.#keepEdits();
  }

  /** Empties the workspace, folders and links included, and returns how many files there were. */
  async clearFiles(): Promise<number> {
    this.#checkOpen();
    const count = this.#workspace.list().length;
    this.#workspace.clear();
    this.#keepEdits();
    return count;
  }

  /** Sees to it that the store gets what the host changed, without a call having to come first. */
  #keepEdits(): void {
    if (this.#session === undefined) return;
    this.#inTurn(async (session) => session.persist()).catch(() => {});
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
