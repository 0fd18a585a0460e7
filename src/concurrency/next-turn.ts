/**
 * Divides long work on the main thread into parts. All callers share one queue: each turn of the event loop runs one part,
 * and requests of others are served between the parts.
 */
import { setImmediate } from 'node:timers/promises';

let last: Promise<void> = Promise.resolve();

/** Resolves in a turn of the event loop that no other caller has. */
export function nextTurn(): Promise<void> {
  last = last.then(() => setImmediate());
  return last;
}

/** Longest work between two turns. */
const SLICE_MS = 5;

/** Ends the turn of a loop when it has taken long enough. */
export class Slices {
  #sinceMs = performance.now();

  get isOver(): boolean {
    return performance.now() - this.#sinceMs >= SLICE_MS;
  }

  async pause(): Promise<void> {
    if (!this.isOver) return;
    await nextTurn();
    this.#sinceMs = performance.now();
  }
}
