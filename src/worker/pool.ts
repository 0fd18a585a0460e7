/**
 * The threads that run guests, and who gets one next. Jobs of one key run one at a time and in order; keys take turns,
 * so a caller with a thousand jobs delays another by at most one of them. There are as many workers as cores; where more
 * are allowed, they are started when long programs hold all others, so that nobody waits for the end of somebody else's
 * budget and the system shares the cores out. A worker that dies is replaced, and only the job it had is lost. Idle
 * workers never keep the process alive.
 */
import { availableParallelism } from 'node:os';
import { type ErrorCode, SandboxError } from '../errors.ts';
import type { BuiltGuest, GuestAssets } from '../runtimes/guest-artifacts.ts';
import { MAX_YIELD_SHARE } from './cooperative-yield.ts';
import { PoolThread } from './pool-thread.ts';
import type { ExtendedImage, FromWorker, Job, RunOutcome, SavedState } from './protocol.ts';

/** What a job comes back with. A lost worker is an outcome, not an exception: the guest may have caused it. */
export type JobResult =
  | { readonly type: 'done'; readonly outcome: RunOutcome }
  | { readonly type: 'built'; readonly guest: BuiltGuest }
  | { readonly type: 'extended'; readonly extended: ExtendedImage }
  | { readonly type: 'lost' }
  | { readonly type: 'cancelled' };

/** A job, and what a worker must have loaded for it. */
export interface PreparedJob {
  readonly job: Job;
  readonly assets?: GuestAssets;
}

export interface JobRequest {
  /** Jobs with the same key are run in order, never two at once. */
  readonly key: string;
  /** Evaluated when the job's turn comes, so that it sees what the job before it left. */
  readonly prepare: () => Promise<PreparedJob>;
  readonly signal?: AbortSignal | undefined;
  readonly onOutput?: ((stream: 1 | 2, bytes: Uint8Array) => void) | undefined;
  readonly onProgress?: (step: string) => void;
  /** Told from time to time how much fuel a run has used so far. */
  readonly onSpent?: ((fuel: number) => void) | undefined;
  readonly onStart?: () => void;
  /** Called before the next job of the key is started, which must see what this one left. */
  readonly onResult?: (result: JobResult) => void;
  /** Called when a worker has saved what a committed call left; the worker is busy until then. */
  readonly onSaved?: (saved: SavedState) => void;
  /** Called when the worker is free again, after `onSaved` if there was something to save. */
  readonly onFinished?: () => void;
  /** Jobs that a worker keeps something for go to that worker if it is free. */
  readonly sticky?: boolean;
  /** Longest the worker may take to end by itself; after it the worker is taken down. */
  readonly limitMs: number;
}

interface Pending extends JobRequest {
  readonly resolve: (result: JobResult) => void;
  readonly reject: (cause: unknown) => void;
  /** Listens for the end of the wish as long as the job waits: a signal holds its listeners, and all they know. */
  readonly withdraw: () => void;
}

/** Host code that waits for its turn among the jobs of a key. */
interface Turn {
  readonly run: () => Promise<unknown>;
}

/** How much longer than its own limit a worker gets before it counts as lost, and after a cancellation. */
const GRACE_MS = 5_000;
/** How often a run's use of fuel is looked at, for those who want to know. */
const LOOK_MS = 100;
/** How long unused workers are kept. */
const IDLE_MS = 30_000;
/** How often it is looked whether all workers are held, while any is busy. */
const RELIEF_MS = 25;
/** Images that a worker started ahead is given. */
const RECENT_IMAGES = 2;

type PoolWorker = PoolThread<Pending>;

export class WorkerPool {
  readonly #workers = new Set<PoolWorker>();
  /** Waiting jobs by key; the map's order is the order of turns. */
  readonly #queues = new Map<string, (Pending | Turn)[]>();
  readonly #running = new Set<string>();
  /** The worker that last served a sticky key. */
  readonly #homes = new Map<string, PoolWorker>();
  /** What ran last, by image, for workers that are started ahead of need. */
  readonly #recent = new Map<string, { readonly assets: GuestAssets; readonly memoryBytes: number }>();
  /** Asks long programs to stand aside; see courtesy.ts. */
  readonly #aside = new Int32Array(new SharedArrayBuffer(4));
  #most: number;
  #nextId = 1;
  #reaper: NodeJS.Timeout | undefined;
  #relief: NodeJS.Timeout | undefined;

  constructor(readonly size = availableParallelism()) {
    this.#most = size;
  }

  /**
   * Lets there be so many workers while long programs hold the others. Programs that run at the same time slow each
   * other down and their time limits do not know it, so this is for those whose callers must not wait for each other.
   */
  allow(most: number): void {
    this.#most = Math.max(this.#most, most);
  }

  /** How many workers there are at the moment. */
  get workers(): number {
    return this.#workers.size;
  }

  submit(request: JobRequest): Promise<JobResult> {
    // Nobody waits in a queue for something that is over.
    if (request.signal?.aborted) return Promise.resolve({ type: 'cancelled' });
    return new Promise((resolve, reject) => {
      const pending: Pending = { ...request, resolve, reject, withdraw: () => this.#withdraw(pending) };
      const queue = this.#queues.get(request.key);
      if (queue === undefined) this.#queues.set(request.key, [pending]);
      else queue.push(pending);
      request.signal?.addEventListener('abort', pending.withdraw, { once: true });
      this.#dispatch();
    });
  }

  /** Takes a job that has not started out of its queue. */
  #withdraw(pending: Pending): void {
    const queue = this.#queues.get(pending.key);
    const at = queue?.indexOf(pending) ?? -1;
    if (queue === undefined || at < 0) return;
    queue.splice(at, 1);
    if (queue.length === 0) this.#queues.delete(pending.key);
    pending.resolve({ type: 'cancelled' });
  }

  /** Runs host code in the key's turn: after all jobs submitted before, and before all submitted later. */
  turn<T>(key: string, work: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const waiting: Turn = { run: () => work().then(resolve, reject) };
      const queue = this.#queues.get(key);
      if (queue === undefined) this.#queues.set(key, [waiting]);
      else queue.push(waiting);
      this.#dispatch();
    });
  }

  /** Forgets where a key's jobs went. */
  release(key: string): void {
    this.#homes.delete(key);
  }

  /** Takes all workers down. Jobs under way count as lost. */
  async close(): Promise<void> {
    clearInterval(this.#reaper);
    this.#reaper = undefined;
    await Promise.all([...this.#workers].map((worker) => worker.takeDown()));
  }

  #dispatch(): void {
    for (const [key, queue] of this.#queues) {
      if (this.#running.has(key)) continue;
      const next = queue[0]!;
      const worker = 'run' in next ? undefined : this.#idleWorker(key);
      if (worker === undefined && !('run' in next)) continue;
      queue.shift();
      // Behind all others, or out of the round when nothing is left.
      this.#queues.delete(key);
      if (queue.length > 0) this.#queues.set(key, queue);
      if ('run' in next) this.#runTurn(key, next);
      else this.#start(worker!, next);
    }
  }

  #runTurn(key: string, turn: Turn): void {
    this.#running.add(key);
    void turn.run().finally(() => {
      this.#running.delete(key);
      this.#dispatch();
    });
  }

  #idleWorker(key: string): PoolWorker | undefined {
    const home = this.#homes.get(key);
    if (home !== undefined && this.#workers.has(home) && home.current === undefined) return home;
    for (const worker of this.#workers) if (worker.current === undefined) return worker;
    return this.#workers.size < this.size ? this.#spawn() : undefined;
  }

  #spawn(): PoolWorker {
    const worker: PoolWorker = new PoolThread(this.#aside);
    this.#workers.add(worker);
    // Whatever takes a thread down, `exit` follows; the error itself says nothing the outcome does not.
    worker.thread.on('error', () => {});
    worker.thread.on('exit', () => {
      this.#forget(worker);
      worker.current?.resolve({ type: 'lost' });
    });
    this.#reaper ??= setInterval(() => this.#reap(), IDLE_MS).unref();
    return worker;
  }

  #forget(worker: PoolWorker): void {
    this.#workers.delete(worker);
    for (const [key, home] of this.#homes) if (home === worker) this.#homes.delete(key);
  }

  #reap(): void {
    const before = performance.now() - IDLE_MS;
    for (const worker of this.#workers) {
      if (!worker.isIdleSince(before)) continue;
      // At once, and not when it has ended: no job may be given to it any more.
      this.#forget(worker);
      void worker.takeDown();
    }
  }

  /** Long programs stand aside while there is a short one and not a core for everybody. */
  #arbitrate(): void {
    const busy = [...this.#workers].filter(({ current }) => current !== undefined);
    const isAsked = busy.length > this.size && busy.some(({ isHeld }) => !isHeld);
    if (Atomics.exchange(this.#aside, 0, isAsked ? 1 : 0) === 1 && !isAsked) Atomics.notify(this.#aside, 0);
  }

  /** When every worker is held by a long program, starts others: for those who wait, and for the next to come. */
  #relieve(): void {
    this.#arbitrate();
    const all = [...this.#workers];
    if (!all.some(({ current }) => current !== undefined)) {
      clearInterval(this.#relief);
      this.#relief = undefined;
      return;
    }
    if (all.length < this.size || all.length >= this.#most || !all.every(({ isHeld }) => isHeld)) return;
    const waiting = [...this.#queues.keys()].filter((key) => !this.#running.has(key)).length;
    const count = Math.min(this.#most - all.length, waiting + 1);
    for (let i = 0; i < count; i++) this.#warm(this.#spawn());
    this.#dispatch();
  }

  /** Has a new worker make ready what others were last asked for, so that its first job finds it done. */
  #warm(worker: PoolWorker): void {
    for (const { assets, memoryBytes } of this.#recent.values()) {
      worker.load(assets);
      worker.send({ type: 'warm', image: assets.id, memoryBytes });
    }
  }

  #remember(assets: GuestAssets, memoryBytes: number): void {
    this.#recent.delete(assets.id);
    this.#recent.set(assets.id, { assets, memoryBytes });
    if (this.#recent.size > RECENT_IMAGES) this.#recent.delete(this.#recent.keys().next().value!);
  }

  #start(worker: PoolWorker, pending: Pending): void {
    pending.signal?.removeEventListener('abort', pending.withdraw);
    if (pending.signal?.aborted) {
      pending.resolve({ type: 'cancelled' });
      this.#dispatch();
      return;
    }
    const id = this.#nextId;
    this.#nextId = (this.#nextId % 0x7fffffff) + 1;
    this.#attach(worker, pending, id);
    if (this.#most > this.size) this.#relief ??= setInterval(() => this.#relieve(), RELIEF_MS).unref();
    pending.onStart?.();
    const ready = async () => {
      const { job, assets } = await pending.prepare();
      if (assets !== undefined) worker.load(assets);
      if (assets !== undefined && job.type === 'run') this.#remember(assets, job.limits.memoryBytes);
      worker.send({ type: 'job', id, job });
    };
    ready().catch((cause: unknown) => worker.current?.reject(cause));
  }

  /** Listens for the end of a job, whichever way it comes, and frees the worker exactly once. */
  #attach(worker: PoolWorker, pending: Pending, id: number): void {
    let watchdog = setTimeout(takeDown, pending.limitMs * (1 + MAX_YIELD_SHARE) + GRACE_MS);
    const abort = () => {
      worker.cancel(id);
      clearTimeout(watchdog);
      watchdog = setTimeout(takeDown, GRACE_MS);
    };
    function takeDown() {
      void worker.takeDown();
    }
    const look = pending.onSpent && setInterval(() => pending.onSpent!(worker.spent), LOOK_MS);
    let isAnswered = false;
    const end = () => {
      clearTimeout(watchdog);
      clearInterval(look);
      pending.signal?.removeEventListener('abort', abort);
      worker.thread.off('message', onMessage);
      worker.end();
      this.#arbitrate();
      this.#running.delete(pending.key);
      if (pending.sticky) this.#homes.set(pending.key, worker);
      pending.onFinished?.();
      this.#dispatch();
    };
    const onMessage = (message: FromWorker) => {
      if (message.id !== id) return;
      if (message.type === 'output') return pending.onOutput?.(message.stream, message.bytes);
      if (message.type === 'progress') return pending.onProgress?.(message.step);
      if (message.type === 'failed')
        worker.current?.reject(new SandboxError(message.code as ErrorCode, message.message));
      else if (message.type === 'saved') {
        pending.onSaved?.(message.saved);
        end();
      } else worker.current?.resolve(message);
    };
    worker.begin({
      ...pending,
      resolve: (result) => {
        // A committed call is answered before its state is saved; the worker is busy until then, or lost.
        if (!isAnswered) pending.onResult?.(result);
        const isSaving = !isAnswered && result.type === 'done' && result.outcome.state === 'committed';
        isAnswered = true;
        clearInterval(look);
        if (!isSaving) end();
        pending.resolve(result);
      },
      reject: (cause) => {
        end();
        pending.reject(cause);
      },
    });
    this.#arbitrate();
    this.#running.add(pending.key);
    worker.thread.on('message', onMessage);
    pending.signal?.addEventListener('abort', abort, { once: true });
  }
}
