/**
 * The mounted host files of this process. Sandboxes with the same mounts share one copy in shared memory, which is
 * freed with the last of them. Files are compared by inode, size and times whenever a sandbox is created; a file that
 * has changed is read again, and existing sandboxes keep the old contents.
 */
import { randomUUID } from 'node:crypto';
import { type HostTree, readHostTree } from '../host/read-host-tree.ts';
import type { Policy } from '../schema.ts';
import type { MountSet } from '../worker/protocol/messages.ts';

interface SharedMounts {
  readonly mountSet: MountSet;
  readonly trees: readonly HostTree[];
}

/** By mounts. */
const shared = new Map<string, WeakRef<MountSet>>();
/** What a mount set was created from, for as long as it is in use. */
const origins = new WeakMap<MountSet, SharedMounts>();
const unused = new FinalizationRegistry<string>((key) => {
  if (shared.get(key)?.deref() === undefined) shared.delete(key);
});

/** Reads the mounts of a policy, or returns those of another sandbox if nothing has changed since it read them. */
export function openMounts(mounts: Policy['mounts']): MountSet {
  const key = JSON.stringify(mounts.map(({ host_path, guest_path }) => [host_path, guest_path]));
  const known = shared.get(key)?.deref();
  const previous = known && origins.get(known);
  const trees = mounts.map(({ host_path }, i) => readHostTree(host_path, { previous: previous?.trees[i] }));
  if (previous !== undefined && trees.every((tree, i) => tree === previous.trees[i]))
    return previous.mountSet;
  const mountSet: MountSet = {
    id: randomUUID(),
    mounts: trees.map(({ entries, isFile }, i) => ({ at: mounts[i]!.guest_path, entries, isFile })),
  };
  origins.set(mountSet, { mountSet, trees });
  shared.set(key, new WeakRef(mountSet));
  unused.register(mountSet, key);
  return mountSet;
}
