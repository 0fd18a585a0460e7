/**
 * Long work of the main thread in slices. In each turn of the event loop, one slice of one key runs, and keys take turns, so a
 * burst of such work delays other requests by no more than one slice.
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
    /** Slices of one turn of the event loop; more than one only if all are short. */
    readonly perTurn = 1,
    /** Calls a function in a later turn. */
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
      for (let i = 0; i < this.perTurn; i++) this.#runOne();
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

const queue = new SliceQueue();

/** Resolves in a turn of the event loop that no other caller has. Keys take turns; most work needs no key of its own. */
export const nextTurn = (key = ''): Promise<void> => queue.next(key);

/** Longest work between two turns, if each step is short. */
const SLICE_MS = 5;

/** Ends the turn of a loop when it has taken long enough. */
export class Slices {
  #sinceMs = performance.now();

  get isOver(): boolean {
    return performance.now() - this.#sinceMs >= SLICE_MS;
  }

  async pause(nextSlice: NextSlice = nextTurn): Promise<void> {
    if (!this.isOver) return;
    await nextSlice();
    this.#sinceMs = performance.now();
  }
}

/** Runs all steps in slices. */
export const finishInSlices = <T>(
  steps: Generator<unknown, T>,
  nextSlice: NextSlice = nextTurn,
): Promise<T> => new Promise((resolve, reject) => inSlices(steps, resolve, reject, nextSlice));

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
  nextSlice: NextSlice = nextTurn,
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
  else void nextSlice().then(() => inSlices(steps, done, failed, nextSlice));
}
