/**
 * A sandbox whose interpreter and files persist between calls. A call is a transaction: either its memory and its files
 * are committed together, or both are left as they were before the call.
 */

import { randomUUID } from 'node:crypto';
import { Cancellation } from '../concurrency/cancellation.ts';
import { undefinedIfAborted } from '../concurrency/until-aborted.ts';
import { FileTree } from '../fs/immutable-file-tree.ts';
import { contentsSource, readUserPackages } from '../packages/read-user-packages.ts';
import type { GuestAssets } from '../runtimes/guest-artifacts.ts';
import { LANGUAGES } from '../runtimes/languages.ts';
import type { Variable } from '../runtimes/variable.ts';
import type { Call } from '../sandbox/call-options.ts';
import { factsOf, type SandboxParts } from '../sandbox/create-parts.ts';
import { type Execution, startExecution } from '../sandbox/execution-handle.ts';
import { type FinishedCall, outcomeOf } from '../sandbox/observe-run.ts';
import { Sandbox } from '../sandbox/sandbox.ts';
import { stoppedByHost } from '../sandbox/to-result.ts';
import type { Workspace } from '../sandbox/workspace.ts';
import { type PausedExecution, type Policy, parse, type RuntimeName, textArgument } from '../schema.ts';
import type { SessionRecord } from '../stores/store.ts';
import { NETWORK_CALLS } from '../tools/tool-limits.ts';
import type { ImageExtension } from '../worker/pool/guest-assets.ts';
import type { WorkerTurn } from '../worker/pool/pool.ts';
import { unpackInThread } from '../worker/pool/unpack-in-thread.ts';
import type { RunOutcome } from '../worker/protocol/messages.ts';
import { CallTransaction } from './call-transaction.ts';
import { copyOf, inspectionCall, reportedVariables } from './inspect-variables.ts';
import type { CommittedSession } from './known-revisions.ts';
import type { CheckpointInfo, ForkOptions } from './make-checkpoint.ts';
import {
  checkExecution,
  networkRequired,
  parseResolutions,
  type ResumeOptions,
  toolsRequired,
} from './resume-options.ts';
import { SessionAccess } from './session-access.ts';
import { recordedPackage, recordedPreload, withRecordedImage } from './session-image.ts';
import type { SessionStates } from './session-states.ts';
import { SharedFilesSandbox } from './shared-files-sandbox.ts';

/** The registry that a session belongs to. */
export interface SessionOwner {
  /**
   * Reserves a place for a new session and returns a function that releases it. Throws `session_exists` or `session_limit`.
   */
  reserve(session_id: string): Promise<() => void>;
  /** Adds a fork of one of its sessions. */
  adopt(session: Session): void;
  /** Called when a session has been closed. */
  closed(session: Session): void;
  /** How long an operation waits for the lease; undefined if a session holds it while it is open. */
  readonly leaseWaitMs: number | undefined;
}

/** A sandbox whose interpreter and files persist between calls. Created by `createSandbox` or a `SessionRegistry`. */
export class Session extends Sandbox {
  readonly #states: SessionStates;
  readonly #owner: SessionOwner | undefined;
  readonly #access: SessionAccess;
  #closed: Promise<void> | undefined;

  /** @internal */
  constructor(parts: SandboxParts, states: SessionStates, owner?: SessionOwner) {
    super(parts);
    this.#states = states;
    this.#owner = owner;
    const { tenant, key } = this;
    const { pool, commit } = parts;
    const place = { pool, tenant, key, commit, leaseWaitMs: owner?.leaseWaitMs };
    this.#access = new SessionAccess(states, this.workspace, this, place);
    states.onSaveFailed = (error) => this.events.saveFailed(this.session_id, error);
  }

  /** Whether the store still has this session. @internal */
  async isCurrent(): Promise<boolean> {
    await this.#access.bringUpToDate();
    return !this.isClosed;
  }

  /** Whether no operation uses the session. Always false for a session that holds its lease while it is open. @internal */
  get isIdle(): boolean {
    return this.#access.isReleased;
  }

  /** Logs that the session was opened. A fork is logged as a fork instead. @internal */
  logOpened(): void {
    this.events.session('session.open', this.session_id, { calls: this.#states.record.calls });
  }

  /** The name of the session. Pass it to `createSandbox` to open the session again. */
  override get session_id(): string {
    return this.#states.record.session_id;
  }

  /** The record of the session: calls, fuel, imports and limits. */
  get session(): SessionRecord {
    return this.#states.record;
  }

  /** The facts as they are stored, if processes share the session. @internal */
  async committedRecord(): Promise<SessionRecord> {
    return this.#access.read(async (committed) => (committed ?? this.#states).record);
  }

  /** @internal */
  protected override get sessionRecord(): SessionRecord {
    return this.#states.record;
  }

  /** @internal */
  protected override async run(call: Call): Promise<FinishedCall> {
    const { onDemand, loadsImports, pool } = this.parts;
    const isOwn = onDemand !== undefined || loadsImports;
    const needsPackages = (isOwn || call.processes !== undefined) && call.resumption === undefined;
    if (!needsPackages) return this.#access.use(() => this.#run(call), call.signal);
    // Calls that can start again run one after another, so that they stay in order.
    const place = await pool.acquireKey(this.tenant, `${this.key}:packages`, call.signal);
    try {
      return await this.untilComplete(call, () => this.#runWithPackages(call));
    } finally {
      place?.release();
    }
  }

  async #runWithPackages(call: Call): Promise<FinishedCall> {
    if (call.processes !== undefined) {
      const isReady = await undefinedIfAborted(
        call.processes.prepare().then(() => true),
        call.signal,
      );
      if (!isReady) return this.#finished({ ...stoppedByHost('cancelled', 0), state: 'rolled_back' }, 0);
      return this.#access.use(() => this.#run(call), call.signal);
    }
    const isFixed = this.parts.loadsImports && !this.#isUnused;
    const image = isFixed ? undefined : await undefinedIfAborted(this.imageFor(call), call.signal);
    return this.#access.use(async () => {
      if (image?.extension !== undefined) await this.#continueWith(image.extension, image.assets);
      const { extension } = this.parts;
      return { ...(await this.#run(call)), packages: { extension } };
    }, call.signal);
  }

  /** Adds packages to the session if it lacks some, after the calls that were started. */
  async #continueWith(added: ImageExtension, assets: GuestAssets): Promise<void> {
    const { extension, loadsImports } = this.parts;
    const present = (extension?.grown ?? extension?.packages)?.digests ?? [];
    const missing = added.packages!.digests.filter((digest) => !present.includes(digest));
    if (missing.length > 0 || loadsImports)
      await this.#access.inTurn(() => this.#changeImage(added, assets, missing));
  }

  /** Whether no call has run and the interpreter is that of the image. */
  get #isUnused(): boolean {
    const { record, state } = this.#states;
    return record.calls === 0 && state.delta === undefined;
  }

  /**
   * Before its first call, an empty session starts in the image of the program; later it keeps its image, because its memory
   * is stored as its difference from that image, and gets only the files of the packages. A fork is not empty.
   */
  async #changeImage(added: ImageExtension, assets: GuestAssets, missing: readonly string[]): Promise<void> {
    const { extension, loadsImports } = this.parts;
    if (this.#isUnused && (extension === undefined || loadsImports)) {
      this.parts = { ...this.parts, extension: added, assets };
      this.#states.setImage(recordedPreload(this.parts));
      return;
    }
    if (missing.length === 0) return;
    const { record } = this.#states;
    const preload = [
      ...record.preload,
      ...missing.map((digest) => recordedPackage('later', digest, added.packages!)),
    ];
    this.parts = await withRecordedImage(this.parts, { ...record, preload });
    this.#states.setImage(preload);
  }

  async #run(call: Call): Promise<FinishedCall> {
    const queuedAt = performance.now();
    const turn = await this.acquire(call.signal, true);
    const queueMs = performance.now() - queuedAt;
    if (turn === undefined)
      return this.#finished({ ...stoppedByHost('cancelled', 0), state: 'rolled_back' }, queueMs);
    let transaction: CallTransaction | undefined;
    try {
      transaction = await CallTransaction.begin(this.#access, call);
      if (call.processes === undefined) call.packages?.begin(factsOf(this.parts.extension));
      // A session always runs in the image it began in, because its memory is stored as its difference from that image.
      const job = this.start(turn, call, {
        assets: this.parts.assets,
        session: transaction.sessionInput(this.key),
      });
      const outcome = await outcomeOf(job, call);
      if (outcome.trap?.reason === 'worker_lost' || call.packages?.mustRestart) {
        await transaction.revert();
        const finished = this.#finished({ ...outcome, state: 'rolled_back' }, queueMs);
        turn.release();
        return finished;
      }
      if (outcome.state !== 'rolled_back') await this.#recordPackages(call);
      transaction.answer(outcome, outcome.isPaused ? call.tools?.pause(call, outcome) : undefined);
      // Another process may resume a paused program as soon as the result is returned, and a program that was resumed must
      // not be found paused again, so both are saved first.
      const isDeferrable = !outcome.isPaused && call.resumption === undefined;
      if (this.parts.commit === 'background' && isDeferrable) {
        this.#access.saveInBackground(transaction.commitInBackground(turn, job, outcome));
        return { outcome, queueMs };
      }
      const saved = await transaction.commitBeforeAnswer(job, outcome);
      const finished = this.#finished(saved, queueMs);
      turn.release();
      return finished;
    } catch (cause) {
      await transaction?.revert();
      turn.release();
      throw cause;
    }
  }

  /** Records the packages that processes have used, so that later calls and other processes have the same versions. */
  async #recordPackages({ processes: used }: Call): Promise<void> {
    const { processes } = this.parts;
    const { record } = this.#states;
    const present = processes?.packages?.digests ?? [];
    const added = (used?.used ?? []).filter(([digest]) => !present.includes(digest));
    if (processes === undefined || added.length === 0) return;
    const names = added.map(([digest, packages]) => recordedPackage('packages', digest, packages));
    const packages = await readUserPackages(
      [...present, ...added.map(([digest]) => digest)].map(contentsSource),
      unpackInThread,
    );
    this.parts = { ...this.parts, processes: { ...processes, packages } };
    this.#states.recordPackages([...record.preload, ...names]);
  }

  #finished(outcome: RunOutcome, queueMs: number): FinishedCall {
    return { outcome, queueMs, paused: this.#states.state.paused };
  }

  /** @internal */
  protected override get cannotPause(): string | undefined {
    if (this.#states.record.auto_persist_globals) return undefined;
    return 'its session does not keep variables (auto_persist_globals: false)';
  }

  /**
   * Returns the program that is waiting for answers to tool calls, or undefined if there is none. While a program is paused,
   * `execute` throws `execution_paused`. While a resume is in progress, this method returns the state that was saved
   * before the program continued. Wait for the result of that resume instead of using the `execution_id`.
   */
  async paused(): Promise<PausedExecution | undefined> {
    this.checkOpen();
    return this.#access.read(async (committed) => (committed ?? this.#states).state.paused);
  }

  /**
   * Continues a paused program with answers to its tool calls. Any process that can open the session can do so. The tools
   * must be passed to `createSandbox` or to this method. If calls remain unanswered, the program pauses again. Fuel, time
   * and calls that were used before the pause count towards the limits.
   *
   * An `execution_id` is accepted once. If the resume is rolled back or undone, or if the process ends, the program stays
   * paused under a new id, which `paused` returns. Throws `execution_not_found` if the execution has ended, was discarded
   * or was already resumed.
   */
  resume(execution_id: string, { resolutions, ...options }: ResumeOptions): Execution {
    return startExecution(async (started) => {
      try {
        const paused = await this.paused();
        checkExecution(paused, parse(textArgument, execution_id, 'execution_id'));
        const resumption = { paused, resolutions: parseResolutions(resolutions, paused) };
        const waitsForTools = paused.pending.some(({ name }) => name !== NETWORK_CALLS.request);
        if (waitsForTools && options.tools === undefined && this.parts.tools.toolset === undefined)
          throw toolsRequired();
        if (paused.pending.some(({ name }) => name === NETWORK_CALLS.request) && !this.policy.network)
          throw networkRequired();
        return await this.executeCall(paused.code, options, started, resumption);
      } catch (cause) {
        started.output.abandon();
        throw cause;
      }
    });
  }

  /**
   * Saves the current state under a name: memory, open files and workspace. Replaces a checkpoint with the same name.
   * Default name: `checkpoint-N`. Throws `session_limit` if the session would have more than 32 checkpoints or more than 512
   * MiB of checkpoints.
   */
  async checkpoint(name?: string): Promise<CheckpointInfo> {
    return this.#access.change(async () => {
      await this.#states.syncExternalEdits(this.workspace);
      const made = this.#states.checkpoint(name);
      this.events.session('session.checkpoint', this.session_id, { checkpoint: made.name });
      return made;
    });
  }

  /** Returns the checkpoints of the session, oldest first. */
  async checkpoints(): Promise<CheckpointInfo[]> {
    this.checkOpen();
    return this.#access.read(async (committed) =>
      committed ? [...committed.checkpoints] : this.#access.inTurn(async () => this.#states.checkpoints()),
    );
  }

  /** Deletes a checkpoint. Throws `checkpoint_not_found` if it does not exist. */
  async deleteCheckpoint(name: string): Promise<void> {
    return this.#access.change(async () => this.#states.deleteCheckpoint(name));
  }

  /**
   * Restores a checkpoint. Without a name, restores the state before the last call. Throws `checkpoint_not_found` if the
   * checkpoint does not exist, or `nothing_to_undo` if there is no call to undo.
   */
  async rollback(name?: string): Promise<void> {
    return this.#access.change(async () => {
      await this.#states.rollback(name);
      this.#access.loadFiles();
      const fields = name === undefined ? {} : { checkpoint: name };
      this.events.session('session.rollback', this.session_id, fields);
    });
  }

  /** Restores the state before the last call. Throws `nothing_to_undo` if there is no call to undo. */
  async undo(): Promise<void> {
    return this.rollback();
  }

  /** Gives the session a new interpreter and an empty /tmp. Its files and checkpoints are kept. @internal */
  async restart(): Promise<void> {
    return this.#access.change(async () => {
      await this.#states.syncExternalEdits(this.workspace);
      this.#states.restart();
      this.#access.loadFiles();
    });
  }

  /**
   * Creates another session from the current state or from a checkpoint of this session. The two sessions are independent.
   * Default name: a new UUID. Throws `session_exists` if a session with the new name exists, or `session_limit` if a limit
   * is reached. Throws `checkpoint_not_found` if the checkpoint does not exist.
   */
  async fork(newId: string = randomUUID(), { checkpoint }: ForkOptions = {}): Promise<Session> {
    this.checkOpen();
    const unreserve = await this.#owner?.reserve(newId);
    try {
      return await this.#access.inOrder(async () => {
        await this.#states.syncExternalEdits(this.workspace);
        const states = await this.#states.fork(newId, checkpoint);
        this.events.session('session.fork', newId, { forked_from: this.session_id });
        const parts = { ...this.parts, network: this.parts.network?.forFork() };
        const fork = new Session(parts, states, this.#owner);
        await fork.openStates();
        this.#owner?.adopt(fork);
        return fork;
      });
    } finally {
      unreserve?.();
    }
  }

  /**
   * Returns the global variables of the session. They are read from a copy of the interpreter, so the session does not
   * change.
   */
  async variables(): Promise<Variable[]> {
    this.checkOpen();
    const program = (declared: readonly string[]) => LANGUAGES[this.runtime].variablesProgram(declared);
    return reportedVariables(await this.inspect(program));
  }

  /**
   * The result of a program that runs in a copy of the interpreter, so the session does not change; undefined if it has
   * none. `program` gets the names that earlier programs declared.
   * @internal
   */
  async inspect(program: (declared: readonly string[]) => string): Promise<unknown> {
    this.checkOpen();
    return this.#access.read((committed) => this.#inspect(program, committed));
  }

  async #inspect(
    program: (declared: readonly string[]) => string,
    committed?: CommittedSession,
  ): Promise<unknown> {
    this.checkOpen();
    const cancellation = new Cancellation();
    this.calls.add(cancellation);
    let turn: WorkerTurn | undefined;
    try {
      turn = await this.acquire(cancellation.signal);
      this.checkOpen();
      if (turn === undefined) return undefined;
      const { record, state } = committed ?? this.#states;
      const code = program(record.declared);
      const call = inspectionCall(this.runtime, code, this.policy, cancellation.signal);
      const files = committed && FileTree.of(state.workspace);
      const job = this.start(turn, call, {
        assets: this.parts.assets,
        session: copyOf(state, this.key),
        tree: files,
      });
      const { report } = await outcomeOf(job, call);
      this.checkOpen();
      return report?.result;
    } finally {
      turn?.release();
      this.calls.delete(cancellation);
    }
  }

  /** Saves a new session (see SessionAccess.open). @internal */
  openStates(): Promise<void> {
    return this.#access.open();
  }

  /** Waits until the session is saved. Throws the error of the store, such as `store_failed`, if a save has failed. */
  async flush(): Promise<void> {
    // A session is saved before its lease is released.
    if (this.#access.isReleased) return this.#states.reportFailure();
    await this.#access.inOrder(() => this.#states.flush());
  }

  /**
   * Saves the session and releases it, so that other processes and sandboxes can open it. Every call to `close` waits until
   * the session is closed. The first call throws if the session could not be saved.
   */
  override close(): Promise<void> {
    if (this.#closed !== undefined) return this.#closed.catch(() => {});
    this.#closed = this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await super.close();
    try {
      await this.#access.close();
    } finally {
      this.#owner?.closed(this);
    }
    this.events.session('session.close', this.session_id);
  }

  /**
   * Closes the session. If a failed save was already reported, its error is not thrown again, because it would hide any
   * error that was thrown in the `await using` block.
   */
  override async [Symbol.asyncDispose](): Promise<void> {
    const wasReported = this.#states.hasReportedFailure;
    try {
      await this.close();
    } catch (cause) {
      if (!wasReported) throw cause;
    }
  }

  /** @internal */
  protected override async workspaceChanged(): Promise<void> {
    await this.#access.saveHostEdits();
  }

  /** @internal */
  protected override async withFiles<T>(
    work: (files: Workspace) => Promise<T>,
    access: 'read' | 'write',
  ): Promise<T> {
    this.checkOpen();
    const use = () => super.withFiles(work, access);
    if (access === 'write') return this.#access.use(use);
    return this.#access.read((committed) =>
      committed ? work(this.workspace.with(committed.state.workspace)) : use(),
    );
  }

  /** A sandbox of any runtime with the same files. The next call of the session sees what its programs change. @internal */
  override async withRuntime(runtime: RuntimeName, changed: Partial<Policy> = {}): Promise<Sandbox> {
    this.checkOpen();
    return new SharedFilesSandbox(await this.partsFor(runtime, changed), this.workspace, {
      withFiles: (work, access) => this.withFiles(work, access),
      workspaceChanged: () => this.workspaceChanged(),
      hasInterpreter: this.#states.record.auto_persist_globals,
    });
  }
}
