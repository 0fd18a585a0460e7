/**
 * Measures how long the main thread works for each tenant, and limits it per minute. All requests share this thread;
 * programs run in others. Where work for a tenant begins, `attribute` names the tenant: the time from there to the next
 * such place, or to the end of the turn of the event loop, counts as its time. This needs no hook into every promise.
 */
import { MinuteAllowance, nextTurn } from '@llm-wasm-sandbox/core/internal';
import { retryLater } from './http-error.ts';

export class MainThreadAllowance {
  readonly #allowance: MinuteAllowance;
  #tenant: string | undefined;
  #sinceMs = 0;
  #endsWithTurn = false;

  constructor(
    readonly secondsPerMinute: number,
    readonly now: () => number = () => performance.now(),
    /** Calls a function after the current turn of the event loop. */
    readonly afterTurn: (run: () => void) => void = (run) => void setImmediate(run),
  ) {
    this.#allowance = new MinuteAllowance(secondsPerMinute * 1000, now);
  }

  /** Attributes the work from now on to a tenant. */
  attribute(tenant: string): void {
    this.#settle(tenant);
    if (this.#endsWithTurn) return;
    this.#endsWithTurn = true;
    this.afterTurn(() => {
      this.#endsWithTurn = false;
      this.#settle(undefined);
    });
  }

  /** Waits until the tenant may continue its work with another slice, and attributes that slice to it. */
  async nextSlice(tenant: string): Promise<void> {
    await nextTurn(tenant);
    this.attribute(tenant);
  }

  /** Rejects a request of a tenant that has used up its time. */
  check(tenant: string): void {
    const seconds = this.secondsToWait(tenant);
    if (seconds === 0) return;
    const used = `The requests of this tenant have used ${this.secondsPerMinute} s of main-thread time, which is the limit per minute`;
    throw retryLater(429, `rate_limited: ${used}. Retry in ${seconds} s.`, seconds);
  }

  /** Seconds until a tenant may send the next request; 0 if it may now. */
  secondsToWait(tenant: string): number {
    return this.#allowance.secondsToWait(tenant);
  }

  #settle(next: string | undefined): void {
    const now = this.now();
    if (this.#tenant !== undefined && now > this.#sinceMs)
      this.#allowance.charge(this.#tenant, now - this.#sinceMs);
    this.#tenant = next;
    this.#sinceMs = now;
  }
}
