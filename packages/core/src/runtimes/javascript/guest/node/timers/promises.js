/** The module `timers/promises`. */
import * as timers from '../../timers.js';
import { AbortError, validateAbortSignal } from '../internal/errors.js';

function wait(start, clear, value, options = {}) {
  const { signal, ref = true } = options;
  try {
    validateAbortSignal(signal);
  } catch (error) {
    return Promise.reject(error);
  }
  if (signal?.aborted) return Promise.reject(new AbortError(undefined, { cause: signal.reason }));
  return new Promise((resolve, reject) => {
    const timer = start(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve(value);
    });
    if (!ref) timer.unref();
    function onAbort() {
      clear(timer);
      reject(new AbortError(undefined, { cause: signal.reason }));
    }
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

export const setTimeout = (delay, value, options) =>
  wait((done) => timers.setTimeout(done, delay), timers.clearTimeout, value, options);
export const setImmediate = (value, options) =>
  wait((done) => timers.setImmediate(done), timers.clearTimeout, value, options);

export async function* setInterval(delay, value, options = {}) {
  const { signal } = options;
  if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
  let due = 0;
  let wake;
  const timer = timers.setInterval(() => {
    due++;
    wake?.();
  }, delay);
  const onAbort = () => wake?.();
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    for (;;) {
      if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
      if (due === 0) {
        await new Promise((resolve) => {
          wake = resolve;
        });
        continue;
      }
      due--;
      yield value;
    }
  } finally {
    timers.clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}

export const scheduler = {
  wait: (delay, options) => setTimeout(delay, undefined, options),
  yield: () => setImmediate(),
};
export default { setTimeout, setImmediate, setInterval, scheduler };
