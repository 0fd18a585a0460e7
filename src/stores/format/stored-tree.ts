/**
 * File trees as JSON objects: entries without contents, which are referenced by digest.
 *
 *   tree   { format, entries: [{ path, kind, mode, mtime_ms, sha256 and bytes | target }] }, sorted by path
 */
import { z } from 'zod';
import { checkEntries, type Entry } from '../../fs/flat-entries.ts';
import { damaged, decodeJson, encodeText, FORMAT } from './json-codec.ts';
import { type ObjectRef, type ObjectSource, objectName, refTo } from './session-objects.ts';

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

const tree = z.strictObject({ format: z.literal(FORMAT), entries: z.array(treeEntry) });
const NO_BYTES = new Uint8Array(0);

/** Lines of encoded trees. Most entries of a tree are those of the tree before it. */
const lines = new WeakMap<TreeEntry, string>();

function lineOf(entry: TreeEntry): string {
  let line = lines.get(entry);
  if (line === undefined) {
    line = JSON.stringify(entry);
    lines.set(entry, line);
  }
  return line;
}

export const encodeTree = (entries: readonly TreeEntry[]) =>
  encodeText(`{"format":${FORMAT},"entries":[\n${entries.map(lineOf).join(',\n')}\n]}\n`);

/** Checks that the entries form a tree and are sorted. */
function decodeTree(bytes: Uint8Array, path: string): TreeEntry[] {
  const { entries } = decodeJson(tree, bytes, path);
  const checked = checkEntries(
    entries.map((entry) => fromTreeEntry(entry, NO_BYTES)),
    'session_damaged',
  );
  const isSorted = checked.every((entry, index) => entry.path === entries[index]!.path);
  if (!isSorted) throw damaged(path, 'is not sorted by path');
  return entries;
}

/** Reads and decodes the tree that a manifest references; null stands for an empty tree. */
export async function readTree(objects: ObjectSource, ref: ObjectRef | null): Promise<TreeEntry[]> {
  if (ref === null) return [];
  const path = `${objects.location}/${objectName('tree', ref)}`;
  if (ref.bytes > MAX_TREE_BYTES)
    throw damaged(path, `has a declared size of ${ref.bytes} bytes; the maximum is ${MAX_TREE_BYTES}`);
  return decodeTree(await objects.read('tree', ref), path);
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

/** `data` holds the contents that the digest of a file entry refers to. */
export function fromTreeEntry(described: TreeEntry, data: Uint8Array | undefined): Entry {
  const { path, mode, mtime_ms: mtimeMs, kind } = described;
  if (kind === 'file') return { path, kind, mode, mtimeMs, data: data! };
  return kind === 'dir'
    ? { path, kind, mode, mtimeMs }
    : { path, kind, mode, mtimeMs, target: described.target };
}
