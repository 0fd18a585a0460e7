/**
 * An amount that each key may use per minute. It accrues steadily up to one minute's worth. A use may start while any
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
    readonly perMinute: number,
    readonly now: () => number = () => performance.now(),
  ) {}

  /** Seconds until the key has some allowance left, rounded up; 0 if it has some now. */
  secondsToWait(key: string): number {
    const left = this.#left(key);
    return left > 0 ? 0 : Math.max(1, Math.ceil((-left / this.perMinute) * 60));
  }

  charge(key: string, amount: number): void {
    const left = this.#left(key) - amount;
    this.#balances.delete(key);
    this.#balances.set(key, { amount: left, atMs: this.now() });
    // Keys whose allowance is full again are forgotten, oldest charge first.
    for (const [other] of this.#balances) {
      if (this.#left(other) < this.perMinute) break;
      this.#balances.delete(other);
    }
  }

  #left(key: string): number {
    const balance = this.#balances.get(key);
    if (balance === undefined) return this.perMinute;
    const accrued = ((this.now() - balance.atMs) / MINUTE_MS) * this.perMinute;
    return Math.min(this.perMinute, balance.amount + accrued);
  }
}
