/**
 * The inode numbers of one volume. They are unique and increasing. Between two calls of a session, `restart` starts a
 * new sequence, so that a tree that stayed in memory gets the same numbers as one that was restored.
 */

/** Above the numbers of all layers. */
const FIRST = 2 ** 32;
/** Above the numbers of the directories that are created with a volume. */
const FIRST_ASSIGNED = FIRST + 2 ** 24;

export class InodeNumbers {
  #next = FIRST;

  /** Reserves consecutive numbers and returns the first. */
  take(count: number): number {
    this.#next += count;
    return this.#next - count;
  }

  /** Starts a new sequence, which replaces the numbers of all nodes below the writable roots. */
  restart(): void {
    this.#next = FIRST_ASSIGNED;
  }
}
