/** Waits for work until a signal is aborted. The work itself is not stopped, and the signal keeps no listener. */
import type { CancelSignal } from './cancellation.ts';

/** Settles like `work`, or rejects with the reason of the signal if it is aborted first. */
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
