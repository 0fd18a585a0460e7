/**
 * Sends the files of a workspace to a thread as the difference from what the thread already has. The main thread decides
 * what a thread keeps; both sides apply the same edits, and the thread verifies that it got the same tree.
 */
import { SandboxError } from '../errors.ts';
import { checkTreeEdit } from '../fs/check-tree-edit.ts';
import { EMPTY_TREE, type FileTree } from '../fs/file-tree.ts';
import type { TreeEdit } from '../fs/flat-entries.ts';

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

/** The trees that one thread has, as the main thread knows them. */
export class SentTrees {
  /** Least recently used first. */
  readonly #trees = new Map<string, KeptTree>();
  #lastVersion = 0;

  /** Describes a snapshot to the thread. `recordSent` must follow once the update is sent. */
  updateTo({ id, tree }: WorkspaceSnapshot): TreeUpdate {
    const known = this.#trees.get(id);
    const { size, bytes, pathBytes } = tree;
    const isKept = bytes <= MAX_BYTES;
    return {
      id,
      base: known?.version ?? null,
      version: ++this.#lastVersion,
      edit: (known?.tree ?? EMPTY_TREE).difference(tree),
      size,
      bytes,
      pathBytes,
      isKept,
      discarded: isKept ? this.#surplus(id, bytes) : [],
    };
  }

  /** The least recently used trees that have to make room for another one. */
  #surplus(id: string, bytes: number): string[] {
    const others = [...this.#trees].filter(([other]) => other !== id);
    let total = others.reduce((sum, [, { tree }]) => sum + tree.bytes, bytes);
    const surplus: string[] = [];
    for (const [other, { tree }] of others) {
      if (others.length - surplus.length < MAX_TREES && total <= MAX_BYTES) break;
      surplus.push(other);
      total -= tree.bytes;
    }
    return surplus;
  }

  recordSent({ id, version, isKept, discarded }: TreeUpdate, tree: FileTree): void {
    for (const other of [id, ...discarded]) this.#trees.delete(other);
    if (isKept) this.#trees.set(id, { version, tree });
  }

  /** The call that got the tree has changed it; the thread applies the same changes. */
  recordChanges(id: string, changes: TreeEdit): void {
    const known = this.#trees.get(id);
    if (known !== undefined) this.#trees.set(id, { ...known, tree: known.tree.apply(changes) });
  }

  /** Assumes nothing about a workspace any more. Returns whether the thread may have its tree. */
  forget(id: string): boolean {
    return this.#trees.delete(id);
  }
}

/** The trees that this thread has. */
export class ReceivedTrees {
  readonly #trees = new Map<string, KeptTree>();

  /** Returns the tree that an update describes. Throws `internal` if it is not the tree that was sent. */
  receive({ id, base, version, edit, isKept, discarded, ...totals }: TreeUpdate): FileTree {
    const known = this.#trees.get(id);
    for (const other of [id, ...discarded]) this.#trees.delete(other);
    if (base !== null && known?.version !== base)
      throw invalid('refers to a tree that this thread does not have');
    const before = base === null ? EMPTY_TREE : known!.tree;
    const tree = before.apply(edit);
    checkTreeEdit(before, tree, edit, 'internal');
    if (tree.size !== totals.size || tree.bytes !== totals.bytes || tree.pathBytes !== totals.pathBytes)
      throw invalid('does not lead to the tree that was sent');
    if (isKept) this.#trees.set(id, { version, tree });
    return tree;
  }

  /** Applies the changes of the call that got the tree. */
  applyChanges(id: string, changes: TreeEdit): void {
    const known = this.#trees.get(id);
    if (known !== undefined) this.#trees.set(id, { ...known, tree: known.tree.apply(changes) });
  }

  discard(id: string): void {
    this.#trees.delete(id);
  }
}

function invalid(problem: string): SandboxError {
  return new SandboxError('internal', `The update of a workspace ${problem}. Run the call again.`);
}
