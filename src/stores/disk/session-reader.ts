/**
 * Reads a session's folder as if an enemy had filled it: shapes, digests and sizes are checked before anything is
 * believed, and no more is read than the limit allows. Needs no lock: what a writer takes away meanwhile is noticed, and
 * the reading starts again with what the writer put in its place.
 */
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { SandboxError } from '../../errors.ts';
import type { Entry } from '../../fs/entries.ts';
import {
  decodeSession,
  decodeTree,
  MAX_SESSION_FILE_BYTES,
  MAX_TREE_BYTES,
  type SessionContents,
  type SessionManifest,
  type StateManifest,
  type TreeEntry,
  toEntry,
} from '../format/manifest.ts';
import type { SalvagedWorkspace, SessionState, StoredSession } from '../store.ts';
import { compareOutside } from './external-edits.ts';
import {
  MissingObject,
  type ObjectKind,
  type ObjectRef,
  type ObjectSource,
  objectName,
} from './object-files.ts';
import { parentOf } from './paths.ts';
import { damaged, inParallel, isAbsent, isFolder, readFileSafely } from './safe-files.ts';
import { Mirror } from './workspace-mirror.ts';

export const SESSION_FILE = 'session.json';
export const WORKSPACE_FOLDER = 'workspace';
const ATTEMPTS = 100;

/** What session.json says, or undefined when there is no session. */
export async function readManifest(folder: string, id: string): Promise<SessionManifest | undefined> {
  const path = join(folder, SESSION_FILE);
  if (!(await isFolder(folder))) return undefined;
  const bytes = await readFileSafely(path, { maxBytes: MAX_SESSION_FILE_BYTES });
  if (bytes === undefined) {
    // The first write makes the workspace folder only after session.json, so a lone one was left by something else.
    if (await isFolder(join(folder, WORKSPACE_FOLDER))) throw damaged(path, 'is missing');
    return undefined;
  }
  const manifest = decodeSession(bytes, path);
  if (manifest.record.session_id !== id) throw damaged(path, 'is about another session');
  return manifest;
}

/** The tree that a manifest refers to. */
export async function readTree(objects: ObjectSource, ref: ObjectRef | null): Promise<TreeEntry[]> {
  if (ref === null) return [];
  const path = join(objects.folder, objectName('tree', ref));
  if (ref.bytes > MAX_TREE_BYTES) throw damaged(path, `is said to have ${ref.bytes} bytes`);
  return decodeTree(await objects.read('tree', ref), path);
}

/** The whole session, verified; undefined when there is none. */
export async function readSession(
  folder: string,
  id: string,
  objects: ObjectSource,
  maxBytes: number,
): Promise<StoredSession | undefined> {
  let commit: string | undefined;
  for (let attempt = 0; ; attempt++) {
    const manifest = await readManifest(folder, id);
    if (manifest === undefined) return undefined;
    try {
      return await readStates(manifest, objects, maxBytes);
    } catch (error) {
      if (!(error instanceof MissingObject)) throw error;
      if (manifest.commit === commit || attempt >= ATTEMPTS) throw damaged(error.message, 'is missing');
      commit = manifest.commit;
    }
  }
}

/** What a description of a session and the objects it names amount to. */
export async function readStates(
  { record, state, undo, checkpoints }: SessionContents,
  objects: ObjectSource,
  maxBytes: number,
): Promise<StoredSession> {
  const states = [state, ...(undo === null ? [] : [undo]), ...checkpoints.map((kept) => kept.state)];
  const treeRefs = states.flatMap(({ workspace, tmp }) => [workspace, tmp]).filter((ref) => ref !== null);
  const wanted = new Map(treeRefs.map((ref) => [objectName('tree', ref), ref]));
  refuseMore(wanted.values(), maxBytes, objects);
  const trees = new Map<string, readonly TreeEntry[]>();
  for (const [name, ref] of wanted) trees.set(name, await readTree(objects, ref));
  const contents = await readContents(states, trees, objects, maxBytes);
  const entriesOf = (ref: ObjectRef | null): Entry[] =>
    (ref === null ? [] : trees.get(objectName('tree', ref))!).map((entry) =>
      toEntry(entry, entry.kind === 'file' ? contents.get(objectName('data', entry)) : undefined),
    );
  const build = ({ version, memory, workspace, tmp }: StateManifest): SessionState => ({
    version,
    delta: memory === null ? undefined : contents.get(objectName('memory', memory)),
    workspace: new Map(entriesOf(workspace).map((entry) => [entry.path, entry])),
    tmp: entriesOf(tmp),
  });
  return {
    record,
    state: build(state),
    undo: undo === null ? undefined : build(undo),
    checkpoints: checkpoints.map((kept) => ({ ...kept, state: build(kept.state) })),
  };
}

/** All memories and file contents, each once, by object name; refuses before reading when they are too many. */
async function readContents(
  states: readonly StateManifest[],
  trees: ReadonlyMap<string, readonly TreeEntry[]>,
  objects: ObjectSource,
  maxBytes: number,
): Promise<Map<string, Uint8Array>> {
  const wanted = new Map<string, readonly [ObjectKind, ObjectRef]>();
  for (const { memory } of states) {
    if (memory !== null) wanted.set(objectName('memory', memory), ['memory', memory]);
  }
  for (const entry of [...trees.values()].flat()) {
    if (entry.kind === 'file') wanted.set(objectName('data', entry), ['data', entry]);
  }
  refuseMore(
    [...wanted.values()].map(([, ref]) => ref),
    maxBytes,
    objects,
  );
  const contents = new Map<string, Uint8Array>();
  await inParallel(wanted, async ([name, [kind, ref]]) => {
    contents.set(name, await objects.read(kind, ref));
  });
  return contents;
}

function refuseMore(refs: Iterable<ObjectRef>, maxBytes: number, { folder }: ObjectSource): void {
  let total = 0;
  for (const { bytes } of refs) total += bytes;
  if (total > maxBytes) throw damaged(folder, `is said to hold ${total} bytes, more than ${maxBytes}`);
}

/** What can be had of a damaged session's files: those in workspace/, and of the rest what is still intact. */
export async function salvage(
  folder: string,
  id: string,
  objects: ObjectSource,
  maxBytes: number,
  damage: string,
): Promise<SalvagedWorkspace> {
  const mirror = new Mirror(join(folder, WORKSPACE_FOLDER));
  const found = new Map<string, Entry>();
  if (mirror.exists()) {
    const { edits } = await compareOutside(mirror, { tree: new Map(), laid: new Map() }, false);
    for (const entry of edits.entries) found.set(entry.path, entry);
  }
  let freeBytes = maxBytes;
  for (const described of await intactTree(folder, id, objects)) {
    const parent = parentOf(described.path);
    if (found.has(described.path) || (parent !== '' && found.get(parent)?.kind !== 'dir')) continue;
    let data: Uint8Array | undefined;
    if (described.kind === 'file') {
      if (described.bytes > freeBytes) continue;
      data = await intact(() => objects.read('data', described));
      if (data === undefined) continue;
      freeBytes -= data.length;
    }
    found.set(described.path, toEntry(described, data));
  }
  return { workspace: new Map([...found].sort(([a], [b]) => (a < b ? -1 : 1))), damage };
}

async function intactTree(folder: string, id: string, objects: ObjectSource): Promise<TreeEntry[]> {
  const manifest = await intact(() => readManifest(folder, id));
  return (manifest && (await intact(() => readTree(objects, manifest.state.workspace)))) ?? [];
}

/** Undefined when what is asked for is missing or damaged. */
async function intact<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof SandboxError || error instanceof MissingObject) return undefined;
    throw error;
  }
}

/** Bytes of all regular files below a folder. */
export async function sizeOf(folder: string): Promise<number> {
  let total = 0;
  const folders = (await isFolder(folder)) ? [folder] : [];
  for (let next = folders.pop(); next !== undefined; next = folders.pop()) {
    const entries = await readdir(next, { withFileTypes: true }).catch((error) => {
      if (isAbsent(error)) return [];
      throw error;
    });
    await inParallel(entries, async (entry) => {
      const path = join(entry.parentPath, entry.name);
      if (entry.isDirectory()) folders.push(path);
      // Gone since it was listed: weighs nothing.
      const bytes = entry.isFile()
        ? await lstat(path).then(
            ({ size }) => size,
            () => 0,
          )
        : 0;
      total += bytes;
    });
  }
  return total;
}
