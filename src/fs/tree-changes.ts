/** Computes the difference between a file tree and its baseline. */
import { type Entry, toEntry } from './flat-entries.ts';
import { byCodeUnit, type DirNode, type Node, visitTree } from './nodes.ts';

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

/** The state of each node when the baseline was taken, by path. */
export type TreeBaseline = Map<string, { node: Node; mode: number; mtimeMs: number }>;

/** Records the current state of the tree. */
export function takeBaseline(root: DirNode): TreeBaseline {
  const baseline: TreeBaseline = new Map();
  visitTree(root, (path, node) => {
    if (node.kind === 'file') node.changed = false;
    baseline.set(path, { node, mode: node.mode, mtimeMs: node.mtimeMs });
  });
  return baseline;
}

/** The changes below `root` since `baseline` was taken. */
export function diffTree(root: DirNode, baseline: TreeBaseline): TreeChanges {
  const changes: TreeChanges = { created: [], modified: [], deleted: [], removed: [], entries: [] };
  const present = new Set<string>();
  visitTree(root, (path, node) => {
    present.add(path);
    const old = baseline.get(path);
    const isSame = old?.node === node && !(node.kind === 'file' && node.changed);
    if (isSame && old.mode === node.mode && old.mtimeMs === node.mtimeMs) return;
    changes.entries.push(toEntry(path, node));
    if (isSame) return;
    if (node.kind === 'file') (old?.node.kind === 'file' ? changes.modified : changes.created).push(path);
    else if (old?.node.kind === 'file') changes.deleted.push(path);
  });
  for (const [path, { node }] of baseline) {
    if (present.has(path)) continue;
    changes.removed.push(path);
    if (node.kind === 'file') changes.deleted.push(path);
  }
  for (const list of [changes.created, changes.modified, changes.deleted, changes.removed])
    list.sort(byCodeUnit);
  changes.entries.sort((a, b) => byCodeUnit(a.path, b.path));
  return changes;
}
