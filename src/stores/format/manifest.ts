/**
 * What is written about a session, and read back as if an enemy had written it: session.json, which names objects by
 * digest, and the trees among those objects. A state has one encoding, made once.
 *
 *   session.json  { format, commit, record, state, undo, checkpoints: [{ name, created_at, state }], unsynced }
 *   state         { version, memory: ref | null, workspace: ref | null, tmp: ref | null }   null: nothing to keep
 *   ref           { sha256, bytes }
 *   unsynced      ref to the changes that this commit makes in workspace/: [[path, digest before | null], …]
 *   tree          { format, entries: [{ path, kind, mode, mtime_ms, sha256 and bytes | target }] }, sorted by path
 */
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { checkEntries, type Entry } from '../../fs/entries.ts';
import { checkpointName, sessionRecord } from '../../schema.ts';
import { objectName, refTo } from '../disk/object-files.ts';
import { isUsablePath } from '../disk/paths.ts';
import { damaged } from '../disk/safe-files.ts';
import type { SessionState, StoredSession } from '../store.ts';
import { checkpointTime, checkState, MAX_CHECKPOINTS, stateVersion } from './stored-session.ts';

export const FORMAT = 2;
/** Sizes beyond which a file of this kind is not even read. */
export const MAX_SESSION_FILE_BYTES = 16 * 1024 * 1024;
export const MAX_TREE_BYTES = 256 * 1024 * 1024;

const ref = z.strictObject({
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
});
const stateManifest = z.strictObject({
  version: stateVersion,
  memory: ref.nullable(),
  workspace: ref.nullable(),
  tmp: ref.nullable(),
});
export type StateManifest = z.infer<typeof stateManifest>;

/** The part that does not depend on where the session is kept. */
const sessionContents = z.strictObject({
  format: z.literal(FORMAT),
  record: sessionRecord,
  state: stateManifest,
  undo: stateManifest.nullable(),
  checkpoints: z
    .array(z.strictObject({ name: checkpointName, created_at: checkpointTime, state: stateManifest }))
    .max(MAX_CHECKPOINTS),
});
export type SessionContents = z.infer<typeof sessionContents>;

const sessionManifest = sessionContents.extend({ commit: z.uuid(), unsynced: ref.nullable() });
export type SessionManifest = z.infer<typeof sessionManifest>;

const node = { path: z.string(), mode: z.number(), mtime_ms: z.number() };
const treeEntry = z.discriminatedUnion('kind', [
  z.strictObject({ ...node, kind: z.literal('file'), ...ref.shape }),
  z.strictObject({ ...node, kind: z.literal('dir') }),
  z.strictObject({ ...node, kind: z.literal('symlink'), target: z.string() }),
]);
export type TreeEntry = z.infer<typeof treeEntry>;
const tree = z.strictObject({ format: z.literal(FORMAT), entries: z.array(treeEntry) });
const changes = z.array(z.tuple([z.string(), ref.shape.sha256.nullable()]));
const NO_BYTES = new Uint8Array(0);

/** Parses JSON of unknown origin; `path` is for the error, which says the first thing that does not fit. */
export function decode<T extends z.ZodType>(schema: T, bytes: Uint8Array, path: string): z.output<T> {
  let json: unknown;
  try {
    json = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw damaged(path, 'is not JSON', error);
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return parsed.data;
  const format = (json as { format?: unknown } | null)?.format;
  if (Number.isSafeInteger(format) && format !== FORMAT)
    throw damaged(path, `has format ${format}, this version reads ${FORMAT}`);
  const { path: field, message } = parsed.error.issues[0]!;
  throw damaged(path, `does not fit at ${field.join('.').slice(0, 200) || 'its top'}: ${message}`);
}

export const decodeContents = (bytes: Uint8Array, path: string) => decode(sessionContents, bytes, path);
export const decodeSession = (bytes: Uint8Array, path: string) => decode(sessionManifest, bytes, path);

/** Entries that are known to form a tree. */
export function decodeTree(bytes: Uint8Array, path: string): TreeEntry[] {
  const { entries } = decode(tree, bytes, path);
  const found = checkEntries(
    entries.map((described) => toEntry(described, NO_BYTES)),
    'session_damaged',
  );
  const isSorted = found.every((entry, index) => entry.path === entries[index]!.path);
  if (!isSorted) throw damaged(path, 'is not sorted');
  return entries;
}

/** Paths that a commit changes in workspace/, each with the digest of the file that was there before. */
export type Changes = ReadonlyMap<string, string | null>;

export function decodeChanges(bytes: Uint8Array, path: string): Changes {
  const list = decode(changes, bytes, path);
  if (list.every(([found]) => isUsablePath(found))) return new Map(list);
  throw damaged(path, 'has a path that no workspace can have');
}

const toBytes = (text: string) => new TextEncoder().encode(text);
export const encodePretty = (value: unknown) => toBytes(`${JSON.stringify(value, undefined, 2)}\n`);
/** One item a line, for people and for tools that compare lines. */
export const encodeLines = (items: readonly unknown[]) =>
  items.map((item) => JSON.stringify(item)).join(',\n');
const encodeTree = (entries: readonly TreeEntry[]) =>
  toBytes(`{"format":${FORMAT},"entries":[\n${encodeLines(entries)}\n]}\n`);
export const encodeChanges = (list: Changes) => toBytes(`[\n${encodeLines([...list])}\n]\n`);

/** A state as it is written: its manifest and the objects that the manifest needs, by name. */
export interface EncodedState {
  readonly manifest: StateManifest;
  readonly objects: ReadonlyMap<string, Uint8Array>;
  readonly workspace: ReadonlyMap<string, TreeEntry>;
}

const encoded = new WeakMap<SessionState, EncodedState>();

/** The encoding of a state, which never changes; throws for one that is not fit to be kept. */
export function encodeState(state: SessionState): EncodedState {
  const known = encoded.get(state);
  if (known !== undefined) return known;
  const files = checkState(state);
  const objects = new Map<string, Uint8Array>();
  const add = (kind: 'memory' | 'tree', bytes: Uint8Array) => {
    const added = refTo(bytes);
    objects.set(objectName(kind, added), bytes);
    return added;
  };
  const addTree = (entries: readonly TreeEntry[]) =>
    entries.length > 0 ? add('tree', encodeTree(entries)) : null;
  const describe = (entry: Entry): TreeEntry => {
    const described = describeEntry(entry);
    if (described.kind === 'file') objects.set(objectName('data', described), entry.data!);
    return described;
  };
  const workspace = files.workspace.map(describe);
  const made: EncodedState = {
    manifest: {
      version: state.version,
      memory: state.delta === undefined ? null : add('memory', state.delta),
      workspace: addTree(workspace),
      tmp: addTree(files.tmp.map(describe)),
    },
    objects,
    workspace: new Map(workspace.map((entry) => [entry.path, entry])),
  };
  encoded.set(state, made);
  return made;
}

/** What is written of a session besides its objects. */
export function describeContents({ record, state, undo, checkpoints }: StoredSession): SessionContents {
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
    checkpoints: checkpoints.map(({ name, created_at, state: kept }) => ({
      name,
      created_at,
      state: encodeState(kept).manifest,
    })),
  };
}

/** The session.json of a new commit. */
export function describeSession(session: StoredSession, unsynced: Uint8Array | undefined): SessionManifest {
  const { format, ...contents } = describeContents(session);
  const changes = unsynced === undefined ? null : refTo(unsynced);
  return { format, commit: randomUUID(), ...contents, unsynced: changes };
}

/** What a tree says of an entry. */
export function describeEntry({ path, kind, mode, mtimeMs, data, target }: Entry): TreeEntry {
  const described = { path, mode, mtime_ms: mtimeMs };
  if (kind === 'file') return { ...described, kind, ...refTo(data!) };
  return kind === 'dir' ? { ...described, kind } : { ...described, kind, target: target! };
}

/** The entry that a tree describes; `data` is what its digest led to. */
export function toEntry(described: TreeEntry, data: Uint8Array | undefined): Entry {
  const { path, mode, mtime_ms: mtimeMs, kind } = described;
  if (kind === 'file') return { path, kind, mode, mtimeMs, data: data! };
  return kind === 'dir'
    ? { path, kind, mode, mtimeMs }
    : { path, kind, mode, mtimeMs, target: described.target };
}
