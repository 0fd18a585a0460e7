/** The file system of a run: the layers of the runtime, the mounts of the sandbox, and the workspace. */

import { readOnlyTree } from '../../fs/flat-entries.ts';
import type { DirNode, Node } from '../../fs/nodes.ts';
import { Volume } from '../../fs/volume.ts';
import type { MountSet, RunJob } from '../protocol/messages.ts';

export interface MountedLayer {
  readonly at: string;
  readonly tree: DirNode;
}

/** Number of mount sets whose trees are cached; a sandbox uses the same set for every call. */
const MAX_CACHED_MOUNT_SETS = 8;
/** Layer number of the first mount; the numbers below are for the layers of the runtime. */
const FIRST_MOUNT_LAYER = 32;

const mountTrees = new Map<string, { at: string; tree: Node }[]>();

function treesOf({ id, mounts }: MountSet): { at: string; tree: Node }[] {
  let trees = mountTrees.get(id);
  if (trees === undefined) {
    trees = mounts.map(({ at, entries, isFile }, i) => {
      const root = readOnlyTree(entries, FIRST_MOUNT_LAYER + i);
      return { at, tree: isFile ? [...root.entries.values()][0]! : root };
    });
    mountTrees.set(id, trees);
    if (mountTrees.size > MAX_CACHED_MOUNT_SETS) mountTrees.delete(mountTrees.keys().next().value!);
  }
  return trees;
}

/** Creates the volume of a run, with an empty workspace. `now` dates the files that are written to it. */
export function createVolume(
  layers: readonly MountedLayer[],
  job: Pick<RunJob, 'limits' | 'mountSet'>,
  now: () => number,
): Volume {
  const { workspace_max_bytes: maxBytes, workspace_max_files: maxFiles, home } = job.limits;
  const volume = new Volume({ maxBytes, maxFiles }, now, home);
  for (const { at, tree } of layers) volume.mount(at, tree);
  for (const { at, tree } of treesOf(job.mountSet)) volume.mount(at, tree);
  return volume;
}
