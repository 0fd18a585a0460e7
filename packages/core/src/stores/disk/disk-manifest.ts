/**
 * The file session.json: the manifest of a session plus what only a disk store needs. Replacing it is the commit of a
 * write.
 *
 *   session.json   { ...manifest, commit: UUID of this write, unsynced: ref | null }
 *   unsynced       references a changes object: the paths that this commit changes in workspace/
 *   changes        [[path, digest of the file before | null], …]
 */

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import * as z from 'zod';
import { finishInSlices } from '../../concurrency/slices.ts';
import { isWorkspacePath } from '../../fs/file-names.ts';
import { formatCount, formatItems } from '../../quantities.ts';
import { type ObjectSource, objectName, refTo } from '../format/object-ref.ts';
import {
  MAX_MANIFEST_BYTES,
  type StateManifest,
  sessionManifest,
  toSessionManifest,
} from '../format/session-codec.ts';
import { damaged, decodeJson, encodeText, jsonLines } from '../format/stored-json.ts';
import { MAX_TREE_BYTES, objectRef } from '../format/stored-tree.ts';
import type { StoredSession } from '../store.ts';
import { isFolder, readFileSafely } from './safe-files.ts';

export const MANIFEST_FILE = 'session.json';
export const WORKSPACE_FOLDER = 'workspace';

const diskManifest = sessionManifest.extend({ commit: z.uuid(), unsynced: objectRef.nullable() });
export type DiskManifest = z.infer<typeof diskManifest>;

/** Reads session.json; undefined if the session does not exist. */
export async function readDiskManifest(folder: string, id: string): Promise<DiskManifest | undefined> {
  const path = join(folder, MANIFEST_FILE);
  if (!(await isFolder(folder))) return undefined;
  const bytes = await readFileSafely(path, { maxBytes: MAX_MANIFEST_BYTES });
  if (bytes === undefined) {
    // The first write creates workspace/ after session.json, so workspace/ alone means that session.json was removed.
    if (await isFolder(join(folder, WORKSPACE_FOLDER))) throw damaged(path, 'is missing');
    return undefined;
  }
  const manifest = decodeJson(diskManifest, bytes, path);
  if (manifest.record.session_id !== id) throw damaged(path, 'belongs to another session');
  return manifest;
}

export function newDiskManifest(
  session: StoredSession,
  storedStates: ReadonlyMap<string, StateManifest>,
  changes: Uint8Array | undefined,
): DiskManifest {
  const { format, ...rest } = toSessionManifest(session, storedStates);
  const unsynced = changes === undefined ? null : refTo(changes);
  return { format, commit: randomUUID(), ...rest, unsynced };
}

/** Paths that a commit changes in workspace/, with the digest of the file that was there before. */
export type MirrorChanges = ReadonlyMap<string, string | null>;

const changesObject = z.array(z.tuple([z.string(), objectRef.shape.sha256.nullable()]));

export const encodeChanges = async (changes: MirrorChanges) =>
  encodeText(`[\n${await finishInSlices(jsonLines(changes))}\n]\n`);

/** Reads the changes that a commit references. */
export async function readChanges(
  objects: ObjectSource,
  ref: NonNullable<DiskManifest['unsynced']>,
): Promise<MirrorChanges> {
  const path = join(objects.location, objectName('changes', ref));
  if (ref.bytes > MAX_TREE_BYTES)
    throw damaged(
      path,
      `has a declared size of ${formatItems(ref.bytes, 'byte')}; the maximum is ${formatCount(MAX_TREE_BYTES)}`,
    );
  const changes = decodeJson(changesObject, await objects.read('changes', ref), path);
  if (!changes.every(([changed]) => isWorkspacePath(changed)))
    throw damaged(path, 'contains a path outside the workspace');
  return new Map(changes);
}
