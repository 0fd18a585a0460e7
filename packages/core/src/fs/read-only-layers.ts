/**
 * Mounts read-only layers in the tree of one volume.
 * Invariant: a layer is shared between guests and never modified. Where two layers overlap, the directories that they
 * have in common are copied one level deep into this volume; everything below them stays shared.
 */

import { checkName } from './file-names.ts';
import { ERRNO_ERRORS } from './fs-error.ts';
import type { DirNode, Node } from './nodes.ts';

export class ReadOnlyLayers {
  /** Read-only directories that only this volume has, so that mounts can be added to them. */
  readonly #privateDirs: Set<DirNode>;
  readonly #newDir: () => DirNode;

  /** `newDir` creates a read-only directory with a new inode number. */
  constructor(root: DirNode, newDir: () => DirNode) {
    this.#privateDirs = new Set([root]);
    this.#newDir = newDir;
  }

  /** Mounts `subtree` at a canonical absolute path below `root`. Creates or copies the parent directories. */
  mount(root: DirNode, at: string, subtree: Node): void {
    if (!subtree.readonly) throw ERRNO_ERRORS.EINVAL;
    this.place(root, at, subtree);
  }

  /** Like `mount`, for any subtree. */
  place(root: DirNode, at: string, subtree: Node): void {
    if (!at.startsWith('/')) throw ERRNO_ERRORS.EINVAL;
    const names = at.slice(1).split('/');
    names.forEach(checkName);
    const last = names.pop()!;
    let dir = root;
    for (const name of names) {
      const next = dir.entries.get(name);
      dir = next === undefined ? this.#addDir(dir, name) : this.#makePrivate(dir, name, next);
    }
    this.#merge(dir, last, subtree);
  }

  /** Removes what was mounted at a path and below it, and the directories above it that are then empty. */
  unmount(root: DirNode, at: string): void {
    const names = at.slice(1).split('/');
    const last = names.pop()!;
    const parents: Node[] = [root];
    for (const name of names) {
      const dir = parents.at(-1)!;
      const next = dir.kind === 'dir' ? dir.entries.get(name) : undefined;
      if (next === undefined) return;
      parents.push(next);
    }
    const dir = parents.at(-1)!;
    if (dir.kind !== 'dir' || !dir.entries.get(last)?.readonly) return;
    dir.entries.delete(last);
    this.#removeEmpty(names, parents);
  }

  /** Removes the directories that only mounts needed. */
  #removeEmpty(names: readonly string[], parents: readonly Node[]): void {
    for (let depth = names.length; depth > 0; depth--) {
      const [dir, parent] = [parents[depth]!, parents[depth - 1]!];
      if (dir.kind !== 'dir' || parent.kind !== 'dir' || dir.entries.size > 0) return;
      if (!this.#privateDirs.delete(dir)) return;
      parent.entries.delete(names[depth - 1]!);
    }
  }

  #addDir(parent: DirNode, name: string): DirNode {
    const dir = this.#newDir();
    this.#privateDirs.add(dir);
    parent.entries.set(name, dir);
    return dir;
  }

  #makePrivate(parent: DirNode, name: string, node: Node): DirNode {
    if (node.kind !== 'dir') throw ERRNO_ERRORS.EEXIST;
    if (!node.readonly) throw ERRNO_ERRORS.EINVAL;
    if (this.#privateDirs.has(node)) return node;
    const copy: DirNode = { ...node, entries: new Map(node.entries) };
    this.#privateDirs.add(copy);
    parent.entries.set(name, copy);
    return copy;
  }

  #merge(parent: DirNode, name: string, node: Node): void {
    const taken = parent.entries.get(name);
    if (taken === undefined) {
      parent.entries.set(name, node);
      return;
    }
    if (node.kind !== 'dir') throw ERRNO_ERRORS.EEXIST;
    const dir = this.#makePrivate(parent, name, taken);
    for (const [childName, child] of node.entries) this.#merge(dir, childName, child);
  }
}
