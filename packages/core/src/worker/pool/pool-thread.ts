/**
 * One thread of the pool as the main thread sees it: the images it has loaded, the job it runs, and for how long. Whether
 * a program is long-running is known without asking its thread, so it costs the guest nothing.
 */
import type { CancelSignal } from '../../concurrency/cancellation.ts';
import { inSlices } from '../../concurrency/slices.ts';
import { SandboxError } from '../../errors.ts';
import type { GuestAssets } from '../../runtimes/artifacts/guest-artifacts.ts';
import { outcomeWithinQuota, stateWithinQuota } from '../isolation/isolation-limits.ts';
import {
  type FromWorker,
  type HostAnswer,
  MAX_CACHED_GUESTS,
  type PackedRunJob,
  type RunJob,
  type UnsentJob,
  type UnsentRunJob,
} from '../protocol/messages.ts';
import { packJob } from '../protocol/packed-messages.ts';
import type { SentAssets } from '../protocol/prepare-ahead.ts';
import { LONG_RUN_FUEL } from '../protocol/run-clock.ts';
import { SentTrees, type TreeUpdate } from '../protocol/tree-updates.ts';
import { ActiveJob, type JobHandle, type JobObserver, type UnpackedMessage } from './job-handle.ts';
import { JobWatchdog, WatchdogTimer } from './job-watchdog.ts';
import { isAnswer } from './thread-host.ts';
import type { WorkerHost, WorkerThread } from './worker-host.ts';

/** Maximum number of images per thread; each takes the memory of a guest that waits for its next run. */
const IMAGES_PER_THREAD = 4;
/** A job that has run for this long is not expected to end soon. */
const LONG_MS = 1_000;

export interface JobOptions {
  /** Time limit that the worker itself enforces. */
  readonly limitMs: number;
  readonly signal?: CancelSignal | undefined;
  readonly observer?: JobObserver;
}

export class PoolThread {
  readonly #thread: WorkerThread;
  /** Images it holds, least recently used first. */
  readonly #loaded = new Set<string>();
  readonly #trees = new SentTrees();
  /**
   * Versions of the guests that the thread has cached, by session. A job takes the guest of its session from the cache, and
   * the message that a state was saved says which guests are in the cache afterwards.
   */
  readonly #guests = new Map<string, number>();
  /** The session of the current job, if the state that it saves is that of the next call. */
  #session: { readonly id: string; readonly version: number } | undefined;
  /** The workspace of the current job, if it was sent. */
  #workspace: TreeUpdate | undefined;
  /** The current job, if it is a run. */
  #run: UnsentRunJob | undefined;
  /** What waits until the files of an earlier message are unpacked. Undefined if nothing is being unpacked. */
  #waiting: (() => void)[] | undefined;
  readonly #optimizing = new Map<string, (programs: number) => void>();
  #isReserved = false;
  #isAlive = true;
  #lastJobId = 0;
  #job: ActiveJob | undefined;
  #watchdog: JobWatchdog | undefined;
  readonly #watchdogTimer = new WatchdogTimer();
  /** Removes the listener from the signal of the job. */
  #stopListening: (() => void) | undefined;
  /** When the current job started, or the last one ended. */
  #since = performance.now();

  constructor(host: WorkerHost, onExit: (thread: PoolThread) => void) {
    this.#thread = host.start({
      message: (message) => this.#inOrder(() => this.#receive(message)),
      exit: () => {
        this.#isAlive = false;
        onExit(this);
        this.#inOrder(() => {
          this.#job?.lose();
          this.#end();
        });
      },
    });
  }

  /** Whether it can run jobs: it has not ended and is not being terminated. */
  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** Free for the next job: neither running one nor reserved for one. */
  get isFree(): boolean {
    return !this.#isReserved;
  }

  get isUsable(): boolean {
    return this.#isAlive && this.isFree;
  }

  get isBusy(): boolean {
    return this.#job !== undefined;
  }

  /** Whether its job is likely to run until a limit ends it. */
  get isHeld(): boolean {
    return (
      this.isBusy && (this.#thread.fuelSpent >= LONG_RUN_FUEL || performance.now() - this.#since >= LONG_MS)
    );
  }

  isIdleSince(moment: number): boolean {
    return this.isFree && this.#since < moment;
  }

  reserve(): void {
    this.#isReserved = true;
  }

  free(): void {
    this.#isReserved = false;
    this.#since = performance.now();
  }

  /** Loads an image unless the thread has it, and unloads the least recently used one beyond the maximum. */
  load(assets: SentAssets): void {
    if (!this.#loaded.delete(assets.id)) this.#thread.send({ type: 'load', assets });
    this.#loaded.add(assets.id);
    if (this.#loaded.size <= IMAGES_PER_THREAD) return;
    const oldest: string = this.#loaded.values().next().value!;
    this.#loaded.delete(oldest);
    this.#thread.send({ type: 'unload', image: oldest });
  }

  /** Loads an image and prepares a guest before a job asks for one. */
  warm(assets: SentAssets, memoryBytes: number): void {
    this.load(assets);
    this.#thread.send({ type: 'warm', image: assets.id, memoryBytes });
  }

  /**
   * Requests that the thread run the optimisation programs of an image while it is idle (see idle-optimization.ts). Resolves
   * when they have ended, with the number of completed programs. Does not resolve if the thread ends first.
   */
  optimize(assets: GuestAssets, memoryBytes: number): Promise<number> {
    this.load(assets);
    this.#thread.send({ type: 'optimize', image: assets.id, memoryBytes });
    return new Promise((resolve) => {
      this.#optimizing.set(assets.id, resolve);
    });
  }

  /** Discards what the thread has of a workspace. */
  forget(workspace: string): void {
    if (this.#trees.discard(workspace)) this.#thread.send({ type: 'discard', workspace });
  }

  /** Sends a job with what the thread needs to know of its workspace and session. */
  #send(id: number, unsent: UnsentJob): void {
    this.#workspace = this.#session = undefined;
    this.#run = unsent.type === 'run' ? unsent : undefined;
    if (unsent.type !== 'run') {
      this.#thread.send({ type: 'job', id, job: unsent }, unsent);
      return;
    }
    const { session } = unsent;
    if (session !== undefined && !session.discardState) {
      const isCached = this.#guests.get(session.id) === session.version;
      this.#guests.delete(session.id);
      this.#session = session;
      // Edits can require that the guest be restored.
      if (isCached && session.edits.removed.length + session.edits.entries.length === 0) {
        const live = { ...session, delta: undefined, tmp: [] };
        this.#sendRun(id, { ...unsent, workspace: undefined, session: live }, unsent);
        return;
      }
    }
    const workspace = this.#trees.updateTo(unsent.workspace);
    this.#trees.recordSent(workspace, unsent.workspace.tree);
    this.#workspace = workspace;
    this.#sendRun(id, { ...unsent, workspace }, unsent);
  }

  #sendRun(id: number, run: RunJob, unsent: UnsentJob): void {
    const fail = (cause: unknown) => this.#fail(id, cause);
    const send = (job: PackedRunJob) => {
      try {
        this.#thread.send({ type: 'job', id, job }, unsent);
      } catch (cause) {
        // The job cannot be cloned.
        fail(cause);
      }
    };
    inSlices(packJob(run), send, fail);
  }

  /** The job was not sent, or its answer is invalid. */
  #fail(id: number, cause: unknown): void {
    const code = cause instanceof SandboxError ? cause.code : 'internal';
    const message = cause instanceof Error ? cause.message : String(cause);
    this.#handle({ type: 'failed', id, code, message });
  }

  /** Answers a request of the guest. An image is loaded before, and named by its id. */
  #reply(number: number, { image: found, ...others }: HostAnswer<GuestAssets>): void {
    let image: HostAnswer['image'];
    if (found === undefined || found === 'restart' || 'problem' in found) image = found;
    else {
      // The image of the call stays loaded.
      if (this.#run !== undefined && this.#loaded.delete(this.#run.image)) this.#loaded.add(this.#run.image);
      if (found.image !== undefined) this.load(found.image);
      image = { ...found, image: found.image?.id };
    }
    this.#thread.send({ type: 'answer', number, answer: { ...others, image } });
  }

  run(job: UnsentJob, { limitMs, signal, observer = {} }: JobOptions): JobHandle {
    this.#lastJobId = (this.#lastJobId % 0x7fffffff) + 1;
    const id = this.#lastJobId;
    const sentMs = performance.now();
    this.#since = sentMs;
    const active = new ActiveJob(
      id,
      observer,
      () => this.#thread.fuelSpent,
      (number, answer) => this.#reply(number, answer),
    );
    const watched = {
      limitMs,
      // Only a run can have a session to restore first.
      runningMs: () => (job.type === 'run' ? this.#thread.runningMs(id) : performance.now() - sentMs),
      terminate: () => void this.terminate(),
    };
    const watchdog = new JobWatchdog(watched, this.#watchdogTimer);
    const cancel = () => {
      this.#thread.cancel(id);
      watchdog.cancelled();
    };
    signal?.addEventListener('abort', cancel, { once: true });
    this.#job = active;
    this.#watchdog = watchdog;
    this.#stopListening = () => signal?.removeEventListener('abort', cancel);
    this.#thread.setRef(true);
    // Last, because the thread may have to wait for the core that this thread uses.
    try {
      this.#send(id, job);
    } catch (cause) {
      // The job cannot be cloned.
      this.#end();
      throw cause;
    }
    if (signal?.aborted) cancel();
    return active;
  }

  /** Handles a message, or the end of the thread, after those that came before. */
  #inOrder(handle: () => void): void {
    if (this.#waiting === undefined) handle();
    else this.#waiting.push(handle);
  }

  #receive(message: FromWorker): void {
    if (message.type === 'optimized') {
      this.#optimizing.get(message.image)?.(message.programs);
      return;
    }
    if (message.id !== this.#job?.id) return;
    if (message.type === 'done')
      this.#unpack(message.id, outcomeWithinQuota(this.#run!, message.outcome), (outcome) =>
        this.#handle({ ...message, outcome }),
      );
    else if (message.type === 'saved')
      this.#unpack(message.id, stateWithinQuota(this.#run!, message.saved), (saved) =>
        this.#handle({ ...message, saved }),
      );
    else this.#handle(message);
  }

  /** Unpacks files in slices. Messages that arrive meanwhile wait. */
  #unpack<T>(id: number, steps: Generator<unknown, T>, handle: (unpacked: T) => void): void {
    const waiting: (() => void)[] = [];
    this.#waiting = waiting;
    const end = (last: () => void) => {
      this.#waiting = undefined;
      last();
      for (const next of waiting) this.#inOrder(next);
    };
    inSlices(
      steps,
      (unpacked) => end(() => handle(unpacked)),
      // Only a process that guest code has taken over sends files that are invalid.
      (cause) => {
        void this.terminate();
        end(() => this.#fail(id, cause));
      },
    );
  }

  #handle(message: UnpackedMessage): void {
    if (message.id !== this.#job?.id) return;
    if (this.#workspace !== undefined) {
      if (message.type === 'done')
        this.#trees.recordChanges(this.#workspace, () => message.outcome.files!.after);
      if (message.type === 'failed') this.#trees.discard(this.#workspace.id);
    }
    if (message.type === 'saved' && this.#session !== undefined) {
      this.#guests.set(this.#session.id, this.#session.version + 1);
      for (const evicted of message.saved.evicted) this.#guests.delete(evicted);
      // Only a process that guest code has taken over claims to have more.
      if (this.#guests.size > MAX_CACHED_GUESTS) this.#guests.clear();
    }
    if (isAnswer(message)) {
      this.#stopListening?.();
      this.#watchdog?.answered();
    }
    if (this.#job.receive(message)) this.#end();
  }

  #end(): void {
    this.#stopListening?.();
    this.#watchdog?.stop();
    // They refer to the job, which an idle thread must not keep in memory.
    this.#job = this.#run = this.#watchdog = this.#stopListening = undefined;
    this.#since = performance.now();
    this.#thread.setRef(false);
  }

  /** Ends the thread. A running call is lost; the state of a call that was answered is saved first. */
  async close(): Promise<void> {
    this.#isAlive = false;
    if (this.#job?.isSaving) await this.#job.saved;
    await this.terminate();
  }

  /** Ends the thread immediately. */
  terminate(): Promise<void> {
    this.#isAlive = false;
    return this.#thread.terminate();
  }
}
