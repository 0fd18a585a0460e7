/**
 * The inode numbers of one volume. They are unique and grow, until `restart` precedes new numbers for all nodes: between
 * two calls of a session, this gives a tree that stayed in memory the same numbers as one that was restored.
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

  /** Starts numbers that replace all those of the nodes below the writable roots. */
  restart(): void {
    this.#next = FIRST_ASSIGNED;
  }
}
