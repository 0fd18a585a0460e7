/**
 * Encodes a file tree as objects (see stored-tree.ts). Only what a tree does not share with an earlier one takes time, except
 * for a few steps per object.
 * Invariant: the objects depend on the entries only, not on the tree that the encoding starts from.
 */
import type { Entry } from '../../fs/flat-entries.ts';
import type { FileTree } from '../../fs/immutable-file-tree.ts';
import { type ObjectRef, objectName, refTo } from './object-ref.ts';
import { encodeText, FORMAT } from './stored-json.ts';
import { type TreeEntry, toTreeEntry } from './stored-tree.ts';

/**
 * Number of entries of a tree, or of parts of a tree, that one object holds. After `MIN_ITEMS`, an item ends its object
 * if the hash of its path has a certain value, which is the case for one in 16. A change therefore affects the objects
 * around it, and not all that follow. The minimum bounds the number of objects for paths that a program has chosen.
 */
const MIN_ITEMS = 8;
const MAX_ITEMS = 64;
const BITS_PER_LEVEL = 4;

/** Objects by name. Similar trees have the same groups. A group never changes. */
export type ObjectGroup = ReadonlyMap<string, Uint8Array>;

/** A tree object, with the last path in it. */
interface EncodedPart {
  readonly lastPath: string;
  readonly ref: ObjectRef;
  readonly bytes: Uint8Array;
}

/** A tree object with entries. */
interface TreeLeaf extends EncodedPart {
  readonly entries: readonly Entry[];
  /** The object and the contents of its files. */
  readonly group: ObjectGroup;
}

/** A tree object with references to others. */
interface TreeBranch extends EncodedPart {
  readonly parts: readonly EncodedPart[];
}

/** A file tree, encoded. */
export interface EncodedTree {
  readonly tree: FileTree;
  /** Null if the tree is empty. */
  readonly ref: ObjectRef | null;
  readonly leaves: readonly TreeLeaf[];
  /** All objects of the tree, with the contents of its files. */
  readonly groups: readonly ObjectGroup[];
}

/** Encodes a tree, starting from that of a similar one if there is one. Each object is a step. */
export function* encodeTree(tree: FileTree, before?: EncodedTree): Generator<undefined, EncodedTree> {
  if (tree.size === 0) return { tree, ref: null, leaves: [], groups: [] };
  const leaves = yield* divideEntries(tree, before);
  const branches = new Map<string, Uint8Array>();
  let parts: readonly EncodedPart[] = leaves;
  for (let level = 1; parts.length > 1; level++) {
    parts = divide(parts, level).map(toBranch);
    for (const { ref, bytes } of parts) branches.set(objectName('tree', ref), bytes);
  }
  return { tree, ref: parts[0]!.ref, leaves, groups: [branches, ...leaves.map(({ group }) => group)] };
}

/**
 * The leaves of a tree. Where a leaf begins depends only on what follows, so from the first change on, entries are divided
 * again until a leaf ends where one of the earlier tree ended.
 */
function* divideEntries(tree: FileTree, before: EncodedTree | undefined): Generator<undefined, TreeLeaf[]> {
  if (tree.size <= MAX_ITEMS) return [toLeaf([...tree.values()])];
  // A single leaf does not end where one of a larger tree would end.
  const known = before === undefined || before.leaves.length < 2 ? [] : before.leaves;
  const changed = known.length > 0 ? changedPaths(before!.tree, tree) : [];
  const leaves: TreeLeaf[] = [];
  let at = 0;
  let next = 0;
  for (;;) {
    for (; at < known.length; at++) {
      const isLast = at === known.length - 1;
      if (next < changed.length && (isLast || changed[next]! <= known[at]!.lastPath)) break;
      leaves.push(known[at]!);
    }
    if (known.length > 0 && at === known.length) return leaves;
    const last = leaves.at(-1)?.lastPath;
    let group: Entry[] = [];
    let isKnownEnd = false;
    for (const entry of tree.from(last === undefined ? '' : `${last}\0`)) {
      group.push(entry);
      if (!endsGroup(group.length, entry.path, 0)) continue;
      leaves.push(toLeaf(group));
      group = [];
      yield;
      while (next < changed.length && changed[next]! <= entry.path) next++;
      while (at < known.length && known[at]!.lastPath < entry.path) at++;
      isKnownEnd = at + 1 < known.length && known[at]!.lastPath === entry.path;
      if (isKnownEnd) break;
    }
    if (!isKnownEnd) return group.length > 0 ? [...leaves, toLeaf(group)] : leaves;
    at++;
  }
}

function changedPaths(before: FileTree, tree: FileTree): string[] {
  const { removed, entries } = before.difference(tree);
  return [...removed, ...entries.map(({ path }) => path)].sort();
}

/** Divides parts into groups, one per object. */
function divide(parts: readonly EncodedPart[], level: number): EncodedPart[][] {
  if (parts.length <= MAX_ITEMS) return [[...parts]];
  const groups: EncodedPart[][] = [];
  let group: EncodedPart[] = [];
  for (const part of parts) {
    group.push(part);
    if (!endsGroup(group.length, part.lastPath, level)) continue;
    groups.push(group);
    group = [];
  }
  if (group.length > 0) groups.push(group);
  return groups;
}

/** Each level uses other bits of the hash (FNV-1a, with a final multiplication that changes the high bits). */
function endsGroup(length: number, path: string, level: number): boolean {
  if (length < MIN_ITEMS) return false;
  if (length >= MAX_ITEMS) return true;
  let hash = 0x811c9dc5;
  for (let i = 0; i < path.length; i++) hash = Math.imul(hash ^ path.charCodeAt(i), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return ((hash >>> (BITS_PER_LEVEL * (level % 8))) & (2 ** BITS_PER_LEVEL - 1)) === 0;
}

const isEqual = <T>(a: readonly T[], b: readonly T[]) =>
  a.length === b.length && a.every((item, i) => item === b[i]);

/** Leaves by their first entry, and branches by their first part. Most of those of a tree are those of the tree before it. */
const leavesByEntry = new WeakMap<Entry, TreeLeaf>();
const branchesByPart = new WeakMap<EncodedPart, TreeBranch>();

function toLeaf(entries: readonly Entry[]): TreeLeaf {
  const known = leavesByEntry.get(entries[0]!);
  if (known !== undefined && isEqual(known.entries, entries)) return known;
  const described = entries.map(toTreeEntry);
  const part = toPart('entries', described.map(lineOf), entries.at(-1)!.path);
  const group = new Map([[objectName('tree', part.ref), part.bytes]]);
  described.forEach((entry, i) => {
    if (entry.kind === 'file') group.set(objectName('data', entry), entries[i]!.data!);
  });
  const leaf = { ...part, entries, group };
  leavesByEntry.set(entries[0]!, leaf);
  return leaf;
}

function toBranch(parts: readonly EncodedPart[]): TreeBranch {
  const known = branchesByPart.get(parts[0]!);
  if (known !== undefined && isEqual(known.parts, parts)) return known;
  const lines = parts.map(({ ref }) => JSON.stringify(ref));
  const branch = { ...toPart('parts', lines, parts.at(-1)!.lastPath), parts };
  branchesByPart.set(parts[0]!, branch);
  return branch;
}

function toPart(field: 'entries' | 'parts', items: readonly string[], lastPath: string): EncodedPart {
  const bytes = encodeText(`{"format":${FORMAT},"${field}":[\n${items.join(',\n')}\n]}\n`);
  return { lastPath, ref: refTo(bytes), bytes };
}

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
