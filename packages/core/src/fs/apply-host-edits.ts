/**
 * Applies changes by the host to a volume that a guest is using. The result equals a volume that is filled with the changed
 * tree. A modified file keeps its node, so descriptors that the guest has open see the new contents, as on a POSIX system.
 */
import type { Entry, TreeEdit } from './flat-entries.ts';
import type { Node } from './nodes.ts';
import type { Volume, WritableRoot } from './volume.ts';

/**
 * Applies the removals, then the entries, below `root`. Entries must be sorted: a directory before its contents. Returns false
 * and changes nothing if this would remove a node in `inUse`.
 */
export function applyHostEdit(
  volume: Volume,
  root: WritableRoot,
  edit: TreeEdit,
  inUse: ReadonlySet<Node>,
): boolean {
  const at = volume.pathOf(root);
  const find = (path: string) =>
    volume.exists(`${at}/${path}`) ? volume.lookup(path, at, false) : undefined;
  const isReplaced = ({ path, kind }: Entry) => {
    const node = find(path);
    return node !== undefined && (node.kind !== kind || kind === 'symlink');
  };
  const paths = [...edit.removed, ...edit.entries.filter(isReplaced).map(({ path }) => path)];
  const nodes = paths.map(find);
  if (nodes.some((node) => node !== undefined && inUse.has(node))) return false;
  const restoreTimes = saveParentTimes(volume, at, edit);
  // Children come before their directory, which must be empty when it is removed.
  for (const path of paths.sort().reverse()) {
    const node = find(path);
    if (node?.kind === 'dir') volume.rmdir(path, at);
    else if (node !== undefined) volume.unlink(path, at);
  }
  for (const entry of edit.entries) writeEntry(volume, at, entry, find(entry.path));
  restoreTimes();
  // After the contents, because writing them changes the time of a directory.
  for (const { path, mode, mtimeMs } of edit.entries) Object.assign(find(path)!, { mode, mtimeMs });
  volume.commit(root, () => inUse);
  return true;
}

function writeEntry(volume: Volume, at: string, entry: Entry, node: Node | undefined): void {
  const { path, kind, mode, data, target } = entry;
  if (kind === 'dir' && node === undefined) volume.mkdir(path, at, mode);
  if (kind === 'symlink') volume.symlink(target!, path, at);
  if (kind !== 'file') return;
  const flags = { create: true, truncate: true, write: true, nofollow: true };
  volume.write(volume.open(path, at, flags, mode).node, 0, data!);
}

/** Directories keep their times when the host changes their contents. Returns a function that sets the times again. */
function saveParentTimes(volume: Volume, at: string, { removed, entries }: TreeEdit): () => void {
  const times = new Map<Node, number>();
  for (const path of [...removed, ...entries.map((entry) => entry.path)]) {
    const parent = `${at}/${path}`.slice(0, -(path.length - path.lastIndexOf('/')));
    if (!volume.exists(parent)) continue;
    const node = volume.lookup(parent, '/', false);
    times.set(node, times.get(node) ?? node.mtimeMs);
  }
  return () => {
    for (const [node, mtimeMs] of times) node.mtimeMs = mtimeMs;
  };
}
