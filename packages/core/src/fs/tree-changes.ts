/** Computes the difference between the contents of a writable root and the tree that its nodes were created from. */
import { byCodeUnit } from './file-names.ts';
import { type Entry, toEntry } from './flat-entries.ts';
import type { FileTree } from './immutable-file-tree.ts';
import { LazyDirEntries } from './lazy-directory-entries.ts';
import { type DirNode, type Node, visitTree } from './nodes.ts';

/** The difference between a tree and its baseline. All lists are sorted by path. */
export interface TreeChanges {
  /** Paths of regular files. A file whose mode or modification time alone changed is not modified. */
  created: string[];
  modified: string[];
  deleted: string[];
  /** Paths of any kind that a mirror must remove before it adds `entries`. */
  removed: string[];
  /** Entries that a mirror must add or replace: nodes that are new, replaced, written, or have a new mode or time. */
  entries: Entry[];
}

/** The changes below `root` since its nodes were created from `baseline`. The time depends on the nodes in memory only. */
export function diffTree(root: DirNode, baseline: FileTree): TreeChanges {
  const changes: TreeChanges = { created: [], modified: [], deleted: [], removed: [], entries: [] };
  const pending: LazyDirEntries[] = [root.entries as LazyDirEntries];
  const addUnmoved = (path: string, node: Node) => {
    const { mode, mtimeMs } = node.origin!;
    const isWritten = node.kind === 'file' && node.changed;
    if (isWritten) changes.modified.push(path);
    if (isWritten || mode !== node.mode || mtimeMs !== node.mtimeMs)
      changes.entries.push(toEntry(path, node));
    if (node.kind === 'dir') pending.push(node.entries as LazyDirEntries);
  };
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (const [name, node] of next.loaded) addUnmoved(next.prefix + name, node);
    for (const [name, node] of next.changed) {
      const path = next.prefix + name;
      if (node !== null && isUnmoved(node, path, baseline)) addUnmoved(path, node);
      else replace(changes, baseline, path, node);
    }
  }
  for (const list of [changes.created, changes.modified, changes.deleted, changes.removed])
    list.sort(byCodeUnit);
  changes.entries.sort((a, b) => byCodeUnit(a.path, b.path));
  return changes;
}

/** Whether a node is where it was when it was created from the baseline; it may have been moved away and back. */
function isUnmoved(node: Node, path: string, baseline: FileTree): boolean {
  if (node.origin === undefined || node.origin !== baseline.get(path)) return false;
  if (node.kind !== 'dir') return true;
  const { entries } = node;
  return (
    entries instanceof LazyDirEntries && entries.source.tree === baseline && entries.prefix === `${path}/`
  );
}

/** Adds the changes between what the baseline has at a path and `node`, which is null if the path was removed. */
function replace(changes: TreeChanges, baseline: FileTree, path: string, node: Node | null): void {
  const present = new Set<string>();
  const add = (at: string, one: Node) => {
    present.add(at);
    changes.entries.push(toEntry(at, one));
    const old = baseline.get(at)?.kind;
    if (one.kind === 'file') (old === 'file' ? changes.modified : changes.created).push(at);
    else if (old === 'file') changes.deleted.push(at);
  };
  if (node !== null) add(path, node);
  if (node?.kind === 'dir') visitTree(node, (below, one) => add(`${path}/${below}`, one));
  const remove = ({ path: at, kind }: Entry) => {
    if (present.has(at)) return;
    changes.removed.push(at);
    if (kind === 'file') changes.deleted.push(at);
  };
  const old = baseline.get(path);
  if (old !== undefined) remove(old);
  if (old?.kind === 'dir') for (const entry of baseline.below(path)) remove(entry);
}
