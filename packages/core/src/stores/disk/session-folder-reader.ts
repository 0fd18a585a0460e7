/**
 * Reads a session folder without holding the writer lease. If a concurrent writer removes an object, reading starts
 * again with the new commit.
 */
import { join } from 'node:path';
import type { Entry } from '../../fs/flat-entries.ts';
import { EMPTY_TREE } from '../../fs/immutable-file-tree.ts';
import { MissingObjectError, type ObjectSource } from '../format/object-ref.ts';
import { ifIntact, recoverEntries } from '../format/recover-entries.ts';
import { damaged } from '../format/stored-json.ts';
import { readTree, type TreeEntry } from '../format/stored-tree.ts';
import type { RecoveredWorkspace } from '../store.ts';
import { type DiskManifest, readDiskManifest, WORKSPACE_FOLDER } from './disk-manifest.ts';
import { findExternalEdits } from './external-edits.ts';
import { isFolder } from './safe-files.ts';
import { WorkspaceMirror } from './workspace-mirror.ts';

const MAX_ATTEMPTS = 100;

/** Reads a session with the newest manifest; undefined if it does not exist. */
export async function withManifest<T>(
  folder: string,
  id: string,
  objects: ObjectSource,
  read: (manifest: DiskManifest) => Promise<T>,
): Promise<T | undefined> {
  if (!(await isFolder(objects.location))) {
    if ((await readDiskManifest(folder, id)) === undefined) return undefined;
    throw damaged(objects.location, 'is not a folder');
  }
  let lastCommit: string | undefined;
  for (let attempt = 0; ; attempt++) {
    const manifest = await readDiskManifest(folder, id);
    if (manifest === undefined) return undefined;
    try {
      return await read(manifest);
    } catch (error) {
      if (!(error instanceof MissingObjectError)) throw error;
      if (manifest.commit === lastCommit || attempt >= MAX_ATTEMPTS) throw damaged(error.path, 'is missing');
      lastCommit = manifest.commit;
    }
  }
}

/** Returns the files of a damaged session: those in workspace/, and those whose objects are intact. */
export async function recoverWorkspace(
  folder: string,
  id: string,
  objects: ObjectSource,
  maxBytes: number,
  damage: string,
): Promise<RecoveredWorkspace> {
  const mirror = new WorkspaceMirror(join(folder, WORKSPACE_FOLDER), 'relaxed');
  const recovered = new Map<string, Entry>();
  if (mirror.exists()) {
    const { edits } = await findExternalEdits(mirror, { tree: EMPTY_TREE, mirrored: new Map() }, false);
    for (const entry of edits.entries) recovered.set(entry.path, entry);
  }
  await recoverEntries(await intactTree(folder, id, objects), objects, maxBytes, recovered);
  return { workspace: new Map([...recovered].sort(([a], [b]) => (a < b ? -1 : 1))), damage };
}

async function intactTree(folder: string, id: string, objects: ObjectSource): Promise<readonly TreeEntry[]> {
  const manifest = await ifIntact(() => readDiskManifest(folder, id));
  const tree = manifest && (await ifIntact(() => readTree(objects, manifest.state.workspace)));
  return tree?.entries ?? [];
}
