/**
 * Terminates a thread whose job does not end in time. Restoring a session, running and saving have separate limits. A process that guest code has taken over can send any message repeatedly; each phase starts only once.
 */
import { MAX_YIELD_SHARE } from '../protocol/run-clock.ts';

/** Extra time that a job gets beyond its limit, and after a cancellation. */
const GRACE_MS = 5_000;
/** Time that a thread gets to restore the state of a session before the program starts. */
const RESTORE_LIMIT_MS = 120_000;
/** Time that a thread gets to save the state of a session after its answer. */
const SAVE_LIMIT_MS = 120_000;

interface WatchedJob {
  /** Time limit that the worker itself enforces. */
  readonly limitMs: number;
  /** How long the job has been running; undefined while the session is being restored. */
  runningMs(): number | undefined;
  terminate(): void;
}

/**
 * The timer of all jobs of a thread. A timer that fires too early is left as it is, and the deadline is computed again when
 * it fires, so that most short calls neither start nor stop one. It does not keep the process alive; a thread with a job does.
 */
export class WatchdogTimer {
  #timer: NodeJS.Timeout | undefined;
  /** When the timer fires. */
  #dueMs = Number.POSITIVE_INFINITY;
  #check: (() => void) | undefined;

  /** Calls `check` at `dueMs` or earlier, unless another function replaces it. */
  set(dueMs: number, check: () => void): void {
    this.#check = check;
    if (this.#dueMs <= dueMs) return;
    clearTimeout(this.#timer);
    this.#dueMs = dueMs;
    this.#timer = setTimeout(() => this.#fire(), dueMs - performance.now()).unref();
  }

  #fire(): void {
    this.#dueMs = Number.POSITIVE_INFINITY;
    this.#check?.();
  }

  /** Calls no function any more. */
  clear(): void {
    this.#check = undefined;
  }
}

export class JobWatchdog {
  readonly #job: WatchedJob;
  readonly #timer: WatchdogTimer;
  readonly #sentMs = performance.now();
  #answeredMs: number | undefined;
  #cancelledMs: number | undefined;

  /** A timer serves one job at a time. */
  constructor(job: WatchedJob, timer: WatchdogTimer) {
    this.#job = job;
    this.#timer = timer;
    this.#check();
  }

  /** Only a run can be cancelled, not the restore before it. */
  cancelled(): void {
    this.#cancelledMs = performance.now();
    this.#check();
  }

  /** The job was answered, and the state of its session is saved. */
  answered(): void {
    this.#answeredMs ??= performance.now();
    this.#check();
  }

  stop(): void {
    this.#timer.clear();
  }

  #check(): void {
    const nowMs = performance.now();
    const leftMs = this.#leftMs(nowMs);
    if (leftMs > 0) this.#timer.set(nowMs + leftMs, () => this.#check());
    else this.#job.terminate();
  }

  /** Time until the thread is terminated, or until the next check if the run has not started. */
  #leftMs(nowMs: number): number {
    if (this.#answeredMs !== undefined) return this.#answeredMs + SAVE_LIMIT_MS - nowMs;
    const { limitMs } = this.#job;
    const cancelledMs = this.#cancelledMs;
    const runMs = cancelledMs === undefined ? limitMs * (1 + MAX_YIELD_SHARE) + GRACE_MS : GRACE_MS;
    const runningMs = this.#job.runningMs();
    const latestStartMs = this.#sentMs + RESTORE_LIMIT_MS;
    if (runningMs === undefined) return Math.min(runMs, latestStartMs - nowMs);
    const startedMs = Math.min(nowMs - runningMs, latestStartMs);
    return Math.max(startedMs, cancelledMs ?? 0) + runMs - nowMs;
  }
}
