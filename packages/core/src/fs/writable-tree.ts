/**
 * The contents of one writable root, and the baseline that its changes are computed from. Nodes are created from the
 * baseline when they are first used.
 */
import { SandboxError } from '../errors.ts';
import { isLongerThan, MAX_PATH_BYTES } from './file-names.ts';
import { EMPTY_TREE, type FileTree } from './immutable-file-tree.ts';
import { LazyDirEntries, type NodeSource, visitNodesInMemory } from './lazy-directory-entries.ts';
import type { DirNode, Node } from './nodes.ts';
import { diffTree, type TreeChanges } from './tree-changes.ts';

export class WritableTree {
  #source: NodeSource = { tree: EMPTY_TREE, firstIno: 0, ctimeMs: 0 };

  constructor(readonly dir: DirNode) {
    this.replace(this.#source);
  }

  get baseline(): FileTree {
    return this.#source.tree;
  }

  get #isUnused(): boolean {
    return this.entries.isUnused;
  }

  get entries(): LazyDirEntries {
    return this.dir.entries as LazyDirEntries;
  }

  /** Replaces the contents, which become the baseline. */
  replace(source: NodeSource): void {
    this.#source = source;
    this.dir.entries = new LazyDirEntries(source, '');
  }

  changes(): TreeChanges {
    return diffTree(this.dir, this.baseline);
  }

  /**
   * Makes the current contents the baseline, and returns what has changed since the last one. Nodes are created again when
   * they are used, except for those that `inUse` returns and open files.
   */
  commit(inUse: () => ReadonlySet<Node>, ctimeMs: number): TreeChanges {
    if (this.#isUnused) {
      this.#source.ctimeMs = ctimeMs;
      return { created: [], modified: [], deleted: [], removed: [], entries: [] };
    }
    const changes = this.changes();
    const kept: { path: string; node: Node }[] = [];
    const nodesInUse = inUse();
    visitNodesInMemory(this.dir, (path, node) => {
      if (node.openCount > 0 || nodesInUse.has(node)) kept.push({ path, node });
    });
    this.replace({ ...this.#source, tree: this.baseline.apply(changes), ctimeMs });
    this.#keep(kept);
    return changes;
  }

  /** Puts nodes back where they were, parents first. */
  #keep(nodes: readonly { path: string; node: Node }[]): void {
    const dirs = new Map<string, DirNode>([['', this.dir]]);
    for (const { path, node } of [...nodes].sort((a, b) => a.path.length - b.path.length)) {
      const slash = path.lastIndexOf('/');
      const parent = this.#dirAt(path.slice(0, Math.max(0, slash)), dirs);
      (parent.entries as LazyDirEntries).adopt(path.slice(slash + 1), node);
      node.origin = this.baseline.get(path);
      if (node.kind === 'file') node.changed = false;
      if (node.kind !== 'dir') continue;
      node.entries = new LazyDirEntries(this.#source, `${path}/`);
      dirs.set(path, node);
    }
  }

  /** The directory at a path; `known` has directories that were found before. */
  #dirAt(path: string, known: Map<string, DirNode>): DirNode {
    const missing: string[] = [];
    let at = path;
    for (; !known.has(at); at = at.slice(0, Math.max(0, at.lastIndexOf('/')))) missing.push(at);
    let dir = known.get(at)!;
    for (const next of missing.reverse()) {
      dir = dir.entries.get(next.slice(next.lastIndexOf('/') + 1)) as DirNode;
      known.set(next, dir);
    }
    return dir;
  }

  /** Assigns inode numbers in the order of the paths. There must be no changes since the baseline. */
  renumber(firstIno: number): void {
    this.#source.firstIno = firstIno;
    if (this.#isUnused) return;
    visitNodesInMemory(this.dir, (path, node) => {
      node.ino = firstIno + this.baseline.rankOf(path);
    });
  }
}

/** Throws `invalid_path` unless the paths of the tree are short enough below the directory `at`. */
export function checkPathLengths(at: string, tree: FileTree): void {
  if (at.length + 1 + tree.longestPath <= MAX_PATH_BYTES) return;
  const long = [...tree.keys()].find((path) => isLongerThan(`${at}/${path}`, MAX_PATH_BYTES))!;
  throw new SandboxError(
    'invalid_path',
    `Entry ${JSON.stringify(long.slice(0, 200))} has a path longer than ${MAX_PATH_BYTES} bytes, including ${at}. Use a shorter path.`,
  );
}
