/**
 * What a worker does between two jobs: it resets used guests after the pending messages, creates guests when it has been
 * idle for a moment, and runs optimisation programs when it has been idle for longer. A job interrupts this at any time.
 */
import type { GuestPool } from './guest-pool.ts';
import type { IdleOptimization } from './idle-optimization.ts';

/** How long the worker must be idle before it creates guests that no job has requested yet. */
const CREATE_AFTER_MS = 20;
/** How long it must be idle before optimisation programs run. */
const OPTIMIZE_AFTER_MS = 500;
/** Pause between two optimisation programs. */
const OPTIMIZE_PAUSE_MS = 20;

export class IdleWork {
  /** The pools to keep full, and the memory limit of their guests in pages. */
  readonly #pools = new Map<GuestPool, number>();
  readonly #optimizing = new Map<GuestPool, IdleOptimization>();
  #immediate: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** While `isBusy`, no optimisation program runs. */
  constructor(
    readonly runProgram: (optimization: IdleOptimization, maxPages: number) => void,
    readonly isBusy: () => boolean,
    readonly onOptimized: (optimization: IdleOptimization) => void,
  ) {}

  /** Keeps a pool full. The last value of `maxPages` applies. */
  keepFull(pool: GuestPool, maxPages: number): void {
    this.#pools.set(pool, maxPages);
  }

  /** Runs optimisation programs in guests of a pool. The pool is filled first, so that a job finds another guest. */
  optimize(pool: GuestPool, optimization: IdleOptimization, maxPages: number): void {
    if (!this.#pools.has(pool)) this.keepFull(pool, maxPages);
    this.#optimizing.set(pool, optimization);
  }

  remove(pool: GuestPool): void {
    this.#pools.delete(pool);
    this.#optimizing.delete(pool);
  }

  /** A message has arrived. */
  pause(): void {
    clearImmediate(this.#immediate);
    clearTimeout(this.#timer);
  }

  /** The message has been handled. */
  resume(): void {
    this.#plan(OPTIMIZE_AFTER_MS);
  }

  #plan(optimizeAfterMs: number): void {
    this.pause();
    const pools = [...this.#pools.keys()].filter(({ isFull }) => !isFull);
    const used = pools.find(({ hasUsed }) => hasUsed);
    const [pool] = pools;
    if (used !== undefined) this.#immediate = setImmediate(() => this.#refill(used, optimizeAfterMs));
    else if (pool !== undefined)
      this.#timer = setTimeout(() => this.#refill(pool, optimizeAfterMs), CREATE_AFTER_MS);
    else if (this.#optimizing.size > 0) this.#timer = setTimeout(() => this.#optimize(), optimizeAfterMs);
  }

  #refill(pool: GuestPool, optimizeAfterMs: number): void {
    pool.refill(this.#pools.get(pool)!);
    this.#plan(optimizeAfterMs);
  }

  #optimize(): void {
    if (this.isBusy()) {
      this.resume();
      return;
    }
    const [pool, optimization] = this.#optimizing.entries().next().value!;
    try {
      this.runProgram(optimization, this.#pools.get(pool)!);
      if (optimization.isDone) this.#end(pool, optimization);
    } catch {
      // The jobs that use the image report what is wrong with it.
      this.#end(pool, optimization);
    }
    this.#plan(OPTIMIZE_PAUSE_MS);
  }

  #end(pool: GuestPool, optimization: IdleOptimization): void {
    this.#optimizing.delete(pool);
    this.onOptimized(optimization);
  }
}
