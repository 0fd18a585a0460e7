/**
 * The entries of a directory below a writable root. Nodes are created from an immutable tree when they are first used, so
 * the cost of a volume depends only on what the guest uses.
 * Invariant: what differs from the tree is in `changed` or is a loaded node with other attributes.
 */
import { createNode, type Entry } from './flat-entries.ts';
import type { FileTree } from './immutable-file-tree.ts';
import { type DirEntries, type DirNode, type Node, visitTree } from './nodes.ts';

/** What the nodes below a writable root are created from. */
export interface NodeSource {
  readonly tree: FileTree;
  /** Inode number of the first entry of the tree; the others follow in the order of their paths. */
  firstIno: number;
  ctimeMs: number;
}

export class LazyDirEntries implements DirEntries {
  readonly source: NodeSource;
  /** Path of the directory with a final slash; empty for the root. */
  readonly prefix: string;
  /** Nodes that were created from the tree and have not been removed or replaced since. */
  readonly loaded = new Map<string, Node>();
  /** Nodes that were added, and null for names of the tree that were removed. */
  readonly changed = new Map<string, Node | null>();
  /** A node that lookups find and listings omit, until its name is set or deleted. */
  unlisted: { readonly name: string; readonly node: Node } | undefined;
  #added = 0;
  #isComplete = false;

  constructor(source: NodeSource, prefix: string) {
    this.source = source;
    this.prefix = prefix;
  }

  /** Whether the directory is as the tree describes it, and no node below it is in memory. */
  get isUnused(): boolean {
    return this.loaded.size === 0 && this.changed.size === 0;
  }

  get(name: string): Node | undefined {
    const changed = this.changed.get(name);
    if (changed !== undefined) return changed ?? undefined;
    const loaded = this.loaded.get(name);
    if (loaded !== undefined) return loaded;
    const path = this.prefix + name;
    const { tree } = this.source;
    const entry = this.#isComplete ? undefined : tree.get(path);
    if (entry !== undefined) return this.#load(name, entry, tree.rankOf(path));
    return this.unlisted?.name === name ? this.unlisted.node : undefined;
  }

  set(name: string, node: Node): void {
    this.delete(name);
    this.changed.set(name, node);
    this.#added++;
  }

  delete(name: string): void {
    if (this.unlisted?.name === name) this.unlisted = undefined;
    if (this.changed.get(name)) this.#added--;
    this.loaded.delete(name);
    // Other names are not recorded, because a guest could create and remove any number of them.
    if (this.source.tree.has(this.prefix + name)) this.changed.set(name, null);
    else this.changed.delete(name);
  }

  /** Puts a node in the place of the one that the tree describes. */
  adopt(name: string, node: Node): void {
    this.loaded.set(name, node);
  }

  get size(): number {
    this.#loadAll();
    return this.loaded.size + this.#added;
  }

  *[Symbol.iterator](): Generator<[string, Node]> {
    this.#loadAll();
    yield* this.inMemory();
  }

  *keys(): Generator<string> {
    for (const [name] of this) yield name;
  }

  *values(): Generator<Node> {
    for (const [, node] of this) yield node;
  }

  /** The entries that have a node. */
  *inMemory(): Generator<[string, Node]> {
    yield* this.loaded;
    for (const [name, node] of this.changed) if (node !== null) yield [name, node];
  }

  #loadAll(): void {
    if (this.#isComplete) return;
    for (const { entry, rank } of this.source.tree.children(this.prefix)) {
      const name = entry.path.slice(this.prefix.length);
      if (!this.loaded.has(name) && !this.changed.has(name)) this.#load(name, entry, rank);
    }
    this.#isComplete = true;
  }

  #load(name: string, entry: Entry, rank: number): Node {
    const { firstIno, ctimeMs } = this.source;
    const { mode, mtimeMs, path } = entry;
    const node = createNode(entry, { ino: firstIno + rank, mode, mtimeMs, ctimeMs, readonly: false });
    node.nlink = 1;
    node.origin = entry;
    if (node.kind === 'dir') node.entries = new LazyDirEntries(this.source, `${path}/`);
    this.loaded.set(name, node);
    return node;
  }
}

/** Calls `each` for every node below `dir` that exists in memory, parents first. */
export function visitNodesInMemory(dir: DirNode, each: (path: string, node: Node) => void): void {
  visitTree(dir, each, ({ entries }) => (entries instanceof LazyDirEntries ? entries.inMemory() : entries));
}
