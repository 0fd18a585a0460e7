/**
 * A session as a manifest and the objects that the manifest references by digest. Decoding treats both as untrusted:
 * it checks shapes, sizes and digests before it uses them, and reads no more than the given limit.
 *
 *   manifest   { format, record, state, undo, checkpoints: [{ name, created_at, size_bytes, state }] }
 *   state      { version, memory: [ref, …] | null, workspace: ref | null, tmp: ref | null, paused? }   null: empty
 *   ref        { sha256, bytes }
 */

import * as z from 'zod';
import { forEachConcurrently } from '../../concurrency/for-each-concurrently.ts';
import { atOnce, finishInSlices, SLICE_BYTES, Slices } from '../../concurrency/slices.ts';
import { invalidArgument } from '../../errors.ts';
import type { Entry } from '../../fs/flat-entries.ts';
import { FileTree } from '../../fs/immutable-file-tree.ts';
import { formatCount, formatItems } from '../../quantities.ts';
import { checkpointName, pausedExecution, sessionRecord } from '../../schema.ts';
import type { SessionState, StoredSession } from '../store.ts';
import { digestInSlices } from './content-digest.ts';
import { type EncodedTree, encodeTree, type ObjectGroup } from './encode-tree.ts';
import { type ObjectKind, type ObjectRef, type ObjectSource, objectName, refTo } from './object-ref.ts';
import {
  checkpointSize,
  checkpointTime,
  checkState,
  MAX_CHECKPOINTS,
  stateVersion,
} from './session-validation.ts';
import { damaged, decodeJson, FORMAT } from './stored-json.ts';
import { fromTreeEntry, objectRef, readTree, type TreeEntry } from './stored-tree.ts';

/** A larger manifest is neither written nor read. */
export const MAX_MANIFEST_BYTES = 16 * 1024 * 1024;

/** More parts than a delta can have. */
const MAX_MEMORY_PARTS = 20_000;

const stateManifest = z.strictObject({
  version: stateVersion,
  memory: z.array(objectRef).max(MAX_MEMORY_PARTS).nullable(),
  workspace: objectRef.nullable(),
  tmp: objectRef.nullable(),
  paused: pausedExecution.optional(),
});
export type StateManifest = z.infer<typeof stateManifest>;

export const sessionManifest = z.strictObject({
  format: z.literal(FORMAT),
  record: sessionRecord,
  state: stateManifest,
  undo: stateManifest.nullable(),
  checkpoints: z
    .array(
      z.strictObject({
        name: checkpointName,
        created_at: checkpointTime,
        size_bytes: checkpointSize,
        state: stateManifest,
      }),
    )
    .max(MAX_CHECKPOINTS),
});
export type SessionManifest = z.infer<typeof sessionManifest>;

export const decodeSessionManifest = (bytes: Uint8Array, path: string) =>
  decodeJson(sessionManifest, bytes, path);

interface EncodedState {
  readonly manifest: StateManifest;
  /** The objects that the manifest needs. Consecutive states share most groups. */
  readonly groups: readonly ObjectGroup[];
  /** The files of /app. States with the same files have the same tree. */
  readonly workspace: FileTree;
}

const encodedStates = new WeakMap<SessionState, EncodedState>();
/** Most calls do not change the workspace, so states share it. */
const encodedWorkspaces = new WeakMap<FileTree, EncodedTree>();

/** Encodes states of one session in the given order. What they share is encoded once. Throws if a state is invalid. */
export async function encodeStates(states: readonly SessionState[]): Promise<EncodedState[]> {
  const encoded: EncodedState[] = [];
  let before: ReadonlyMap<string, Entry> | undefined;
  // The last ones are the oldest, which are encoded already in most cases.
  for (const state of states.toReversed()) {
    await hashContents(state, before);
    encoded.push(await finishInSlices(encodeSteps(state, before)));
    before = state.workspace;
  }
  return encoded.reverse();
}

/** The objects that a state needs, by name. */
export function* objectsOf({ groups }: EncodedState): Generator<[name: string, bytes: Uint8Array]> {
  for (const group of groups) yield* group;
}

/** Hashes what a state contains, except for what it shares with `before`, without blocking the event loop; the digests are cached. */
async function hashContents(
  state: SessionState,
  before: ReadonlyMap<string, Entry> | undefined,
): Promise<void> {
  if (encodedStates.has(state)) return;
  for (const part of state.delta ?? []) if (part.length > SLICE_BYTES) await digestInSlices(part);
  const { workspace } = state;
  const files =
    workspace instanceof FileTree && before instanceof FileTree
      ? before.difference(workspace).entries
      : workspace.values();
  for (const entries of [files, state.tmp])
    for (const { data } of entries)
      if (data !== undefined && data.length > SLICE_BYTES) await digestInSlices(data);
}

/** Encodes a state at once, unless it is encoded already. */
const encodeState = (state: SessionState): EncodedState => atOnce(encodeSteps(state, undefined));

/**
 * Encodes a state; the result is cached because states never change. `before` is the workspace of another state of the
 * session, see `checkState`. Throws if the state is invalid.
 */
function* encodeSteps(
  state: SessionState,
  before: ReadonlyMap<string, Entry> | undefined,
): Generator<undefined, EncodedState> {
  const cached = encodedStates.get(state);
  if (cached !== undefined) return cached;
  const files = checkState(state, before);
  const known = before instanceof FileTree ? encodedWorkspaces.get(before) : undefined;
  const workspace = encodedWorkspaces.get(files.workspace) ?? (yield* encodeTree(files.workspace, known));
  encodedWorkspaces.set(files.workspace, workspace);
  const tmp = yield* encodeTree(FileTree.from(files.tmp));
  const memory = new Map<string, Uint8Array>();
  const encoded: EncodedState = {
    manifest: {
      version: state.version,
      memory: state.delta?.map((part) => addMemory(memory, part)) ?? null,
      workspace: workspace.ref,
      tmp: tmp.ref,
      ...(state.paused !== undefined && { paused: state.paused }),
    },
    groups: [memory, ...tmp.groups, ...workspace.groups],
    workspace: files.workspace,
  };
  encodedStates.set(state, encoded);
  return encoded;
}

function addMemory(objects: Map<string, Uint8Array>, bytes: Uint8Array): ObjectRef {
  const ref = refTo(bytes);
  objects.set(objectName('memory', ref), bytes);
  return ref;
}

/** The stored states of checkpoints that the session object does not contain, by name. `stored`: those of the store. */
export function storedStates(
  stored: SessionManifest['checkpoints'] | undefined,
  { checkpoints }: StoredSession,
): Map<string, StateManifest> {
  const states = new Map<string, StateManifest>();
  for (const { name, created_at, state } of checkpoints) {
    if (state !== undefined) continue;
    const found = stored?.find((one) => one.name === name && one.created_at === created_at);
    if (found === undefined) {
      const problem = `${JSON.stringify(name)} has no state, and the store has no checkpoint with this name and time`;
      throw invalidArgument(`session.checkpoints: ${problem}.`);
    }
    states.set(name, found.state);
  }
  return states;
}

/** `stored` are the states of checkpoints that the session object does not contain, by name. */
export function toSessionManifest(
  { record, state, undo, checkpoints }: StoredSession,
  stored: ReadonlyMap<string, StateManifest> = new Map(),
): SessionManifest {
  return {
    format: FORMAT,
    record: {
      ...record,
      imports: [...record.imports],
      declared: [...record.declared],
      preload: [...record.preload],
    },
    state: encodeState(state).manifest,
    undo: undo === undefined ? null : encodeState(undo).manifest,
    checkpoints: checkpoints.map((checkpoint) => ({
      name: checkpoint.name,
      created_at: checkpoint.created_at,
      size_bytes: checkpoint.size_bytes,
      state: checkpoint.state ? encodeState(checkpoint.state).manifest : stored.get(checkpoint.name)!,
    })),
  };
}

/** The session that a manifest describes, without the states of its checkpoints. */
export async function sessionFrom(
  { record, state, undo, checkpoints }: SessionManifest,
  objects: ObjectSource,
  maxBytes: number,
): Promise<StoredSession> {
  const [current, previous] = await readStates(undo === null ? [state] : [state, undo], objects, maxBytes);
  return {
    record,
    state: current!,
    undo: previous,
    checkpoints: checkpoints.map((checkpoint) => ({ ...checkpoint, state: undefined })),
  };
}

export async function readCheckpoint(
  { checkpoints }: SessionManifest,
  name: string,
  objects: ObjectSource,
  maxBytes: number,
): Promise<SessionState | undefined> {
  const found = checkpoints.find((checkpoint) => checkpoint.name === name);
  return found && (await readStates([found.state], objects, maxBytes))[0];
}

/** Reads the objects that states reference and returns the states in the same order. */
export async function readStates(
  states: readonly StateManifest[],
  objects: ObjectSource,
  maxBytes: number,
): Promise<SessionState[]> {
  const treeRefs = states.flatMap(({ workspace, tmp }) => [workspace, tmp]).filter((ref) => ref !== null);
  const wanted = new Map(treeRefs.map((ref) => [objectName('tree', ref), ref]));
  checkTotalBytes(wanted.values(), maxBytes, objects);
  const trees = new Map<string, readonly TreeEntry[]>();
  for (const [name, ref] of wanted) trees.set(name, (await readTree(objects, ref)).entries);
  const contents = await readContents(states, trees, objects, maxBytes);
  const entriesOf = (ref: ObjectRef | null): Entry[] =>
    (ref === null ? [] : trees.get(objectName('tree', ref))!).map((entry) =>
      fromTreeEntry(entry, entry.kind === 'file' ? contents.get(objectName('data', entry)) : undefined),
    );
  const read: SessionState[] = [];
  const slices = new Slices();
  for (const { version, memory, workspace, tmp, paused } of states) {
    await slices.pause();
    const files = FileTree.from(entriesOf(workspace));
    await slices.pause();
    read.push({
      version,
      delta: memory?.map((part) => contents.get(objectName('memory', part))!),
      workspace: files,
      tmp: entriesOf(tmp),
      ...(paused !== undefined && { paused }),
    });
  }
  return read;
}

/** The objects that a state references, with their sizes. */
export async function referencedObjects(
  { memory, workspace, tmp }: StateManifest,
  objects: ObjectSource,
): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (const part of memory ?? []) sizes.set(objectName('memory', part), part.bytes);
  for (const tree of [workspace, tmp]) {
    if (tree === null) continue;
    const { entries, objects: parts } = await readTree(objects, tree);
    for (const [name, bytes] of parts) sizes.set(name, bytes);
    for (const entry of entries) {
      if (entry.kind === 'file') sizes.set(objectName('data', entry), entry.bytes);
    }
  }
  return sizes;
}

/** Reads every memory image and file once and returns them by object name. Checks the total size before reading. */
async function readContents(
  states: readonly StateManifest[],
  trees: ReadonlyMap<string, readonly TreeEntry[]>,
  objects: ObjectSource,
  maxBytes: number,
): Promise<Map<string, Uint8Array>> {
  const wanted = new Map<string, readonly [ObjectKind, ObjectRef]>();
  for (const { memory } of states) {
    for (const part of memory ?? []) wanted.set(objectName('memory', part), ['memory', part]);
  }
  for (const entry of [...trees.values()].flat()) {
    if (entry.kind === 'file') wanted.set(objectName('data', entry), ['data', entry]);
  }
  const refs = [...wanted.values()].map(([, ref]) => ref);
  checkTotalBytes(refs, maxBytes, objects);
  const contents = new Map<string, Uint8Array>();
  await forEachConcurrently(wanted, async ([name, [kind, ref]]) => {
    contents.set(name, await objects.read(kind, ref));
  });
  return contents;
}

function checkTotalBytes(refs: Iterable<ObjectRef>, maxBytes: number, { location }: ObjectSource): void {
  let total = 0;
  for (const { bytes } of refs) total += bytes;
  if (total > maxBytes)
    throw damaged(
      location,
      `has a declared size of ${formatItems(total, 'byte')}; the maximum is ${formatCount(maxBytes)}`,
    );
}
