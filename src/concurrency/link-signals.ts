/**
 * Combines abort signals. After `unlink`, long-lived sources no longer refer to the combined signal; with
 * `AbortSignal.any`, they would.
 */
import { setMaxListeners } from 'node:events';

export interface LinkedSignal {
  /** Aborted as soon as one of the sources is. */
  readonly signal: AbortSignal;
  /** Removes the listeners from the sources. */
  unlink(): void;
}

export function linkSignals(...sources: readonly (AbortSignal | undefined)[]): LinkedSignal {
  const controller = new AbortController();
  const present = sources.filter((source) => source !== undefined);
  const abort = (event: Event) => controller.abort((event.target as AbortSignal).reason);
  for (const source of present) {
    // Any number of calls can have the same source, and each removes its listener: a warning about a leak would be wrong.
    setMaxListeners(0, source);
    source.addEventListener('abort', abort, { once: true });
  }
  const aborted = present.find((source) => source.aborted);
  if (aborted !== undefined) controller.abort(aborted.reason);
  return {
    signal: controller.signal,
    unlink: () => {
      for (const source of present) source.removeEventListener('abort', abort);
    },
  };
}
