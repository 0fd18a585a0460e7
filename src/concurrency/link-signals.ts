/**
 * Combines abort signals. After `unlink`, long-lived sources do not refer to the combined signal, as they do with
 * `AbortSignal.any`.
 */

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
  for (const source of present) source.addEventListener('abort', abort, { once: true });
  const aborted = present.find((source) => source.aborted);
  if (aborted !== undefined) controller.abort(aborted.reason);
  return {
    signal: controller.signal,
    unlink: () => {
      for (const source of present) source.removeEventListener('abort', abort);
    },
  };
}
