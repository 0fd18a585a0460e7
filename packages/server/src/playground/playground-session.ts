/**
 * A session as the playground uses it: one program at a time, every step on the timeline, and a checkpoint after each step
 * that changes the state, so that the page can return to it or branch from it. Old automatic checkpoints are deleted.
 */

import { randomBytes } from 'node:crypto';
import type {
  DisplayResult,
  ExecuteOptions,
  Execution,
  LanguageName,
  PausedExecution,
  Resolution,
  Session,
  Toolset,
} from '@llm-wasm-sandbox/core/internal';
import { additionText, formatItems, SandboxError, shownCall } from '@llm-wasm-sandbox/core/internal';
import type { ServerState } from '../server/server-state.ts';
import type { Tenant } from '../server/tenant.ts';
import type { SavedTimeline } from './saved-timeline.ts';
import { MAX_LABEL_CHARS, stepLabel, stepStatus } from './step-label.ts';
import { Timeline, type TimelineNode } from './timeline.ts';
import { TimelineSaver } from './timeline-saver.ts';

/** Automatic checkpoints of one session. A session can have 32 checkpoints in total. */
const MAX_AUTOMATIC = 20;
/** The names that `#checkpointStep` gives. Checkpoints of other clients may also begin with "step-". */
const AUTOMATIC = /^step-\d+-[0-9a-f]{8}$/;

interface ProgramRequest {
  readonly code: string;
  readonly language: LanguageName;
  readonly fuel_budget?: number | undefined;
}

type RunCallbacks = Pick<ExecuteOptions, 'signal' | 'onStdout' | 'onStderr' | 'onProgress' | 'onPackages'>;

/** Starts a program or continues one. */
type Execute = (
  options: RunCallbacks,
  tools: Toolset | undefined,
  onResult: (result: DisplayResult) => void,
) => Execution;

/** The server and the tenant of a session. */
interface SessionHost {
  readonly state: ServerState;
  readonly tenant: Tenant;
}

export class PlaygroundSession {
  readonly timeline = new Timeline();
  #running: { readonly id: number; readonly controller: AbortController } | undefined;
  /** Steps that change the state outside a program, such as a rollback, are in progress. */
  #isChanging = false;
  #knownCalls = 0;
  lastUsedMs = Date.now();

  readonly #saver: TimelineSaver;

  private constructor(
    readonly session: Session,
    readonly host: SessionHost,
  ) {
    this.#saver = new TimelineSaver(host.tenant.timelines, session, (cause) => host.state.clientError(cause));
  }

  /** Opens the timeline of a session: the saved one, or a new one that begins with the checkpoints of the session. */
  static async open(session: Session, host: SessionHost, origin?: string): Promise<PlaygroundSession> {
    const opened = new PlaygroundSession(session, host);
    const saved = await opened.#saver.load();
    if (saved === undefined) await opened.#start(origin);
    else await opened.#continue(saved);
    return opened;
  }

  /** Continues a saved timeline, and corrects what has changed since it was saved. */
  async #continue({ calls, head, nodes, details }: SavedTimeline): Promise<void> {
    const { session, timeline } = this;
    this.#knownCalls = calls;
    timeline.restore(head, nodes, details);
    const paused = await session.paused();
    const checkpoints = new Set((await session.checkpoints()).map(({ name }) => name));
    for (const { id, status, checkpoint } of nodes) {
      const isOver = status === 'running' || (status === 'paused' && paused === undefined);
      if (isOver) timeline.update(id, { status: 'stopped' });
      if (checkpoint !== undefined && !checkpoints.has(checkpoint))
        timeline.update(id, { checkpoint: undefined });
    }
    const known = new Set(nodes.map(({ checkpoint }) => checkpoint));
    this.#addCheckpoints(
      nodes[0]!.id,
      // Other automatic ones belong to steps of a server that has not saved its timeline yet.
      [...checkpoints].filter((name) => !known.has(name) && !AUTOMATIC.test(name)),
    );
    if (paused !== undefined && !nodes.some(({ status }) => status === 'paused')) this.#addPaused(paused);
  }

  #addCheckpoints(parent: number, names: readonly string[]): void {
    for (const name of names)
      this.timeline.add(
        { kind: 'checkpoint', label: name, status: 'ok', checkpoint: name },
        { parent, movesHead: false },
      );
  }

  #addPaused({ code, language }: PausedExecution): void {
    const { id } = this.timeline.add({ kind: 'call', label: stepLabel(code), status: 'paused', language });
    this.timeline.begin(id, code);
  }

  /** Saves the timeline, if the server stores timelines. */
  save(): Promise<void> {
    return this.#saver.save(this.timeline, () => this.#knownCalls);
  }

  async #start(origin: string | undefined): Promise<void> {
    const { session, timeline } = this;
    const { calls } = session.session;
    this.#knownCalls = calls;
    const paused = await session.paused();
    const checkpoints = await session.checkpoints();
    const label =
      origin ?? (calls === 0 ? 'New session' : `Session with ${formatItems(calls, 'earlier call')}`);
    const start = timeline.add({ kind: 'start', label, status: 'ok' });
    for (const { name } of checkpoints)
      timeline.add(
        { kind: 'checkpoint', label: name, status: 'ok', checkpoint: name },
        { parent: start.id, movesHead: false },
      );
    if (paused === undefined) await this.#checkpointStep(start.id);
    else this.#addPaused(paused);
  }

  get isIdle(): boolean {
    return this.#running === undefined && !this.#isChanging;
  }

  /** What a page shows. Its steps are stored, so that a page of another server also shows them. */
  async snapshot() {
    const { session, timeline } = this;
    const paused = await this.refresh();
    await this.#saver.idle();
    const { session_id, calls } = session.session;
    const { nodes, head } = timeline;
    const shown = paused && { ...paused, pending: paused.pending.map(shownCall) };
    return { session_id, runtime: session.runtime, calls, nodes, head, paused: shown };
  }

  /**
   * Adds what other clients have done since the last step of this timeline. Must be called before every step. Returns the
   * paused program of the session, unless one is running here.
   */
  async refresh(): Promise<PausedExecution | undefined> {
    if (!this.isIdle) return undefined;
    const paused = await this.session.paused();
    if (this.isIdle) await this.#noteOtherCalls();
    return paused;
  }

  /** Continues with the timeline that another server has saved, and adds a step for calls that no timeline contains. */
  async #noteOtherCalls(): Promise<void> {
    const known = this.#knownCalls;
    const { calls } = this.session.session;
    this.#knownCalls = calls;
    if (calls <= known) return;
    const saved = await this.#saver.load();
    const isNewer = saved !== undefined && saved.calls > known && this.isIdle;
    if (isNewer) await this.#continue(saved);
    this.#knownCalls = calls;
    const others = calls - (isNewer ? saved.calls : known);
    if (others <= 0) return;
    const label = `${formatItems(others, 'call')} from another client`;
    const { id } = this.timeline.add({ kind: 'call', label, status: 'ok' });
    await this.#checkpointStep(id);
    void this.save();
  }

  /** Starts a program. The step is returned at once; the timeline reports the rest. */
  run({ code, language, fuel_budget }: ProgramRequest): TimelineNode {
    this.#checkIdle();
    const node = this.timeline.add({ kind: 'call', label: stepLabel(code), status: 'running', language });
    this.timeline.begin(node.id, code);
    const failed = () => 'failed' as const;
    this.#launch(node.id, failed, (options, tools, onResult) =>
      this.session.execute(code, {
        ...options,
        language,
        profile: true,
        onResult,
        ...(tools !== undefined && { tools }),
        ...(fuel_budget !== undefined && { fuel_budget }),
      }),
    );
    return node;
  }

  /** Continues the paused program with answers to its tool calls. */
  resume(execution_id: string, resolutions: readonly Resolution[]): TimelineNode {
    const { fuel_budget, timeout_seconds } = this.host.tenant.maximums;
    this.#checkIdle();
    const paused = this.timeline.nodes.findLast(({ status }) => status === 'paused');
    if (paused === undefined)
      throw new SandboxError('execution_not_found', 'No program of this session is paused.');
    const node = this.timeline.update(paused.id, { status: 'running' })!;
    const stays = () => (this.session.session.paused === undefined ? 'failed' : 'paused');
    this.#launch(node.id, stays, (options, tools, onResult) =>
      this.session.resume(execution_id, {
        ...options,
        fuel_budget,
        timeout_seconds,
        resolutions,
        onResult,
        ...(tools !== undefined && { tools }),
      }),
    );
    return node;
  }

  /** Stops the running program. Returns whether there was one. */
  stop(): boolean {
    this.#running?.controller.abort();
    return this.#running !== undefined;
  }

  /** `failedStatus` is the status of the step if the program could not be started. */
  #launch(id: number, failedStatus: () => TimelineNode['status'], execute: Execute): void {
    const controller = new AbortController();
    this.#running = { id, controller };
    void this.#execute(id, controller.signal, execute)
      .catch((cause: unknown) => {
        // The program did not run: the session is busy, or the server is overloaded or shutting down.
        this.timeline.finish(id, { outcome: undefined, error: this.host.state.clientError(cause) });
        this.timeline.update(id, { status: failedStatus(), checkpoint: this.#parentCheckpoint(id) });
      })
      .finally(() => {
        this.#running = undefined;
        this.timeline.emit({ type: 'files' });
        void this.save();
      });
  }

  async #execute(id: number, abort: AbortSignal, execute: Execute): Promise<void> {
    const { timeline } = this;
    using active = this.host.tenant.calls.begin(this.session.session_id, abort);
    const { signal } = active;
    const tools = await this.host.state.gateway?.toolset();
    const note = (text: string) => timeline.addOutput(id, 'stderr', `${text}\n`);
    const options = {
      signal,
      onStdout: (text: string) => timeline.addOutput(id, 'stdout', text),
      onStderr: (text: string) => timeline.addOutput(id, 'stderr', text),
      onProgress: (progress: { fuel_consumed: number; fuel_budget: number }) =>
        timeline.emit({ type: 'progress', id, ...progress }),
      onPackages: (packages: readonly { readonly name: string }[]) => {
        note(`Adding ${packages.map(({ name }) => name).join(', ')} …`);
        return true;
      },
    };
    const result = await execute(options, tools, (display) => timeline.addResult(id, display));
    this.#knownCalls = this.session.session.calls;
    for (const addition of result.metadata.packages_added ?? []) note(additionText(addition));
    const { stdout, stderr, results, ...outcome } = result;
    const shown = new Set(timeline.detail(id)?.results.map((display) => display.id));
    for (const display of results) if (!shown.has(display.id)) timeline.addResult(id, display);
    // Complete stacks are large, and the page shows lines only.
    const { fuel_profile, pending } = outcome.metadata;
    if (fuel_profile !== undefined) delete fuel_profile.stacks;
    if (pending !== undefined) outcome.metadata.pending = pending.map(shownCall);
    timeline.finish(id, { outcome, error: undefined });
    const { state } = result.metadata;
    timeline.update(id, {
      status: stepStatus(result),
      fuel_consumed: result.fuel_consumed,
      duration_ms: result.duration_ms,
      ...(state === 'rolled_back' && { checkpoint: this.#parentCheckpoint(id) }),
    });
    if (state === 'committed') await this.#checkpointStep(id);
  }

  #parentCheckpoint(id: number): string | undefined {
    const { parent } = this.timeline.node(id) ?? {};
    return typeof parent === 'number' ? this.timeline.node(parent)?.checkpoint : undefined;
  }

  /** Saves the current state under a name. */
  async checkpoint(name: string | undefined): Promise<TimelineNode> {
    return this.#change(async () => {
      const made = await this.session.checkpoint(name ?? (await this.#freeName()));
      return this.timeline.add({
        kind: 'checkpoint',
        label: made.name,
        status: 'ok',
        checkpoint: made.name,
      });
    });
  }

  /** The first free name of the form `checkpoint-1`. */
  async #freeName(): Promise<string> {
    const taken = new Set((await this.session.checkpoints()).map(({ name }) => name));
    let number = 1;
    while (taken.has(`checkpoint-${number}`)) number++;
    return `checkpoint-${number}`;
  }

  /** Returns to the state after a step. The later steps stay on the timeline. */
  async rollback(id: number): Promise<TimelineNode> {
    return this.#change(async () => {
      const target = this.#withState(id);
      await this.session.rollback(target.checkpoint);
      const { checkpoint, label } = target;
      for (const node of this.timeline.nodes)
        if (node.status === 'paused') this.timeline.update(node.id, { status: 'stopped' });
      const node = this.timeline.add(
        { kind: 'rollback', label: `Rolled back to: ${label}`, status: 'ok', checkpoint },
        { parent: id },
      );
      this.timeline.emit({ type: 'files' });
      return node;
    });
  }

  /** Creates another session from the state after a step. */
  async fork(id: number, newId: string): Promise<{ readonly node: TimelineNode; readonly fork: Session }> {
    return this.#change(async () => {
      const { checkpoint } = this.#withState(id);
      const fork = await this.session.fork(newId, { checkpoint: checkpoint! });
      const node = this.timeline.add(
        { kind: 'fork', label: `Branch ${newId}`, status: 'ok', forked_session: newId },
        { parent: id, movesHead: false },
      );
      return { node, fork };
    });
  }

  async writeFile(path: string, bytes: Uint8Array): Promise<void> {
    await this.#changeFiles(`Uploaded ${path}`, () => this.session.writeFile(path, bytes));
  }

  async deleteFile(path: string): Promise<void> {
    await this.#changeFiles(`Deleted ${path}`, () => this.session.deleteFile(path));
  }

  async #changeFiles(label: string, work: () => Promise<void>): Promise<void> {
    await this.#change(async () => {
      await work();
      const { id } = this.timeline.add({
        kind: 'files',
        label: label.slice(0, MAX_LABEL_CHARS),
        status: 'ok',
      });
      await this.#checkpointStep(id);
      this.timeline.emit({ type: 'files' });
    });
  }

  #withState(id: number): TimelineNode {
    const node = this.timeline.node(id);
    if (node === undefined) throw new SandboxError('invalid_argument', `node: there is no step ${id}.`);
    if (node.checkpoint !== undefined) return node;
    throw new SandboxError(
      'checkpoint_not_found',
      `The state after step ${id} is no longer available. Choose a later step.`,
    );
  }

  async #change<T>(work: () => Promise<T>): Promise<T> {
    this.#checkIdle();
    this.#isChanging = true;
    try {
      return await work();
    } finally {
      this.#isChanging = false;
      void this.save();
    }
  }

  #checkIdle(): void {
    if (this.isIdle) return;
    throw new SandboxError(
      'invalid_argument',
      'The session is busy: a program is running or a change is in progress. Wait until it has ended, or stop the program.',
    );
  }

  /** Makes an automatic checkpoint of the current state for a step, and deletes the oldest ones that exceed the limit. */
  async #checkpointStep(id: number): Promise<void> {
    const name = `step-${id}-${randomBytes(4).toString('hex')}`;
    await this.#deleteAutomatic(MAX_AUTOMATIC - 1);
    try {
      await this.session.checkpoint(name);
    } catch (cause) {
      if (!(cause instanceof SandboxError) || cause.code !== 'session_limit') throw cause;
      // The states are large: the session keeps only the most recent one, or none.
      await this.#deleteAutomatic(0);
      try {
        await this.session.checkpoint(name);
      } catch (again) {
        if (!(again instanceof SandboxError) || again.code !== 'session_limit') throw again;
        return;
      }
    }
    this.timeline.update(id, { checkpoint: name });
  }

  async #deleteAutomatic(keep: number): Promise<void> {
    const names = (await this.session.checkpoints())
      .map(({ name }) => name)
      .filter((name) => AUTOMATIC.test(name));
    for (const name of names.slice(0, Math.max(0, names.length - keep))) {
      await this.session.deleteCheckpoint(name);
      for (const node of this.timeline.nodes)
        if (node.checkpoint === name) this.timeline.update(node.id, { checkpoint: undefined });
    }
  }
}
