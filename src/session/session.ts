/**
 * A sandbox whose interpreter and files persist between calls. A call is a transaction: its memory and its files are
 * committed together, or both are as before the call.
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { type Variable, variable } from '../runtimes/language.ts';
import { LANGUAGES } from '../runtimes/languages.ts';
import { type Call, type FinishedCall, outcomeOf } from '../sandbox/call.ts';
import type { SandboxParts } from '../sandbox/create-parts.ts';
import { OutputDelivery } from '../sandbox/output-delivery.ts';
import { Sandbox } from '../sandbox/sandbox.ts';
import { stoppedByHost } from '../sandbox/to-result.ts';
import type { SessionRecord } from '../stores/store.ts';
import type { JobHandle } from '../worker/job-handle.ts';
import type { WorkerTurn } from '../worker/pool.ts';
import type { CheckpointInfo } from './checkpoint.ts';
import type { SessionTimeline } from './timeline.ts';
import { Transaction } from './transaction.ts';

/** Upper bounds for the program that lists the variables of a session. */
const INSPECTION_LIMITS = { fuel_budget: 2_000_000_000, timeout_seconds: 10 } as const;

/** The registry that a session belongs to. */
export interface SessionOwner {
  /** Reserves a place for a new session and returns a function that releases it. Throws `session_exists` or `session_limit`. */
  reserve(session_id: string): Promise<() => void>;
  /** Takes over a session that was created from one of its own. */
  adopt(session: Session): void;
  /** A session was closed. */
  closed(session: Session): void;
}

/** A sandbox with a persistent interpreter, checkpoints, undo and forks. Created by `createSandbox` or a registry. */
export class Session extends Sandbox {
  readonly #timeline: SessionTimeline;
  readonly #owner: SessionOwner | undefined;
  #closed: Promise<void> | undefined;

  /** @internal */
  constructor(parts: SandboxParts, timeline: SessionTimeline, owner?: SessionOwner) {
    super(parts);
    this.#timeline = timeline;
    this.#owner = owner;
    this.workspace.replace(timeline.state.workspace);
  }

  /** Logs that the session was opened. A fork is logged as a fork instead. @internal */
  logOpened(): void {
    this.events.session('session.open', this.session_id, { calls: this.#timeline.record.calls });
  }

  /** The name under which the session can be opened again. */
  override get session_id(): string {
    return this.#timeline.record.session_id;
  }

  /** The stored facts about the session: calls, fuel, imports, limits. */
  get session(): SessionRecord {
    return this.#timeline.record;
  }

  /** @internal */
  protected override get sessionRecord(): SessionRecord {
    return this.#timeline.record;
  }

  /** @internal */
  protected override async run(call: Call): Promise<FinishedCall> {
    const queuedAt = performance.now();
    const turn = await this.acquire(call.signal, true);
    const queueMs = performance.now() - queuedAt;
    if (turn === undefined)
      return { outcome: { ...stoppedByHost('cancelled', 0), state: 'rolled_back' }, queueMs };
    let transaction: Transaction | undefined;
    try {
      transaction = await Transaction.begin(this.#timeline, this.workspace, call.files);
      // A session always runs in the image it began in, because its memory is stored as a difference to that image.
      const job = this.start(turn, this.parts.assets, call, transaction.sessionInput(this.key));
      const outcome = await outcomeOf(job, call);
      if (outcome.trap?.reason === 'worker_lost') {
        transaction.revert();
        turn.release();
        return { outcome: { ...outcome, state: 'rolled_back' }, queueMs };
      }
      transaction.answer(outcome);
      void this.#save(turn, job, transaction);
      return { outcome, queueMs };
    } catch (cause) {
      transaction?.revert();
      turn.release();
      throw cause;
    }
  }

  /** Commits what the worker saves after its answer, and only then lets the next call of the session start. */
  async #save(turn: WorkerTurn, job: JobHandle, transaction: Transaction): Promise<void> {
    try {
      transaction.settle(await job.saved);
    } finally {
      turn.release();
    }
  }

  /** Saves the current state, memory, open files and workspace together, under a name. */
  async checkpoint(name?: string): Promise<CheckpointInfo> {
    return this.#inOrder(async () => {
      await this.#timeline.syncExternalEdits(this.workspace);
      const made = this.#timeline.checkpoint(name);
      this.events.session('session.checkpoint', this.session_id, { checkpoint: made.name });
      return made;
    });
  }

  /** The checkpoints of the session, oldest first. */
  async checkpoints(): Promise<CheckpointInfo[]> {
    return this.#inOrder(async () => this.#timeline.checkpoints());
  }

  /** Deletes a checkpoint. Throws `checkpoint_not_found`. */
  async deleteCheckpoint(name: string): Promise<void> {
    return this.#inOrder(async () => this.#timeline.deleteCheckpoint(name));
  }

  /** Restores a checkpoint; without a name, the state before the last call. Throws `checkpoint_not_found` or `nothing_to_undo`. */
  async rollback(name?: string): Promise<void> {
    return this.#inOrder(async () => {
      this.#timeline.rollback(name);
      this.workspace.replace(this.#timeline.state.workspace);
      const fields = name === undefined ? {} : { checkpoint: name };
      this.events.session('session.rollback', this.session_id, fields);
    });
  }

  /** Restores the state before the last call. Throws `nothing_to_undo`. */
  async undo(): Promise<void> {
    return this.rollback();
  }

  /** Creates another session from the current state of this one. Afterwards the two are independent. */
  async fork(newId: string = randomUUID()): Promise<Session> {
    this.checkOpen();
    const unreserve = await this.#owner?.reserve(newId);
    try {
      return await this.#inOrder(async () => {
        await this.#timeline.syncExternalEdits(this.workspace);
        const timeline = await this.#timeline.fork(newId);
        this.events.session('session.fork', newId, { forked_from: this.session_id });
        const fork = new Session(this.parts, timeline, this.#owner);
        this.#owner?.adopt(fork);
        return fork;
      });
    } finally {
      unreserve?.();
    }
  }

  /** The variables of the interpreter, read from a copy of it; nothing changes. */
  async variables(): Promise<Variable[]> {
    this.checkOpen();
    const turn = await this.acquire(this.closing.signal);
    try {
      this.checkOpen();
      if (turn === undefined) return [];
      const { version, delta, tmp } = this.#timeline.state;
      const edits = { removed: [], entries: [] };
      const part = { id: this.key, version, delta, tmp, edits, call: version + 1, discardState: true };
      const call = {
        code: LANGUAGES[this.runtime].variablesProgram(this.#timeline.record.declared),
        stdin: new Uint8Array(),
        limits: {
          fuel_budget: Math.min(INSPECTION_LIMITS.fuel_budget, this.policy.fuel_budget),
          timeout_seconds: Math.min(INSPECTION_LIMITS.timeout_seconds, this.policy.timeout_seconds),
        },
        injectSetup: true,
        signal: this.closing.signal,
        output: new OutputDelivery(),
      };
      const { report } = await outcomeOf(this.start(turn, this.parts.assets, call, part), {
        ...call,
        onProgress: undefined,
      });
      this.checkOpen();
      const parsed = z.array(variable).safeParse(report?.result);
      return parsed.success ? parsed.data : [];
    } finally {
      turn?.release();
    }
  }

  /** Waits until the session is saved. Throws if a save failed. */
  async flush(): Promise<void> {
    await this.#inOrder(() => this.#timeline.flush());
  }

  /** Saves and closes the session. Every call waits until it is closed; the first one throws if it could not be saved. */
  override close(): Promise<void> {
    if (this.#closed !== undefined) return this.#closed.catch(() => {});
    this.#closed = this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await super.close();
    const turn = await this.parts.pool.acquireKey(this.tenant, this.key);
    // After the last call of the session, whose end would record its thread again.
    this.parts.pool.forget(this.key);
    try {
      await this.#timeline.close();
    } finally {
      turn.release();
      this.#owner?.closed(this);
    }
    this.events.session('session.close', this.session_id);
  }

  /** Saves host edits without waiting for the next call. A failure is reported by the next `flush`. @internal */
  protected override workspaceChanged(): void {
    this.#inOrder(async () => this.#timeline.persist()).catch(() => {});
  }

  /** Runs host code in order with the calls of this session, on the state they left. */
  async #inOrder<T>(work: () => Promise<T>): Promise<T> {
    this.checkOpen();
    const turn = await this.parts.pool.acquireKey(this.tenant, this.key);
    try {
      this.#timeline.setWorkspace(this.workspace.snapshot());
      return await work();
    } finally {
      turn.release();
    }
  }
}
