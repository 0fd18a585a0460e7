/**
 * Changes that the host makes to a tree a guest is using: files keep their nodes, so that what the guest has open sees
 * the new contents, as it would on any machine.
 */
import type { TreeEdit } from './tree-changes.ts';
import type { Volume, WritableRoot } from './volume.ts';

/** Applies removals and then entries below `at`; entries must be sorted so that folders come before what is in them. */
export function applyHostEdit(volume: Volume, at: WritableRoot, edit: TreeEdit): void {
  // Deepest first, so that folders are empty when their turn comes.
  for (const path of [...edit.removed].sort().reverse()) remove(volume, at, path);
  for (const entry of edit.entries) {
    const { path, kind } = entry;
    const node = volume.exists(`${at}/${path}`) ? volume.lookup(path, at, false) : undefined;
    if (node !== undefined && node.kind !== kind) remove(volume, at, path);
    if (kind === 'dir' && node?.kind !== 'dir') volume.mkdir(path, at, entry.mode);
    if (kind === 'symlink') {
      remove(volume, at, path);
      volume.symlink(entry.target!, path, at);
    }
    if (kind !== 'file') continue;
    const { node: file } = volume.open(
      path,
      at,
      { create: true, truncate: true, write: true, nofollow: true },
      entry.mode,
    );
    volume.write(file, 0, entry.data!);
    volume.utimes(file, entry.mtimeMs);
  }
  volume.setBaseline(at);
}

function remove(volume: Volume, at: WritableRoot, path: string): void {
  if (!volume.exists(`${at}/${path}`)) return;
  if (volume.lookup(path, at, false).kind === 'dir') volume.rmdir(path, at);
  else volume.unlink(path, at);
}
