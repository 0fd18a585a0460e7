/**
 * Where there are more threads than cores, long programs stand aside while a short one runs, so that nobody waits for
 * more than a slice of somebody else's program. The main thread alone says when; a program stands aside for no more of
 * its life than it runs, and what it waited counts neither against its time limit nor as its duration.
 */

/** A program that used so much fuel is not about to end. */
export const LONG_RUN_FUEL = 50_000_000;
/** The most a program stands aside, as a part of the time it ran. */
export const MAX_YIELD_SHARE = 1;
/** The longest it waits without looking whether it was cancelled. */
const YIELD_WAIT_MS = 20;

export class CooperativeYield {
  #waitedMs = 0;

  /** The word is 1 while long programs are asked to stand aside, and whoever waits on it is told when it changes. */
  constructor(
    readonly yieldFlag: Int32Array,
    readonly startedMs: number,
  ) {}

  get yieldedMs(): number {
    return this.#waitedMs;
  }

  /** Called between slices; returns the milliseconds that were spent standing aside. */
  maybeYield(fuel: number): number {
    if (Atomics.load(this.yieldFlag, 0) === 0 || fuel < LONG_RUN_FUEL) return 0;
    const now = performance.now();
    const ranMs = now - this.startedMs - this.#waitedMs;
    if (this.#waitedMs >= ranMs * MAX_YIELD_SHARE) return 0;
    Atomics.wait(this.yieldFlag, 0, 1, YIELD_WAIT_MS);
    const waitedMs = performance.now() - now;
    this.#waitedMs += waitedMs;
    return waitedMs;
  }
}
