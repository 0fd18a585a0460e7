/**
 * The threads that run guests, and who gets one next. Jobs of one key run one at a time and in order; keys take turns,
 * so a caller with a thousand jobs delays another by at most one of them. A worker that dies is replaced, and only the
 * job it had is lost. Idle workers never keep the process alive.
 */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { type ErrorCode, SandboxError } from '../errors.ts';
import type { BuiltGuest, GuestAssets } from '../runtimes/assets.ts';
import {
  CONTROL,
  type ExtendedImage,
  type FromWorker,
  type Job,
  type RunOutcome,
  type SavedState,
  SPENT_UNIT,
  type ToWorker,
} from './protocol.ts';

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

/** Stack of a worker: recursion inside the interpreters' C code needs more than the default. */
const STACK_MB = 64;
/** How much longer than its own limit a worker gets before it counts as lost, and after a cancellation. */
const GRACE_MS = 5_000;
/** How often a run's use of fuel is looked at, for those who want to know. */
const LOOK_MS = 100;
/** How long unused workers are kept. */
const IDLE_MS = 30_000;
/** Images a worker holds at most: each takes the memory of a guest that waits for its next run. */
const IMAGES_PER_WORKER = 4;

class PoolWorker {
  readonly thread: Worker;
  readonly control = new Int32Array(new SharedArrayBuffer(CONTROL.words * 4));
  /** Images it holds, those used longest ago first. */
  readonly loaded = new Set<string>();
  current: Pending | undefined;
  idleSince = performance.now();

  constructor() {
    const options = {
      workerData: { control: this.control.buffer },
      resourceLimits: { stackSizeMb: STACK_MB },
      // Neither the flags nor the environment of the process are any business of a guest's thread.
      execArgv: [],
      env: {},
    };
    this.thread = new Worker(new URL('./entry.js', import.meta.url), options);
    this.thread.unref();
  }
}

const spentBy = ({ control }: PoolWorker) => Atomics.load(control, CONTROL.spentMillions) * SPENT_UNIT;

export class WorkerPool {
  readonly #workers = new Set<PoolWorker>();
  /** Waiting jobs by key; the map's order is the order of turns. */
  readonly #queues = new Map<string, (Pending | Turn)[]>();
  readonly #running = new Set<string>();
  /** The worker that last served a sticky key. */
  readonly #homes = new Map<string, PoolWorker>();
  #nextId = 1;
  #reaper: NodeJS.Timeout | undefined;

  constructor(readonly size = availableParallelism()) {}

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
    await Promise.all([...this.#workers].map(({ thread }) => thread.terminate()));
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
    const worker = new PoolWorker();
    this.#workers.add(worker);
    // Whatever takes a thread down, `exit` follows; the error itself says nothing the outcome does not.
    worker.thread.on('error', () => {});
    worker.thread.on('exit', () => {
      this.#workers.delete(worker);
      for (const [key, home] of this.#homes) if (home === worker) this.#homes.delete(key);
      worker.current?.resolve({ type: 'lost' });
      worker.current = undefined;
    });
    this.#reaper ??= setInterval(() => this.#reap(), IDLE_MS).unref();
    return worker;
  }

  #reap(): void {
    const before = performance.now() - IDLE_MS;
    for (const worker of this.#workers) {
      if (worker.current === undefined && worker.idleSince < before) void worker.thread.terminate();
    }
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
    pending.onStart?.();
    const send = (message: ToWorker) => worker.thread.postMessage(message);
    const ready = async () => {
      const { job, assets } = await pending.prepare();
      if (assets !== undefined) this.#load(worker, assets);
      send({ type: 'job', id, job });
    };
    ready().catch((cause: unknown) => worker.current?.reject(cause));
  }

  /** Sees to it that a worker has an image, and no more of them than it may hold. */
  #load(worker: PoolWorker, assets: GuestAssets): void {
    const send = (message: ToWorker) => worker.thread.postMessage(message);
    if (!worker.loaded.delete(assets.id)) send({ type: 'load', assets });
    worker.loaded.add(assets.id);
    if (worker.loaded.size <= IMAGES_PER_WORKER) return;
    const oldest: string = worker.loaded.values().next().value!;
    worker.loaded.delete(oldest);
    send({ type: 'unload', image: oldest });
  }

  /** Listens for the end of a job, whichever way it comes, and frees the worker exactly once. */
  #attach(worker: PoolWorker, pending: Pending, id: number): void {
    let watchdog = setTimeout(takeDown, pending.limitMs + GRACE_MS);
    const abort = () => {
      Atomics.store(worker.control, CONTROL.cancelledJob, id);
      Atomics.notify(worker.control, CONTROL.cancelledJob);
      clearTimeout(watchdog);
      watchdog = setTimeout(takeDown, GRACE_MS);
    };
    function takeDown() {
      void worker.thread.terminate();
    }
    Atomics.store(worker.control, CONTROL.spentMillions, 0);
    const look = pending.onSpent && setInterval(() => pending.onSpent!(spentBy(worker)), LOOK_MS);
    let isAnswered = false;
    const end = () => {
      clearTimeout(watchdog);
      clearInterval(look);
      pending.signal?.removeEventListener('abort', abort);
      worker.thread.off('message', onMessage);
      worker.thread.unref();
      worker.current = undefined;
      worker.idleSince = performance.now();
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
    worker.current = {
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
    };
    this.#running.add(pending.key);
    worker.thread.on('message', onMessage);
    worker.thread.ref();
    pending.signal?.addEventListener('abort', abort, { once: true });
  }
}
