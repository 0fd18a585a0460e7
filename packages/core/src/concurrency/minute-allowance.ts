/**
 * An amount that each key may use per minute, or per another period. It accrues steadily up to the amount of one period. A use may start while any
 * of it is left; a use that exceeds the rest delays the next one.
 */

const MINUTE_MS = 60_000;

interface Balance {
  readonly amount: number;
  readonly atMs: number;
}

export class MinuteAllowance {
  /** Keys that were charged recently; all others have a full allowance. */
  readonly #balances = new Map<string, Balance>();

  constructor(
    readonly amount: number,
    readonly now: () => number = () => performance.now(),
    readonly periodMs = MINUTE_MS,
  ) {}

  /** Seconds until the key has some allowance left, rounded up; 0 if it has some now. */
  secondsToWait(key: string): number {
    const left = this.#left(key);
    return left > 0 ? 0 : Math.max(1, Math.ceil(((-left / this.amount) * this.periodMs) / 1000));
  }

  charge(key: string, amount: number): void {
    const left = this.#left(key) - amount;
    this.#balances.delete(key);
    this.#balances.set(key, { amount: left, atMs: this.now() });
    // Keys whose allowance is full again are forgotten, oldest charge first.
    for (const [other] of this.#balances) {
      if (this.#left(other) < this.amount) break;
      this.#balances.delete(other);
    }
  }

  #left(key: string): number {
    const balance = this.#balances.get(key);
    if (balance === undefined) return this.amount;
    const accrued = ((this.now() - balance.atMs) / this.periodMs) * this.amount;
    return Math.min(this.amount, balance.amount + accrued);
  }
}
