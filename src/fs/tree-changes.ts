/** Difference between a tree and its baseline. */
import { type Entry, toEntry } from './entries.ts';
import { byCodeUnit, type DirNode, type Node, visitTree } from './tree.ts';

/** What to take away from a tree and what to put into it, in this order. */
export interface TreeEdit {
  readonly removed: readonly string[];
  readonly entries: readonly Entry[];
}

/** Difference of a tree to its baseline; all lists are sorted by path. */
export interface TreeChanges {
  /** Regular files that are new, written or replaced, and gone. Touching time or mode does not make one modified. */
  created: string[];
  modified: string[];
  deleted: string[];
  /** Paths of any kind that a mirror has to drop before it puts `entries`. */
  removed: string[];
  /** Everything a mirror has to put: new, replaced and written nodes, and those with another mode or time. */
  entries: Entry[];
}

/** What `compare` remembers of a node, by path. */
export type TreeBaseline = Map<string, { node: Node; mode: number; mtimeMs: number }>;

/** Makes the present tree the baseline of later comparisons. */
export function takeBaseline(root: DirNode): TreeBaseline {
  const baseline: TreeBaseline = new Map();
  visitTree(root, (path, node) => {
    if (node.kind === 'file') node.changed = false;
    baseline.set(path, { node, mode: node.mode, mtimeMs: node.mtimeMs });
  });
  return baseline;
}

/** What changed below `root` since `baseline` was taken. */
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

/** Brings a mirror of the baseline to the state of the tree that `changes` was taken from. */
export function applyChanges(entries: Map<string, Entry>, changes: TreeEdit): void {
  for (const path of changes.removed) entries.delete(path);
  for (const entry of changes.entries) entries.set(entry.path, entry);
}
