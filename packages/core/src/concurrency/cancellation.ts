/**
 * Cancels a call. A replacement for `AbortController`, because creating an `AbortSignal` and listening to it take a
 * noticeable part of the time of a short call.
 */

/** Tells a call that it is cancelled. Every `AbortSignal` has these members. */
export interface CancelSignal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void, options: { readonly once: true }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

export class Cancellation implements CancelSignal {
  #isAborted = false;
  readonly #listeners = new Set<() => void>();

  get signal(): CancelSignal {
    return this;
  }

  get aborted(): boolean {
    return this.#isAborted;
  }

  /** Calls the listeners, which must not throw. Only the first call has an effect. */
  abort(): void {
    this.#isAborted = true;
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const listener of listeners) listener();
  }

  addEventListener(_type: 'abort', listener: () => void): void {
    if (!this.#isAborted) this.#listeners.add(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners.delete(listener);
  }
}
