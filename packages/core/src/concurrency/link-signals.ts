/**
 * Aborts a controller together with other signals. After unlinking, long-lived sources no longer refer to the controller;
 * with `AbortSignal.any`, they would.
 */
import { setMaxListeners } from 'node:events';

/** Aborts `controller` as soon as one of the sources is aborted. Returns a function that removes the listeners from them. */
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
