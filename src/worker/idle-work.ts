/**
 * What a worker does between two jobs: it resets used guests after the pending messages, creates guests when it has been
 * idle for a moment, and trains when it has been idle for longer. A job interrupts this at any time.
 */
import type { GuestPool } from './guest-pool.ts';
import type { IdleTraining } from './idle-training.ts';

/** How long the worker must be idle before it creates guests that no job has requested yet. */
const CREATE_AFTER_MS = 20;
/** How long it must be idle before it trains. */
const TRAIN_AFTER_MS = 500;
/** Pause between two training programs. */
const TRAIN_PAUSE_MS = 20;

export class IdleWork {
  /** The pools to keep full, and the memory limit of their guests in pages. */
  readonly #pools = new Map<GuestPool, number>();
  readonly #trainings = new Map<GuestPool, IdleTraining>();
  #immediate: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** While `isBusy`, nothing trains. */
  constructor(
    readonly runTraining: (training: IdleTraining, maxPages: number) => void,
    readonly isBusy: () => boolean,
    readonly onTrained: (training: IdleTraining) => void,
  ) {}

  /** Keeps a pool full. The last use counts. */
  keepFull(pool: GuestPool, maxPages: number): void {
    this.#pools.set(pool, maxPages);
  }

  /** Trains with guests of a pool. The pool is filled first, so that a job finds a guest while another one trains. */
  train(pool: GuestPool, training: IdleTraining, maxPages: number): void {
    if (!this.#pools.has(pool)) this.keepFull(pool, maxPages);
    this.#trainings.set(pool, training);
  }

  remove(pool: GuestPool): void {
    this.#pools.delete(pool);
    this.#trainings.delete(pool);
  }

  /** A message has arrived. */
  pause(): void {
    clearImmediate(this.#immediate);
    clearTimeout(this.#timer);
  }

  /** The message has been handled. */
  resume(): void {
    this.#plan(TRAIN_AFTER_MS);
  }

  #plan(trainAfterMs: number): void {
    this.pause();
    const pools = [...this.#pools.keys()].filter(({ isFull }) => !isFull);
    const used = pools.find(({ hasUsed }) => hasUsed);
    const [pool] = pools;
    if (used !== undefined) this.#immediate = setImmediate(() => this.#refill(used, trainAfterMs));
    else if (pool !== undefined)
      this.#timer = setTimeout(() => this.#refill(pool, trainAfterMs), CREATE_AFTER_MS);
    else if (this.#trainings.size > 0) this.#timer = setTimeout(() => this.#train(), trainAfterMs);
  }

  #refill(pool: GuestPool, trainAfterMs: number): void {
    pool.refill(this.#pools.get(pool)!);
    this.#plan(trainAfterMs);
  }

  #train(): void {
    if (this.isBusy()) {
      this.resume();
      return;
    }
    const [pool, training] = this.#trainings.entries().next().value!;
    try {
      this.runTraining(training, this.#pools.get(pool)!);
      if (training.isDone) this.#end(pool, training);
    } catch {
      // The jobs that use the image report what is wrong with it.
      this.#end(pool, training);
    }
    this.#plan(TRAIN_PAUSE_MS);
  }

  #end(pool: GuestPool, training: IdleTraining): void {
    this.#trainings.delete(pool);
    this.onTrained(training);
  }
}
