/**
 * Applies changes by the host to a volume that a guest is using. A modified file keeps its node, so descriptors that the
 * guest has open see the new contents, as on a POSIX system.
 */
import type { TreeEdit } from './tree-changes.ts';
import type { Volume, WritableRoot } from './volume.ts';

/** Applies the removals, then the entries, below `at`. Entries must be sorted: a directory before its contents. */
export function applyHostEdit(volume: Volume, at: WritableRoot, edit: TreeEdit): void {
  // Children come before their directory, which must be empty when it is removed.
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
