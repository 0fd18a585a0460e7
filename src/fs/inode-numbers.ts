/**
 * The inode numbers of one volume. They are unique and grow, until `assign` numbers all nodes again: between two calls of a
 * session, this gives a tree that stayed in memory the same numbers as one that was restored.
 */
import { byCodeUnit, type DirNode, type Node, visitTree } from './nodes.ts';

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

  /** Numbers the nodes below each of `roots` in the order of their paths, then `others`. */
  assign(roots: readonly DirNode[], others: readonly Node[]): void {
    this.#next = FIRST_ASSIGNED;
    for (const root of roots) {
      const nodes: { path: string; node: Node }[] = [];
      visitTree(root, (path, node) => nodes.push({ path, node }));
      nodes.sort((a, b) => byCodeUnit(a.path, b.path));
      for (const { node } of nodes) node.ino = this.take(1);
    }
    for (const node of others) node.ino = this.take(1);
  }
}
