/**
 * Long work of the main thread in slices, between which other work can run. In each turn of the event loop, only one such
 * work continues.
 */
import { nextTurn } from './next-turn.ts';

/** Time for which a slice runs at most, if each step is short. */
const SLICE_MS = 8;

/** Runs all steps in slices. */
export const finishInSlices = <T>(steps: Generator<unknown, T>): Promise<T> =>
  new Promise((resolve, reject) => inSlices(steps, resolve, reject));

/** Runs all steps at once. */
export function atOnce<T>(steps: Generator<unknown, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** Runs all steps, the first ones immediately, and then calls `done`; or `failed` if a step throws. */
export function inSlices<T>(
  steps: Generator<unknown, T>,
  done: (value: T) => void,
  failed: (cause: unknown) => void,
): void {
  const endMs = performance.now() + SLICE_MS;
  let step: IteratorResult<unknown, T>;
  try {
    do step = steps.next();
    while (step.done !== true && performance.now() < endMs);
  } catch (cause) {
    failed(cause);
    return;
  }
  if (step.done === true) done(step.value);
  else void nextTurn().then(() => inSlices(steps, done, failed));
}
