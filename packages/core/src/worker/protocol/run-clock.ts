/**
 * The time of a run. Long programs yield the processor to short ones when there are more threads than cores, so that a short
 * program waits at most for one slice of a long one. The main thread decides when. A program yields at most as much time as it
 * runs; that time counts neither towards its time limit nor as its duration.
 */

/** Fuel from which a run counts as long. */
export const LONG_RUN_FUEL = 50_000_000;
/** Maximum time a run yields, relative to the time it has run. */
export const MAX_YIELD_SHARE = 1;
/** Maximum wait between two checks for cancellation. */
const YIELD_WAIT_MS = 20;

export class RunClock {
  #startedMs = 0;
  #yieldedMs = 0;

  /** `yieldFlag` is a shared word that is 1 while long programs have to yield. Changes to 0 are notified. */
  constructor(
    readonly yieldFlag: Int32Array,
    readonly timeoutMs: number,
  ) {}

  /** The program starts now. */
  start(nowMs: number): void {
    this.#startedMs = nowMs;
  }

  get yieldedMs(): number {
    return this.#yieldedMs;
  }

  /** Time since the start, without the time in which the program yielded. */
  ranMs(nowMs = performance.now()): number {
    return nowMs - this.#startedMs - this.#yieldedMs;
  }

  /** When the time of the program ends. `waitedMs` is time that does not count, besides that in which it yielded. */
  deadlineMs(waitedMs = 0): number {
    return this.#startedMs + this.timeoutMs + this.#yieldedMs + waitedMs;
  }

  /** Called between slices. Returns the milliseconds it waited. */
  maybeYield(fuelConsumed: number): number {
    if (Atomics.load(this.yieldFlag, 0) === 0 || fuelConsumed < LONG_RUN_FUEL) return 0;
    const now = performance.now();
    if (this.#yieldedMs >= this.ranMs(now) * MAX_YIELD_SHARE) return 0;
    Atomics.wait(this.yieldFlag, 0, 1, YIELD_WAIT_MS);
    const waitedMs = performance.now() - now;
    this.#yieldedMs += waitedMs;
    return waitedMs;
  }
}
