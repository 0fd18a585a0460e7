/**
 * An immutable file tree: entries by path, in code unit order. A change returns a new tree that shares all but a few nodes
 * with the old one, so a snapshot is a reference, and computing the difference of two trees takes time proportional to that difference.
 * Invariant: the nodes form an AVL tree, and every node has the totals of its subtree.
 */

import { byCodeUnit, utf8Length } from './file-names.ts';
import type { Entry, TreeEdit } from './nodes.ts';

/** A batch is merged into the whole tree if it has at least this many entries, and one for every `MERGE_SHARE` entries of the tree. */
const MERGE_MIN = 32;
const MERGE_SHARE = 8;

/** Comparisons of one step of a difference. */
const STEP_COMPARISONS = 1000;

/** An edit whose lists belong to the caller. */
interface Difference {
  readonly removed: string[];
  readonly entries: Entry[];
}

/** A node of the balanced tree; not a node of a volume. */
class Branch {
  readonly height: number;
  readonly size: number;
  readonly bytes: number;
  readonly pathBytes: number;
  readonly longestPath: number;

  constructor(
    readonly entry: Entry,
    readonly entryBytes: number,
    readonly entryPathBytes: number,
    readonly left: Branch | undefined,
    readonly right: Branch | undefined,
  ) {
    this.height = 1 + Math.max(heightOf(left), heightOf(right));
    this.size = 1 + (left?.size ?? 0) + (right?.size ?? 0);
    this.bytes = entryBytes + (left?.bytes ?? 0) + (right?.bytes ?? 0);
    this.pathBytes = entryPathBytes + (left?.pathBytes ?? 0) + (right?.pathBytes ?? 0);
    this.longestPath = Math.max(entryPathBytes, left?.longestPath ?? 0, right?.longestPath ?? 0);
  }

  with(left: Branch | undefined, right: Branch | undefined): Branch {
    return new Branch(this.entry, this.entryBytes, this.entryPathBytes, left, right);
  }
}

function newBranch(entry: Entry, left?: Branch, right?: Branch): Branch {
  return new Branch(entry, entryBytes(entry), utf8Length(entry.path), left, right);
}

/** The bytes that an entry counts towards the quota. */
export function entryBytes({ data, target }: Entry): number {
  return data?.length ?? (target === undefined ? 0 : utf8Length(target));
}

function heightOf(branch: Branch | undefined): number {
  return branch?.height ?? 0;
}

export class FileTree implements ReadonlyMap<string, Entry> {
  readonly #root: Branch | undefined;

  /** An own property that cannot be cloned, so that structured clone fails for a tree instead of returning an empty object. */
  readonly forEach = (each: (entry: Entry, path: string, tree: ReadonlyMap<string, Entry>) => void): void => {
    for (const entry of this.from('')) each(entry, entry.path, this);
  };

  private constructor(root: Branch | undefined) {
    this.#root = root;
  }

  /** Creates a tree. If several entries have the same path, the last one applies. */
  static from(entries: Iterable<Entry>): FileTree {
    const sorted = sortByPath(entries);
    return new FileTree(build(sorted, 0, sorted.length));
  }

  /** The map itself if it is a tree, so that nothing is copied. */
  static of(entries: ReadonlyMap<string, Entry>): FileTree {
    return entries instanceof FileTree ? entries : FileTree.from(entries.values());
  }

  get size(): number {
    return this.#root?.size ?? 0;
  }

  /** Total size of file contents and link targets. */
  get bytes(): number {
    return this.#root?.bytes ?? 0;
  }

  /** Total length of the relative paths in UTF-8. */
  get pathBytes(): number {
    return this.#root?.pathBytes ?? 0;
  }

  /** Length of the longest relative path in UTF-8. */
  get longestPath(): number {
    return this.#root?.longestPath ?? 0;
  }

  get(path: string): Entry | undefined {
    let at = this.#root;
    while (at !== undefined) {
      const { path: here } = at.entry;
      if (path === here) return at.entry;
      at = path < here ? at.left : at.right;
    }
    return undefined;
  }

  has(path: string): boolean {
    return this.get(path) !== undefined;
  }

  /** The number of entries whose path comes before `path`. */
  rankOf(path: string): number {
    let rank = 0;
    let at = this.#root;
    while (at !== undefined) {
      if (path <= at.entry.path) at = at.left;
      else {
        rank += 1 + (at.left?.size ?? 0);
        at = at.right;
      }
    }
    return rank;
  }

  /** Whether there is an entry below the directory `path`. */
  hasChildren(path: string): boolean {
    return this.below(path).next().done !== true;
  }

  /** Adds an entry or replaces the one with its path. */
  set(entry: Entry): FileTree {
    return new FileTree(insert(this.#root, entry));
  }

  delete(path: string): FileTree {
    return this.has(path) ? new FileTree(remove(this.#root!, path)) : this;
  }

  /** Applies the removals, then the entries. */
  apply({ removed, entries }: TreeEdit): FileTree {
    const count = removed.length + entries.length;
    if (count >= MERGE_MIN && count * MERGE_SHARE >= this.size) return this.#merge(removed, entries);
    let root = this.#root;
    for (const path of removed) root = root && remove(root, path);
    for (const entry of entries) root = insert(root, entry);
    return root === this.#root ? this : new FileTree(root);
  }

  /** Rebuilds the tree, which takes fewer comparisons than inserting many entries one by one. */
  #merge(removed: readonly string[], entries: readonly Entry[]): FileTree {
    const gone = new Set(removed);
    const added = sortByPath(entries);
    const merged: Entry[] = [];
    let next = 0;
    for (const entry of this.values()) {
      while (next < added.length && added[next]!.path < entry.path) merged.push(added[next++]!);
      if (next < added.length && added[next]!.path === entry.path) merged.push(added[next++]!);
      else if (!gone.has(entry.path)) merged.push(entry);
    }
    while (next < added.length) merged.push(added[next++]!);
    return new FileTree(build(merged, 0, merged.length));
  }

  /**
   * The edit that turns this tree into `next`. Entries are compared by identity, and subtrees that both trees share are
   * skipped.
   */
  difference(next: FileTree): Difference {
    const steps = this.differenceSteps(next);
    for (;;) {
      const step = steps.next();
      if (step.done === true) return step.value;
    }
  }

  /** As `difference`, in steps. */
  *differenceSteps(next: FileTree): Generator<undefined, Difference> {
    const removed: string[] = [];
    const entries: Entry[] = [];
    const old = new Cursor(this.#root);
    const now = new Cursor(next.#root);
    for (let compared = 1; ; compared++) {
      if (compared % STEP_COMPARISONS === 0) yield;
      const [a, b] = [old.head, now.head];
      if (a === b) {
        if (a === undefined) return { removed, entries };
        old.skip();
        now.skip();
      } else if (a instanceof Branch && !(b instanceof Branch && b.size > a.size)) old.open();
      else if (b instanceof Branch) now.open();
      else {
        const before = a as Entry | undefined;
        const order = before === undefined ? 1 : b === undefined ? -1 : byCodeUnit(before.path, b.path);
        if (order < 0) removed.push(before!.path);
        else entries.push(b!);
        if (order <= 0) old.skip();
        if (order >= 0) now.skip();
      }
    }
  }

  /** The entries whose path is `first` or comes after it. */
  *from(first: string): Generator<Entry, undefined> {
    const later: Branch[] = [];
    let at = this.#root;
    while (at !== undefined) {
      if (at.entry.path < first) at = at.right;
      else {
        later.push(at);
        at = at.left;
      }
    }
    for (let next = later.pop(); next !== undefined; next = later.pop()) {
      yield next.entry;
      for (at = next.right; at !== undefined; at = at.left) later.push(at);
    }
    return undefined;
  }

  /** The entries below the directory `path`, at any depth. */
  *below(path: string): Generator<Entry> {
    const prefix = `${path}/`;
    for (const entry of this.from(prefix)) {
      if (!entry.path.startsWith(prefix)) return;
      yield entry;
    }
  }

  /** The direct children of a directory, whose path with a final slash is `prefix`, and the rank of each. */
  *children(prefix: string): Generator<{ readonly entry: Entry; readonly rank: number }> {
    let start: string | undefined = prefix;
    while (start !== undefined) {
      let rank = this.rankOf(start);
      const from: string = start;
      start = undefined;
      for (const entry of this.from(from)) {
        if (!entry.path.startsWith(prefix)) break;
        const slash = entry.path.indexOf('/', prefix.length);
        if (slash >= 0) {
          // The entries of a subdirectory are consecutive; `0` is the code unit after the slash.
          start = `${entry.path.slice(0, slash)}0`;
          break;
        }
        yield { entry, rank: rank++ };
      }
    }
  }

  *values(): Generator<Entry, undefined> {
    yield* this.from('');
    return undefined;
  }

  *keys(): Generator<string, undefined> {
    for (const { path } of this.from('')) yield path;
    return undefined;
  }

  *entries(): Generator<[string, Entry], undefined> {
    for (const entry of this.from('')) yield [entry.path, entry];
    return undefined;
  }

  [Symbol.iterator](): Generator<[string, Entry], undefined> {
    return this.entries();
  }
}

export const EMPTY_TREE = FileTree.from([]);

/** A position in the entries of a tree. Its head is the next entry, or a branch that starts with it. */
class Cursor {
  readonly #pending: (Branch | Entry)[];

  constructor(root: Branch | undefined) {
    this.#pending = root === undefined ? [] : [root];
  }

  get head(): Branch | Entry | undefined {
    return this.#pending[this.#pending.length - 1];
  }

  skip(): void {
    this.#pending.pop();
  }

  /** Replaces the branch at the head with its parts. */
  open(): void {
    const { entry, left, right } = this.#pending.pop() as Branch;
    if (right !== undefined) this.#pending.push(right);
    this.#pending.push(entry);
    if (left !== undefined) this.#pending.push(left);
  }
}

function sortByPath(entries: Iterable<Entry>): Entry[] {
  const list = [...entries];
  const isAscending = list.every((entry, i) => i === 0 || list[i - 1]!.path < entry.path);
  if (isAscending) return list;
  const last = new Map(list.map((entry) => [entry.path, entry]));
  return [...last.values()].sort((a, b) => byCodeUnit(a.path, b.path));
}

function build(sorted: readonly Entry[], from: number, to: number): Branch | undefined {
  if (from >= to) return undefined;
  const middle = (from + to) >>> 1;
  return newBranch(sorted[middle]!, build(sorted, from, middle), build(sorted, middle + 1, to));
}

function insert(branch: Branch | undefined, entry: Entry): Branch {
  if (branch === undefined) return newBranch(entry);
  const { path } = branch.entry;
  if (entry.path === path) return newBranch(entry, branch.left, branch.right);
  return entry.path < path
    ? balance(branch, insert(branch.left, entry), branch.right)
    : balance(branch, branch.left, insert(branch.right, entry));
}

function remove(branch: Branch, path: string): Branch | undefined {
  const { left, right } = branch;
  if (path === branch.entry.path) {
    if (left === undefined || right === undefined) return left ?? right;
    const first = firstOf(right);
    return balance(first, left, remove(right, first.entry.path));
  }
  if (path < branch.entry.path) {
    const next = left && remove(left, path);
    return next === left ? branch : balance(branch, next, right);
  }
  const next = right && remove(right, path);
  return next === right ? branch : balance(branch, left, next);
}

function firstOf(branch: Branch): Branch {
  let at = branch;
  while (at.left !== undefined) at = at.left;
  return at;
}

/** The entry of `branch` between two subtrees whose heights differ by at most two. */
function balance(branch: Branch, left: Branch | undefined, right: Branch | undefined): Branch {
  const lean = heightOf(left) - heightOf(right);
  if (lean > 1) {
    const { left: outer, right: inner } = left!;
    if (heightOf(outer) >= heightOf(inner)) return left!.with(outer, branch.with(inner, right));
    return inner!.with(left!.with(outer, inner!.left), branch.with(inner!.right, right));
  }
  if (lean < -1) {
    const { left: inner, right: outer } = right!;
    if (heightOf(outer) >= heightOf(inner)) return right!.with(branch.with(left, inner), outer);
    return inner!.with(branch.with(left, inner!.left), right!.with(inner!.right, outer));
  }
  return branch.with(left, right);
}
