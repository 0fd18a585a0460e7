/**
 * Sends the files of a workspace to a thread as the difference from what the thread already has. The main thread decides
 * what a thread keeps; both sides apply the same edits, and the thread verifies that it got the same tree.
 */
import { SandboxError } from '../../errors.ts';
import { checkTreeEdit } from '../../fs/check-tree-edit.ts';
import type { TreeEdit } from '../../fs/flat-entries.ts';
import { EMPTY_TREE, type FileTree } from '../../fs/immutable-file-tree.ts';

/** What a thread keeps: at most this many trees, with at most this many bytes of files together. */
const MAX_TREES = 8;
const MAX_BYTES = 64 * 1024 * 1024;

/** The files of a workspace at the start of a call. */
export interface WorkspaceSnapshot {
  /** Identifies the workspace. */
  readonly id: string;
  readonly tree: FileTree;
}

/** A snapshot as a thread receives it. */
export interface TreeUpdate {
  readonly id: string;
  /** Version of the tree that the edit applies to; null stands for the empty tree. */
  readonly base: number | null;
  readonly version: number;
  readonly edit: TreeEdit;
  /** Totals of the result. */
  readonly size: number;
  readonly bytes: number;
  readonly pathBytes: number;
  /** Whether the next update can refer to the result. */
  readonly isKept: boolean;
  /** Workspaces whose trees the thread discards. */
  readonly discarded: readonly string[];
}

interface KeptTree {
  readonly version: number;
  readonly tree: FileTree;
}

/** The trees of a thread by workspace, least recently used first. Both sides make the same changes to them. */
class KeptTrees {
  protected readonly trees = new Map<string, KeptTree>();

  /** Replaces the tree of a workspace, and removes those that the update discards. */
  protected replace({ id, version, isKept, discarded }: TreeUpdate, tree: FileTree): void {
    for (const other of [id, ...discarded]) this.trees.delete(other);
    if (isKept) this.trees.set(id, { version, tree });
  }

  /** Records the files that the call which got the update has left. An empty workspace is kept once it has files. */
  recordChanges({ id, version, size }: TreeUpdate, after: (before: FileTree) => FileTree): void {
    const known = this.trees.get(id) ?? (size === 0 ? { version, tree: EMPTY_TREE } : undefined);
    if (known === undefined) return;
    const tree = after(known.tree);
    if (tree.size > 0) this.trees.set(id, { ...known, tree });
  }

  /** Removes the tree of a workspace. Returns whether there was one. */
  discard(id: string): boolean {
    return this.trees.delete(id);
  }
}

/** The trees that one thread has, as the main thread knows them. */
export class SentTrees extends KeptTrees {
  #lastVersion = 0;

  /** Describes a snapshot to the thread. `recordSent` must follow once the update is sent. */
  updateTo({ id, tree }: WorkspaceSnapshot): TreeUpdate {
    const known = this.trees.get(id);
    const { size, bytes, pathBytes } = tree;
    // An empty tree needs no update, and the thread need not be told when its workspace is closed.
    const isKept = size > 0 && bytes <= MAX_BYTES;
    return {
      id,
      base: known?.version ?? null,
      version: ++this.#lastVersion,
      edit: (known?.tree ?? EMPTY_TREE).difference(tree),
      size,
      bytes,
      pathBytes,
      isKept,
      discarded: bytes <= MAX_BYTES ? this.#surplus(id, bytes) : [],
    };
  }

  /** The least recently used trees that have to make room for another one. */
  #surplus(id: string, bytes: number): string[] {
    const others = [...this.trees].filter(([other]) => other !== id);
    let total = others.reduce((sum, [, { tree }]) => sum + tree.bytes, bytes);
    const surplus: string[] = [];
    for (const [other, { tree }] of others) {
      if (others.length - surplus.length < MAX_TREES && total <= MAX_BYTES) break;
      surplus.push(other);
      total -= tree.bytes;
    }
    return surplus;
  }

  recordSent(update: TreeUpdate, tree: FileTree): void {
    this.replace(update, tree);
  }
}

/** The trees that this thread has. */
export class ReceivedTrees extends KeptTrees {
  /** Returns the tree that an update describes. Throws `internal` if it is not the tree that was sent. */
  receive(update: TreeUpdate): FileTree {
    const { id, base, edit, size, bytes, pathBytes } = update;
    const known = this.trees.get(id);
    // Until the update is known to be valid, the thread has no tree of the workspace.
    this.replace({ ...update, isKept: false }, EMPTY_TREE);
    if (base !== null && known?.version !== base)
      throw invalid('refers to a tree that this thread does not have');
    const before = base === null ? EMPTY_TREE : known!.tree;
    const tree = before.apply(edit);
    checkTreeEdit(before, tree, edit, 'internal');
    if (tree.size !== size || tree.bytes !== bytes || tree.pathBytes !== pathBytes)
      throw invalid('does not produce the expected file tree');
    this.replace(update, tree);
    return tree;
  }
}

function invalid(problem: string): SandboxError {
  return new SandboxError('internal', `The update of a workspace ${problem}. Run the call again.`);
}
