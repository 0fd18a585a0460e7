/**
 * Lets work on the main thread that is proportional to a file or a message run in slices. In each turn of the event loop, one
 * slice of one key runs, and keys take turns, so a burst of such work delays other requests by no more than one slice.
 */

/** How many bytes a slice handles. Decoding, encoding or hashing this many takes a few milliseconds. */
export const SLICE_BYTES = 256 * 1024;

/** Resolves when the next slice may run. */
export type NextSlice = () => Promise<void>;

export class SliceQueue {
  /** What waits, by key. The key whose turn is next comes first. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isPlanned = false;

  constructor(
    /** Calls a function in a later turn of the event loop. */
    readonly inLaterTurn: (run: () => void) => void = (run) => void setImmediate(run),
  ) {}

  /** Resolves in a later turn of the event loop, when the key has its turn. */
  next(key: string): Promise<void> {
    return new Promise((resolve) => {
      const queue = this.#waiting.get(key);
      if (queue === undefined) this.#waiting.set(key, [resolve]);
      else queue.push(resolve);
      this.#plan();
    });
  }

  #plan(): void {
    if (this.#isPlanned || this.#waiting.size === 0) return;
    this.#isPlanned = true;
    this.inLaterTurn(() => {
      this.#isPlanned = false;
      this.#runOne();
      this.#plan();
    });
  }

  #runOne(): void {
    for (const [key, queue] of this.#waiting) {
      this.#waiting.delete(key);
      queue.shift()!();
      if (queue.length > 0) this.#waiting.set(key, queue);
      return;
    }
  }
}

/** The slices of this thread. */
export const slices = new SliceQueue();
