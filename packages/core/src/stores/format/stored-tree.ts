/**
 * File trees as JSON objects: entries without contents, which are referenced by digest. A large tree is divided into
 * objects that similar trees share, so that a commit writes only those with changes. Equal trees have equal objects
 * (encode-tree.ts).
 *
 *   tree   { format, entries: [{ path, kind, mode, mtime_ms, sha256 and bytes | target }] }, sorted by path
 *          { format, parts: [{ sha256, bytes }] }, the trees that contain the entries, in the same order
 */

import * as z from 'zod';
import { forEachConcurrently } from '../../concurrency/for-each-concurrently.ts';
import { finishInSlices, nextTurn } from '../../concurrency/slices.ts';
import { checkNewEntries, type Entry } from '../../fs/flat-entries.ts';
import { formatCount, formatItems } from '../../quantities.ts';
import { type ObjectRef, type ObjectSource, objectName, refTo } from './object-ref.ts';
import { damaged, decodeJson, FORMAT } from './stored-json.ts';

/** A larger tree is neither written nor read. */
export const MAX_TREE_BYTES = 256 * 1024 * 1024;

export const objectRef = z.strictObject({
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
  bytes: z.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
});

const common = { path: z.string(), mode: z.number(), mtime_ms: z.number() };
const treeEntry = z.discriminatedUnion('kind', [
  z.strictObject({ ...common, kind: z.literal('file'), ...objectRef.shape }),
  z.strictObject({ ...common, kind: z.literal('dir') }),
  z.strictObject({ ...common, kind: z.literal('symlink'), target: z.string() }),
]);
export type TreeEntry = z.infer<typeof treeEntry>;

const tree = z.union([
  z.strictObject({ format: z.literal(FORMAT), entries: z.array(treeEntry) }),
  z.strictObject({ format: z.literal(FORMAT), parts: z.array(objectRef) }),
]);
const NO_BYTES = new Uint8Array(0);

/** More levels than a tree of `MAX_TREE_BYTES` has. */
const MAX_LEVELS = 8;

/** A tree with the objects that it consists of. */
interface StoredTree {
  readonly entries: readonly TreeEntry[];
  /** The sizes of the objects by name. */
  readonly objects: ReadonlyMap<string, number>;
}

/** Reads and decodes the tree that a manifest references; null stands for an empty tree. */
export async function readTree(objects: ObjectSource, ref: ObjectRef | null): Promise<StoredTree> {
  const sizes = new Map<string, number>();
  if (ref === null) return { entries: [], objects: sizes };
  const root = `${objects.location}/${objectName('tree', ref)}`;
  let total = 0;
  /** References to objects that have not been read, and entries of those that have. */
  let level: (ObjectRef | readonly TreeEntry[])[] = [ref];
  for (let depth = 0; level.some((item) => 'sha256' in item); depth++) {
    if (depth >= MAX_LEVELS) throw damaged(root, `has more than ${MAX_LEVELS} levels`);
    for (const item of level) {
      if (!('sha256' in item)) continue;
      const name = objectName('tree', item);
      // Also limits the work: no object is decoded twice.
      if (sizes.has(name)) throw damaged(root, `contains ${name} twice`);
      sizes.set(name, item.bytes);
      total += item.bytes;
    }
    if (total > MAX_TREE_BYTES)
      throw damaged(
        root,
        `has a declared size of ${formatItems(total, 'byte')}; the maximum is ${formatCount(MAX_TREE_BYTES)}`,
      );
    level = await readLevel(objects, level);
  }
  const entries = (level as (readonly TreeEntry[])[]).flat();
  await nextTurn();
  await finishInSlices(checkTree(entries, root));
  return { entries, objects: sizes };
}

/** Replaces the references by what the objects contain. */
async function readLevel(
  objects: ObjectSource,
  level: readonly (ObjectRef | readonly TreeEntry[])[],
): Promise<(ObjectRef | readonly TreeEntry[])[]> {
  const found: (readonly (ObjectRef | readonly TreeEntry[])[])[] = [];
  await forEachConcurrently(level.entries(), async ([i, item]) => {
    if (!('sha256' in item)) {
      found[i] = [item];
      return;
    }
    const path = `${objects.location}/${objectName('tree', item)}`;
    const decoded = decodeJson(tree, await objects.read('tree', item), path);
    found[i] = 'parts' in decoded ? decoded.parts : [decoded.entries];
  });
  return found.flat();
}

/** Entries that are checked without a chance for other work. */
const ENTRIES_PER_STEP = 200;

/** Checks that the entries form a tree and are sorted without duplicates, so that a folder comes before its contents. */
function* checkTree(entries: readonly TreeEntry[], path: string): Generator<undefined, void> {
  const kinds = new Map<string, TreeEntry['kind']>();
  let previous: string | undefined;
  for (let start = 0; start < entries.length; start += ENTRIES_PER_STEP) {
    const step = entries.slice(start, start + ENTRIES_PER_STEP);
    for (const entry of step) {
      if (previous !== undefined && entry.path <= previous) throw damaged(path, 'is not sorted by path');
      previous = entry.path;
      kinds.set(previous, entry.kind);
    }
    checkNewEntries(
      step.map((entry) => fromTreeEntry(entry, NO_BYTES)),
      (folder) => kinds.get(folder),
      'session_damaged',
    );
    yield;
  }
}

/** Entries of states never change, so each is described only once. */
const described = new WeakMap<Entry, TreeEntry>();

export function toTreeEntry(entry: Entry): TreeEntry {
  let known = described.get(entry);
  if (known === undefined) {
    known = describe(entry);
    described.set(entry, known);
  }
  return known;
}

function describe({ path, kind, mode, mtimeMs, data, target }: Entry): TreeEntry {
  const fields = { path, mode, mtime_ms: mtimeMs };
  if (kind === 'file') return { ...fields, kind, ...refTo(data!) };
  return kind === 'dir' ? { ...fields, kind } : { ...fields, kind, target: target! };
}

/** An entry of a tree whose contents are only in a store: it has no `data`, and `toTreeEntry` returns its description. */
export function storedEntry(description: TreeEntry): Entry {
  const entry = fromTreeEntry(description, undefined);
  described.set(entry, description);
  return entry;
}

/** `data` holds the contents that the digest of a file entry refers to. */
export function fromTreeEntry(described: TreeEntry, data: Uint8Array | undefined): Entry {
  const { path, mode, mtime_ms: mtimeMs, kind } = described;
  if (kind === 'file') return { path, kind, mode, mtimeMs, data: data! };
  return kind === 'dir'
    ? { path, kind, mode, mtimeMs }
    : { path, kind, mode, mtimeMs, target: described.target };
}
