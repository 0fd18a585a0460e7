/**
 * The worker threads, and the order in which calls use them. There are as many threads as cores. More are started while
 * long-running programs occupy all others, and those programs yield to short ones (run-clock.ts). A thread that
 * dies is replaced, and only its job is lost. Idle threads end after a while, and never keep the process alive.
 */

import { availableParallelism } from 'node:os';
import type { CancelSignal } from '../../concurrency/cancellation.ts';
import { SandboxError } from '../../errors.ts';
import type { GuestAssets } from '../../runtimes/artifacts/guest-artifacts.ts';
import { type Optimization, type PoolOptions, parse, poolOptions } from '../../schema.ts';
import { StateMemoryBudget } from '../../stores/state-memory-budget.ts';
import { IsolatedHost } from '../isolation/isolated-host.ts';
import type { UnsentJob } from '../protocol/messages.ts';
import type { SentAssets } from '../protocol/prepare-ahead.ts';
import { FairScheduler, type Turn } from './fair-scheduler.ts';
import { GuestImages } from './guest-assets.ts';
import type { JobHandle } from './job-handle.ts';
import { type JobOptions, PoolThread } from './pool-thread.ts';
import type { FirstJob } from './prepare-first-job.ts';
import { FuelAllowance, type TenantFuel } from './tenant-fuel.ts';
import { ThreadHost } from './thread-host.ts';
import type { WorkerHost } from './worker-host.ts';
import type { TurnSource, WorkerRequest, WorkerTurn } from './worker-turn.ts';

/** How long an unused thread is kept if there are more threads than cores. */
const EXTRA_IDLE_MS = 5_000;
/** The same for other threads, except the last one. */
const IDLE_MS = 30_000;
/** The last thread is kept longer: calls of one user can be minutes apart, and its optimised code is lost when it ends. */
const LAST_IDLE_MS = 600_000;
/** How often the pool checks for unused threads. */
const STOP_INTERVAL_MS = 5_000;
/** How often the pool checks whether long-running programs occupy all threads, while as many are busy as there are cores. */
const SCALE_UP_INTERVAL_MS = 25;
/** Number of images that a thread loads if it is started in advance. */
const RECENT_IMAGES = 2;

/** Threads per core by default: short programs do not wait until long-running ones end. */
export const WORKERS_PER_CORE = 4;

/** A pool of worker threads that run guest code. Several sandboxes can share it. Created by `createPool`. */
export interface Pool {
  /** Maximum number of threads. */
  readonly maxWorkers: number;
  /** Number of threads that exist now. */
  readonly workers: number;
  /** Number of calls that are running now. */
  readonly running: number;
  /** Number of calls that are waiting for a worker or for an earlier call of the same sandbox. */
  readonly queued: number;
  /** Size of the files and interpreter memory that open sessions hold in memory, in bytes. */
  readonly heldBytes: number;
  /**
   * Ends all threads. Calls that are still running end with the trap reason `worker_lost`. A session whose last call has
   * returned keeps the state after that call, but its store may not have that state yet. To wait for the store, call `flush`
   * or `close` on the session. A later call starts new threads.
   */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Creates a pool of worker threads, for the option `pool` of `createSandbox`. Throws `invalid_argument` if the options
 * are invalid.
 */
export function createPool(options: PoolOptions = {}): Pool {
  return new WorkerPool(options);
}

let shared: WorkerPool | undefined;

/** The pool of sandboxes that are created without one. The options of the first call apply. */
export function sharedPool(options: PoolOptions = {}, given?: GivenParts): WorkerPool {
  shared ??= new WorkerPool(options, given);
  return shared;
}

/** Parts of a pool that it gets instead of creating them. */
interface GivenParts {
  /** Replaces the allowance of `fuelPerMinutePerTenant`. */
  readonly fuel?: TenantFuel | undefined;
  /** Only for threads of this process. */
  readonly firstJob?: FirstJob | undefined;
}

/** The messages to a worker thread overflow the stack of Deno, whose threads then never answer. */
function refuseDeno(): void {
  if (!('deno' in process.versions)) return;
  const advice = 'Use Node.js 20.19 or newer, or Bun';
  throw new SandboxError('not_installed', `Deno cannot run the worker threads of the sandbox. ${advice}.`);
}

export class WorkerPool implements Pool, TurnSource {
  readonly maxWorkers: number;
  /** Threads the pool uses before it starts extra ones. */
  readonly #baseWorkers: number;
  readonly #threads = new Set<PoolThread>();
  /** Threads on fresh hosts. */
  readonly #builders = new Set<PoolThread>();
  readonly #scheduler: FairScheduler;
  /** The thread that last served a key with affinity. */
  readonly #affinity = new Map<string, PoolThread>();
  /** The most recently used images, for threads that are started in advance. */
  readonly #recent = new Map<string, { readonly assets: GuestAssets; readonly memoryBytes: number }>();
  readonly #host: WorkerHost;
  readonly images: GuestImages;
  /** The memory that sessions take. */
  readonly held: StateMemoryBudget;
  readonly #allowance: TenantFuel | undefined;
  readonly #optimization: Optimization;
  /**
   * The threads that run optimisation programs, by the digests of the modules. The threads of a host share the optimised
   * code.
   */
  readonly #optimizing = new Map<
    string,
    { readonly thread: PoolThread; readonly programs: Promise<number> }
  >();
  #reaper: NodeJS.Timeout | undefined;
  #scaler: NodeJS.Timeout | undefined;

  constructor(options: PoolOptions = {}, { fuel, firstJob }: GivenParts = {}) {
    refuseDeno();
    const cores = availableParallelism();
    const parsed = parse(poolOptions, options, 'options');
    const { maxWorkers, maxRunningPerTenant, maxQueuedPerTenant, expectedTenants, isolation } = parsed;
    const { maxHeldBytes: maxBytes, maxHeldBytesPerTenant: maxBytesPerTenant = maxBytes } = parsed;
    this.held = new StateMemoryBudget({ maxBytes, maxBytesPerTenant });
    this.#optimization = parsed.optimization;
    const { fuelPerMinutePerTenant } = parsed;
    this.#allowance =
      fuel ?? (fuelPerMinutePerTenant === undefined ? undefined : new FuelAllowance(fuelPerMinutePerTenant));
    this.#host = isolation === 'process' ? new IsolatedHost() : new ThreadHost([], firstJob?.thread);
    this.images = new GuestImages(this, () => sharedPool(), firstJob?.assets);
    this.maxWorkers = maxWorkers ?? WORKERS_PER_CORE * cores;
    this.#baseWorkers = Math.min(cores, this.maxWorkers);
    this.#scheduler = new FairScheduler(
      {
        maxRunning: this.maxWorkers,
        maxRunningPerTenant: maxRunningPerTenant ?? this.maxWorkers,
        maxQueuedPerTenant: maxQueuedPerTenant ?? Number.POSITIVE_INFINITY,
        expectedTenants,
      },
      this.#baseWorkers,
    );
  }

  get heldBytes(): number {
    return this.held.total;
  }

  get workers(): number {
    return this.#threads.size;
  }

  get running(): number {
    return this.#scheduler.running;
  }

  get queued(): number {
    return this.#scheduler.queued;
  }

  /** Waits for a turn with a thread; undefined if the signal is aborted first. */
  async acquire({ hasAffinity = false, ...request }: WorkerRequest): Promise<WorkerTurn | undefined> {
    // Awaited only if there is something to wait for, because callers get their turns in the order of their calls.
    const checked = this.#allowance?.check(request.tenant);
    if (checked !== undefined) await checked;
    const turn = await this.#scheduler.acquire({ ...request, needsWorker: true });
    if (turn === undefined) return undefined;
    let thread: PoolThread;
    try {
      // Calls that ran while this one waited have used fuel.
      await this.#allowance?.check(request.tenant);
      thread = this.#reserve(request.key);
    } catch (cause) {
      turn.release();
      throw cause;
    }
    let job: JobHandle | undefined;
    const release = () => {
      thread.free();
      if (hasAffinity && thread.isAlive) this.#affinity.set(request.key, thread);
      turn.release();
    };
    return {
      run: (wanted, assets, options) => {
        if (!thread.isAlive) thread = this.#reserve(request.key);
        // Other sandboxes will use the image that it builds.
        const host = wanted.type === 'extend' ? this.#host.fresh() : undefined;
        job =
          host === undefined
            ? this.#run(thread, wanted, assets, options)
            : this.#runInFreshThread(host, wanted, assets, options);
        void this.#charge(request.tenant, job);
        return job;
      },
      // A thread is only free once it has saved what the job left.
      release: () => void (job?.saved ?? Promise.resolve()).then(release),
    };
  }

  /** Waits until host code may run in order with the calls of a key. It needs no thread. Undefined if the signal is aborted. */
  acquireKey(tenant: string, key: string): Promise<Turn>;
  acquireKey(tenant: string, key: string, signal: CancelSignal | undefined): Promise<Turn | undefined>;
  acquireKey(tenant: string, key: string, signal?: CancelSignal): Promise<Turn | undefined> {
    return this.#scheduler.acquire({ tenant, key, needsWorker: false, signal });
  }

  /** Prepares a free thread for calls that are about to come. */
  prepare(assets: SentAssets, memoryBytes: number): void {
    const thread = this.#freeThread();
    thread.warm(assets, memoryBytes);
    this.#optimize(thread, assets, memoryBytes);
  }

  /** Starts the first thread before the first call asks for it, unless interpreters are optimised on demand. */
  prepareFirst(assets: GuestAssets, memoryBytes: number): void {
    if (this.#optimization !== 'idle' || this.#threads.size > 0) return;
    this.prepare(this.#host.prepareAhead(assets), memoryBytes);
  }

  /** Lets a thread run the optimisation programs of an image, unless another thread has done so for its module. */
  #optimize(thread: PoolThread, assets: GuestAssets, memoryBytes: number): void {
    const { module } = assets.origin;
    if (this.#optimization !== 'idle' || this.#optimizing.has(module)) return;
    this.#optimizing.set(module, { thread, programs: thread.optimize(assets, memoryBytes) });
  }

  /**
   * Waits until all optimisation programs have ended, and returns how many programs each thread has completed. For tests and
   * benchmarks.
   */
  optimized(): Promise<number[]> {
    return Promise.all([...this.#optimizing.values()].map(({ programs }) => programs));
  }

  /** Forgets which thread served a key. */
  forget(key: string): void {
    this.#affinity.delete(key);
  }

  /** Discards what threads have of a workspace that is not used any more. */
  forgetWorkspace(id: string): void {
    for (const thread of this.#threads) thread.forget(id);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#threads, ...this.#builders].map((thread) => thread.close()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #charge(tenant: string, job: JobHandle): Promise<void> {
    if (this.#allowance === undefined) return;
    const result = await job.result.catch(() => undefined);
    const fuel =
      result?.type === 'done' ? result.outcome.fuelConsumed + result.outcome.chartFuel : job.fuelSpent;
    this.#allowance.charge(tenant, fuel);
  }

  #run(thread: PoolThread, job: UnsentJob, assets: GuestAssets | undefined, options: JobOptions): JobHandle {
    if (assets !== undefined) thread.load(assets);
    if (assets !== undefined && job.type === 'run') this.#remember(assets, job.limits.memory_bytes);
    const handle = thread.run(job, options);
    if (assets !== undefined && job.type === 'run') this.#optimize(thread, assets, job.limits.memory_bytes);
    this.#updateYieldFlag();
    if (this.maxWorkers > this.#baseWorkers && this.#canNeedMoreThreads())
      this.#scaler ??= setInterval(() => this.#scaleUp(), SCALE_UP_INTERVAL_MS).unref();
    void handle.saved.then(() => this.#updateYieldFlag());
    return handle;
  }

  /**
   * A free thread, preferably the one that served the key last. The scheduler grants no more turns than there may be
   * threads.
   */
  #reserve(key: string): PoolThread {
    const last = this.#affinity.get(key);
    const thread = last?.isUsable ? last : this.#freeThread();
    thread.reserve();
    return thread;
  }

  #freeThread(): PoolThread {
    return [...this.#threads].find(({ isUsable }) => isUsable) ?? this.#spawn();
  }

  #spawn(): PoolThread {
    const thread = new PoolThread(this.#host, (exited) => this.#remove(exited));
    this.#threads.add(thread);
    this.#updateCapacity();
    this.#reaper ??= setInterval(() => this.#stopIdleThreads(), STOP_INTERVAL_MS).unref();
    return thread;
  }

  #remove(thread: PoolThread): void {
    this.#threads.delete(thread);
    for (const [key, last] of this.#affinity) if (last === thread) this.#affinity.delete(key);
    for (const [module, optimization] of this.#optimizing)
      if (optimization.thread === thread) this.#optimizing.delete(module);
    this.#updateCapacity();
    if (this.#threads.size > 0) return;
    clearInterval(this.#reaper);
    this.#reaper = undefined;
  }

  #updateCapacity(): void {
    const capacity = Math.max(this.#baseWorkers, this.#threads.size);
    if (capacity !== this.#scheduler.capacity) this.#scheduler.capacity = capacity;
  }

  #stopIdleThreads(): void {
    const now = performance.now();
    const optimizers = new Set([...this.#optimizing.values()].map(({ thread }) => thread));
    // A pool does not repeat the optimisation as long as the thread that ran it exists, so that thread is stopped last.
    const threads = [...this.#threads].sort((a, b) => Number(optimizers.has(a)) - Number(optimizers.has(b)));
    for (const thread of threads) {
      const { size } = this.#threads;
      const keptMs = size > this.#baseWorkers ? EXTRA_IDLE_MS : size > 1 ? IDLE_MS : LAST_IDLE_MS;
      if (!thread.isIdleSince(now - keptMs) || this.#isSpare(thread)) continue;
      // Removed before it has ended, so that no job is given to it.
      this.#remove(thread);
      void thread.terminate();
    }
  }

  /** Whether long-running programs occupy all other threads. Another thread would be started immediately. */
  #isSpare(thread: PoolThread): boolean {
    const others = [...this.#threads].filter((other) => other !== thread);
    return others.length > 0 && others.every(({ isHeld }) => isHeld);
  }

  /** Asks long-running programs to yield while a short one runs and there are more busy threads than cores. */
  #updateYieldFlag(): void {
    this.#host.setYield(this.#threads.size > this.#baseWorkers && this.#isYieldWanted());
  }

  #isYieldWanted(): boolean {
    const busy = [...this.#threads].filter(({ isBusy }) => isBusy);
    return busy.length > this.#baseWorkers && busy.some(({ isHeld }) => !isHeld);
  }

  /** Whether at least `#baseWorkers` threads are busy. With fewer, the next call starts immediately. */
  #canNeedMoreThreads(): boolean {
    let busy = 0;
    for (const { isBusy } of this.#threads) if (isBusy) busy++;
    return busy >= this.#baseWorkers;
  }

  /** While long-running programs occupy every thread, starts more: one for each waiting key, and one for the next call. */
  #scaleUp(): void {
    this.#updateYieldFlag();
    const threads = [...this.#threads];
    if (!this.#canNeedMoreThreads()) {
      clearInterval(this.#scaler);
      this.#scaler = undefined;
      return;
    }
    if (threads.length < this.#baseWorkers || !threads.every(({ isHeld }) => isHeld)) return;
    const wanted = Math.min(this.maxWorkers - threads.length, this.#scheduler.startableKeys + 1);
    for (let i = 0; i < wanted; i++) this.#warm(this.#spawn());
  }

  #warm(thread: PoolThread): void {
    for (const { assets, memoryBytes } of this.#recent.values()) thread.warm(assets, memoryBytes);
  }

  /** Runs a job in the only thread of a host, and ends both afterwards. */
  #runInFreshThread(
    host: WorkerHost,
    job: UnsentJob,
    assets: GuestAssets | undefined,
    options: JobOptions,
  ): JobHandle {
    const thread = new PoolThread(host, (exited) => this.#builders.delete(exited));
    this.#builders.add(thread);
    if (assets !== undefined) thread.load(assets);
    const handle = thread.run(job, options);
    void handle.saved.then(() => thread.terminate());
    return handle;
  }

  #remember(assets: GuestAssets, memoryBytes: number): void {
    this.#recent.delete(assets.id);
    this.#recent.set(assets.id, { assets, memoryBytes });
    if (this.#recent.size > RECENT_IMAGES) this.#recent.delete(this.#recent.keys().next().value!);
  }
}
