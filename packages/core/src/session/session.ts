/**
 * A sandbox whose interpreter and files persist between calls. A call is a transaction: either its memory and its files
 * are committed together, or both are left as they were before the call.
 */

import { randomUUID } from 'node:crypto';
import type { Variable } from '../results/variable.ts';
import { LANGUAGES } from '../runtimes/registry/languages.ts';
import type { SandboxParts } from '../sandbox/create-parts.ts';
import { type Execution, startExecution } from '../sandbox/execution-handle.ts';
import { Sandbox } from '../sandbox/sandbox.ts';
import { SandboxCore } from '../sandbox/sandbox-core.ts';
import { Workspace } from '../sandbox/workspace.ts';
import { type PausedExecution, parse, textArgument } from '../schema.ts';
import type { SessionRecord } from '../stores/store.ts';
import { NETWORK_CALLS } from '../tools/tool-limits.ts';
import { reportedVariables } from './inspect-variables.ts';
import type { CheckpointInfo, ForkOptions } from './make-checkpoint.ts';
import {
  checkExecution,
  networkRequired,
  parseResolutions,
  type ResumeOptions,
  toolsRequired,
} from './resume-options.ts';
import { SessionAccess } from './session-access.ts';
import { SessionInterpreter } from './session-interpreter.ts';
import type { SessionPersistence } from './session-persistence.ts';

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
  readonly #persistence: SessionPersistence;
  readonly #owner: SessionOwner | undefined;
  readonly #access: SessionAccess;
  readonly #interpreter: SessionInterpreter;
  #closed: Promise<void> | undefined;

  /** @internal */
  constructor(access: SessionAccess, owner?: SessionOwner) {
    const { core } = access;
    const interpreter = new SessionInterpreter(access);
    super(core, new Workspace(core.files, core.tenant, access.storage), interpreter);
    this.#persistence = access.persistence;
    this.#owner = owner;
    this.#access = access;
    this.#interpreter = interpreter;
    access.onGone = () => void this.close().catch(() => {});
  }

  /** A session with these parts and states, which is not saved yet if it is new. @internal */
  static of(parts: SandboxParts, persistence: SessionPersistence, owner?: SessionOwner): Session {
    return new Session(new SessionAccess(persistence, new SandboxCore(parts), owner?.leaseWaitMs), owner);
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
    this.core.events.session('session.open', this.session_id, { calls: this.#persistence.record.calls });
  }

  /** The name of the session. Pass it to `createSandbox` to open the session again. */
  override get session_id(): string {
    return this.#persistence.record.session_id;
  }

  /** The record of the session: calls, fuel, imports and limits. */
  get session(): SessionRecord {
    return this.#persistence.record;
  }

  /** The facts as they are stored, if processes share the session. @internal */
  async committedRecord(): Promise<SessionRecord> {
    return this.#access.read(async (committed) => (committed ?? this.#persistence).record);
  }

  /**
   * Returns the program that is waiting for answers to tool calls, or undefined if there is none. While a program is paused,
   * `execute` throws `execution_paused`. While a resume is in progress, this method returns the state that was saved
   * before the program continued. Wait for the result of that resume instead of using the `execution_id`.
   */
  async paused(): Promise<PausedExecution | undefined> {
    this.checkOpen();
    return this.#access.read(async (committed) => (committed ?? this.#persistence).state.paused);
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
        if (waitsForTools && options.tools === undefined && !this.capabilities.tools) throw toolsRequired();
        if (paused.pending.some(({ name }) => name === NETWORK_CALLS.request) && !this.policy.network)
          throw networkRequired();
        return await this.continueCall(options, started, resumption);
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
      await this.#persistence.syncExternalEdits(this.#access.files);
      const made = this.#persistence.checkpoint(name);
      this.core.events.session('session.checkpoint', this.session_id, { checkpoint: made.name });
      return made;
    });
  }

  /** Returns the checkpoints of the session, oldest first. */
  async checkpoints(): Promise<CheckpointInfo[]> {
    this.checkOpen();
    return this.#access.read(async (committed) =>
      committed
        ? [...committed.checkpoints]
        : this.#access.inTurn(async () => this.#persistence.checkpoints()),
    );
  }

  /** Deletes a checkpoint. Throws `checkpoint_not_found` if it does not exist. */
  async deleteCheckpoint(name: string): Promise<void> {
    return this.#access.change(async () => this.#persistence.deleteCheckpoint(name));
  }

  /**
   * Restores a checkpoint. Without a name, restores the state before the last call. Throws `checkpoint_not_found` if the
   * checkpoint does not exist, or `nothing_to_undo` if there is no call to undo.
   */
  async rollback(name?: string): Promise<void> {
    return this.#access.change(async () => {
      await this.#persistence.rollback(name);
      this.#access.loadFiles();
      const fields = name === undefined ? {} : { checkpoint: name };
      this.core.events.session('session.rollback', this.session_id, fields);
    });
  }

  /** Restores the state before the last call. Throws `nothing_to_undo` if there is no call to undo. */
  async undo(): Promise<void> {
    return this.rollback();
  }

  /** Gives the session a new interpreter and an empty /tmp. Its files and checkpoints are kept. @internal */
  async restart(): Promise<void> {
    return this.#access.change(async () => {
      await this.#persistence.syncExternalEdits(this.#access.files);
      this.#persistence.restart();
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
        await this.#persistence.syncExternalEdits(this.#access.files);
        const persistence = await this.#persistence.fork(newId, checkpoint);
        this.core.events.session('session.fork', newId, { forked_from: this.session_id });
        const { parts, images } = this.core;
        const network = parts.network?.forFork();
        const fork = Session.of({ ...parts, network, image: images.current }, persistence, this.#owner);
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
    return this.#access.read((committed) => this.#interpreter.inspect(program, committed));
  }

  /** Saves a new session (see SessionAccess.open). @internal */
  openStates(): Promise<void> {
    return this.#access.open();
  }

  /** Waits until the session is saved. Throws the error of the store, such as `store_failed`, if a save has failed. */
  async flush(): Promise<void> {
    // A session is saved before its lease is released.
    if (this.#access.isReleased) return this.#persistence.reportFailure();
    await this.#access.inOrder(() => this.#persistence.flush());
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
    this.core.events.session('session.close', this.session_id);
  }

  /**
   * Closes the session. If a failed save was already reported, its error is not thrown again, because it would hide any
   * error that was thrown in the `await using` block.
   */
  override async [Symbol.asyncDispose](): Promise<void> {
    const wasReported = this.#persistence.hasReportedFailure;
    try {
      await this.close();
    } catch (cause) {
      if (!wasReported) throw cause;
    }
  }

  /**
   * Runs calls of this session with the files of another sandbox (see Workspace.borrow). If the session has the files itself,
   * the calls only run one after another.
   * @internal
   */
  async withFilesOf<T>(
    owner: () => Sandbox | Promise<Sandbox>,
    work: () => Promise<T>,
    maxWaiting?: number,
  ): Promise<T> {
    return this.workspace.borrow(async () => (await owner()).workspace, work, maxWaiting);
  }
}
