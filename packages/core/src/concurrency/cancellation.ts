/** Cancellation of calls and of waiting. */
import { setMaxListeners } from 'node:events';

/** Tells a call that it is cancelled. Every `AbortSignal` has these members. */
export interface CancelSignal {
  readonly aborted: boolean;
  addEventListener(type: 'abort', listener: () => void, options: { readonly once: true }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** A replacement for `AbortController`: creating an `AbortSignal` and listening to it take a noticeable part of the time of a short call. */
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

/**
 * Aborts `controller` as soon as one of the sources is aborted. Returns a function that removes the listeners from them; with
 * `AbortSignal.any`, long-lived sources would continue to refer to the controller.
 */
export function linkSignals(
  controller: { abort(reason: unknown): void },
  ...sources: readonly (AbortSignal | undefined)[]
): () => void {
  const present = sources.filter((source) => source !== undefined);
  const abort = (event: Event) => controller.abort((event.target as AbortSignal).reason);
  for (const source of present) {
    // Any number of calls can have the same source, and each removes its listener: a warning about a leak would be wrong.
    setMaxListeners(0, source);
    source.addEventListener('abort', abort, { once: true });
  }
  const aborted = present.find((source) => source.aborted);
  if (aborted !== undefined) controller.abort(aborted.reason);
  return () => {
    for (const source of present) source.removeEventListener('abort', abort);
  };
}

/** Settles like `work`, or rejects with the reason of the signal if it is aborted first. The work itself is not stopped. */
export function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return race(work, signal, (_resolve, reject) => reject(signal.reason));
}

/** Settles like `work`, or resolves with undefined if the signal is aborted first. */
export function undefinedIfAborted<T>(
  work: Promise<T>,
  signal: CancelSignal | undefined,
): Promise<T | undefined> {
  return race<T | undefined>(work, signal, (resolve) => resolve(undefined));
}

function race<T>(
  work: Promise<T>,
  signal: CancelSignal | undefined,
  abort: (resolve: (value: T) => void, reject: (reason: unknown) => void) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => abort(resolve, reject);
    if (signal?.aborted) onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal?.removeEventListener('abort', onAbort));
  });
}
