/**
 * Hangs read-only subtrees into the tree of one volume.
 * Invariant: a subtree is shared with other guests and is never changed. Where two of them meet, the directories both
 * have are copied one level deep into this volume; everything below stays shared.
 */
import { FAIL } from './fs-error.ts';
import { checkName, type DirNode, type Node } from './tree.ts';

export class Layers {
  /** Read-only directories of this volume alone, to which mounts may be added. */
  readonly #scaffold: Set<DirNode>;
  readonly #newDir: () => DirNode;

  /** `newDir` makes a read-only directory with a number of its own. */
  constructor(root: DirNode, newDir: () => DirNode) {
    this.#scaffold = new Set([root]);
    this.#newDir = newDir;
  }

  /** Hangs `subtree` at a canonical absolute path below `root`, creating or copying the directories on the way. */
  mount(root: DirNode, at: string, subtree: Node): void {
    if (!at.startsWith('/') || !subtree.readonly) throw FAIL.EINVAL;
    const names = at.slice(1).split('/');
    names.forEach(checkName);
    const last = names.pop()!;
    let dir = root;
    for (const name of names) {
      const next = dir.entries.get(name);
      dir = next === undefined ? this.#grow(dir, name) : this.#own(dir, name, next);
    }
    this.#graft(dir, last, subtree);
  }

  #grow(parent: DirNode, name: string): DirNode {
    const dir = this.#newDir();
    this.#scaffold.add(dir);
    parent.entries.set(name, dir);
    return dir;
  }

  #own(parent: DirNode, name: string, node: Node): DirNode {
    if (node.kind !== 'dir') throw FAIL.EEXIST;
    if (!node.readonly) throw FAIL.EINVAL;
    if (this.#scaffold.has(node)) return node;
    const copy: DirNode = { ...node, entries: new Map(node.entries) };
    this.#scaffold.add(copy);
    parent.entries.set(name, copy);
    return copy;
  }

  #graft(parent: DirNode, name: string, node: Node): void {
    const taken = parent.entries.get(name);
    if (taken === undefined) {
      parent.entries.set(name, node);
      return;
    }
    if (node.kind !== 'dir') throw FAIL.EEXIST;
    const dir = this.#own(parent, name, taken);
    for (const [childName, child] of node.entries) this.#graft(dir, childName, child);
  }
}
