/**
 * The file system of one guest: one tree in which read-only layers are mounted by reference and shared with other
 * guests, and in which only the areas below /app and /tmp can change.
 * Invariant: no operation changes a node with `readonly`, and none makes a canonical path longer than MAX_PATH_BYTES.
 */
import { SandboxError } from '../errors.ts';
import {
  type Baseline,
  type Changes,
  checkEntries,
  compare,
  type Entry,
  plant,
  takeBaseline,
  toEntry,
} from './entry.ts';
import { FAIL } from './fs-error.ts';
import { cost, Ledger, type VolumeLimits } from './quota.ts';
import { Layers } from './read-only-layers.ts';
import {
  byCodeUnit,
  checkName,
  type DirNode,
  type FileNode,
  type Found,
  isCarried,
  isLonger,
  MAX_PATH_BYTES,
  type Node,
  type NodeInit,
  newDir,
  newFile,
  newLink,
  utf8Length,
  visit,
  walk,
} from './tree.ts';

export type { VolumeLimits } from './quota.ts';

/** The areas a guest can change. */
export const WRITABLE_ROOTS = ['/app', '/tmp'] as const;
export type WritableRoot = (typeof WRITABLE_ROOTS)[number];

export interface OpenFlags {
  create?: boolean;
  exclusive?: boolean;
  truncate?: boolean;
  directory?: boolean;
  nofollow?: boolean;
  write?: boolean;
}

/** A walk that ended at something that exists. */
export type Resolved = Found & { node: Node };

/** Own numbers start above those of all layers, so that they can grow without meeting one. */
const FIRST_INO = 2 ** 32;

export class Volume {
  readonly root: DirNode;
  readonly #ledger: Ledger;
  readonly #now: () => number;
  #nextIno = FIRST_INO;
  /** Canonical paths that cannot be removed or renamed. */
  readonly #pinned = new Set<string>(['/', ...WRITABLE_ROOTS]);
  readonly #layers: Layers;
  readonly #baselines = new Map<WritableRoot, Baseline>();

  /** `now` gives milliseconds; the volume reads no other clock. */
  constructor(limits: VolumeLimits, now: () => number) {
    this.#ledger = new Ledger(limits);
    this.#now = now;
    this.root = this.#readonlyDir();
    this.#layers = new Layers(this.root, () => this.#readonlyDir());
    for (const path of WRITABLE_ROOTS) {
      const dir = newDir(this.#init(path === '/tmp' ? 0o1777 : 0o755));
      dir.nlink = 1; // the areas themselves are free of charge
      this.root.entries.set(path.slice(1), dir);
      this.#baselines.set(path, new Map());
    }
  }

  /**
   * Hangs a read-only subtree at a canonical absolute path, creating read-only parents. A directory merges into a
   * read-only directory that is already there, by copying no more than the directories both have; EEXIST when
   * anything else is in the way, EINVAL for a subtree that can change or a place inside a writable area.
   */
  mount(at: string, subtree: Node): void {
    this.#layers.mount(this.root, at, subtree);
    this.#pinned.add(at);
  }

  /** Where `path` leads, following a final link if `follow`; ENOENT when nothing is there. */
  resolve(path: string, cwd: string, follow: boolean): Resolved {
    const found = walk(this.root, path, cwd, follow ? 'follow' : 'nofollow');
    if (found.node === undefined) throw FAIL.ENOENT;
    return found as Resolved;
  }

  lookup(path: string, cwd: string, follow: boolean): Node {
    return this.resolve(path, cwd, follow).node;
  }

  /** Whether something is at an absolute path, a dangling link included. */
  exists(path: string): boolean {
    try {
      return walk(this.root, path, '/', 'nofollow').node !== undefined;
    } catch {
      return false;
    }
  }

  /** A file that has no name, as one that was deleted while open; it is charged as soon as it is retained. */
  orphan(data: Uint8Array): FileNode {
    return newFile(this.#init(0o600), data);
  }

  /** Finds or creates as open(2) does; the caller takes a descriptor with `retain`. */
  open(path: string, cwd: string, flags: OpenFlags, mode: number): Resolved {
    const isNew = flags.create === true && flags.exclusive === true;
    const found = walk(this.root, path, cwd, flags.nofollow || isNew ? 'nofollow' : 'follow');
    const { node } = found;
    if (node === undefined) {
      if (!flags.create) throw FAIL.ENOENT;
      if (found.slash) throw FAIL.EISDIR;
      if (flags.directory) throw FAIL.EINVAL;
      return this.#add(found, newFile(this.#init(mode)));
    }
    if (isNew) throw FAIL.EEXIST;
    if (node.kind === 'symlink') throw flags.directory ? FAIL.ENOTDIR : FAIL.ELOOP;
    if (flags.directory && node.kind !== 'dir') throw FAIL.ENOTDIR;
    if (node.kind === 'dir' && (flags.write || flags.create || flags.truncate)) throw FAIL.EISDIR;
    if (node.readonly && (flags.write || flags.truncate)) throw FAIL.EROFS;
    if (flags.truncate) this.truncate(node, 0);
    return found as Resolved;
  }

  mkdir(path: string, cwd: string, mode: number): Resolved {
    return this.#add(this.#slot(path, cwd), newDir(this.#init(mode)));
  }

  symlink(target: string, path: string, cwd: string): Resolved {
    if (target === '') throw FAIL.ENOENT;
    if (isLonger(target, MAX_PATH_BYTES - 1)) throw FAIL.ENAMETOOLONG;
    if (!isCarried(target)) throw FAIL.EINVAL;
    const found = this.#slot(path, cwd);
    if (found.node === undefined && found.slash) throw FAIL.ENOENT;
    return this.#add(found, newLink(this.#init(0o777), target));
  }

  /** A further name for a file or link of the writable areas. */
  link(from: string, fromCwd: string, to: string, toCwd: string, follow: boolean): void {
    const { node } = this.resolve(from, fromCwd, follow);
    if (node.kind === 'dir') throw FAIL.EPERM;
    const found = this.#slot(to, toCwd);
    if (found.node === undefined && found.slash) throw FAIL.ENOENT;
    if (node.readonly && !found.parent.readonly) throw FAIL.EXDEV;
    this.#add(found, node);
    node.ctimeMs = this.#now();
  }

  readlink(path: string, cwd: string): string {
    const node = this.lookup(path, cwd, false);
    if (node.kind !== 'symlink') throw FAIL.EINVAL;
    return node.target;
  }

  unlink(path: string, cwd: string): void {
    const found = this.#slot(path, cwd);
    if (found.node === undefined) throw FAIL.ENOENT;
    if (found.node.kind === 'dir') throw FAIL.EISDIR;
    if (found.slash) throw FAIL.ENOTDIR;
    this.#checkChangeable(found);
    this.#remove(found as Resolved);
  }

  rmdir(path: string, cwd: string): void {
    const found = this.#slot(path, cwd);
    if (found.node === undefined) throw FAIL.ENOENT;
    if (found.node.kind !== 'dir') throw FAIL.ENOTDIR;
    if (found.dots && found.path !== '/') throw FAIL.EINVAL;
    this.#checkChangeable(found);
    if (found.node.entries.size > 0) throw FAIL.ENOTEMPTY;
    this.#remove(found as Resolved);
  }

  /** As rename(2): replaces a file by a file and an empty directory by a directory, at once. */
  rename(from: string, fromCwd: string, to: string, toCwd: string): void {
    const source = this.#slot(from, fromCwd);
    const target = this.#slot(to, toCwd);
    const { node } = source;
    if (source.dots || target.dots) throw FAIL.EBUSY;
    if (node === undefined) throw FAIL.ENOENT;
    if (node.kind !== 'dir' && (source.slash || target.slash)) throw FAIL.ENOTDIR;
    this.#checkChangeable(source);
    this.#checkChangeable(target);
    if (target.node === node) return;
    if (node.kind === 'dir' && target.path.startsWith(`${source.path}/`)) throw FAIL.EINVAL;
    checkReplaceable(node, target.node);
    checkName(target.name);
    checkDepth(node, source.path, target.path);
    if (target.node !== undefined) this.#remove(target as Resolved);
    source.parent.entries.delete(source.name);
    target.parent.entries.set(target.name, node);
    node.ctimeMs = this.#touch(source.parent);
    this.#touch(target.parent);
  }

  /** Children in code unit order, without `.` and `..`. */
  readdir(node: Node): { name: string; node: Node }[] {
    if (node.kind !== 'dir') throw FAIL.ENOTDIR;
    return [...node.entries.keys()].sort(byCodeUnit).map((name) => ({ name, node: node.entries.get(name)! }));
  }

  chmod(node: Node, mode: number): void {
    if (node.readonly) throw FAIL.EROFS;
    node.mode = mode & 0o7777;
    node.ctimeMs = this.#now();
  }

  /** There is no access time: what was read leaves no trace. */
  utimes(node: Node, mtimeMs: number): void {
    if (node.readonly) throw FAIL.EROFS;
    if (!(Math.abs(mtimeMs) <= 8.64e15)) throw FAIL.EINVAL;
    node.mtimeMs = mtimeMs;
    node.ctimeMs = this.#now();
  }

  truncate(node: Node, size: number): void {
    const file = writableFile(node, size);
    this.#ledger.resize(file, size);
    this.#written(file);
  }

  /** Copies what is at `pos` and returns how many bytes that were; 0 at or behind the end. */
  read(node: Node, pos: number, into: Uint8Array): number {
    if (node.kind !== 'file') throw node.kind === 'dir' ? FAIL.EISDIR : FAIL.EINVAL;
    if (!Number.isSafeInteger(pos) || pos < 0) throw FAIL.EINVAL;
    const length = Math.min(into.length, node.size - pos);
    if (length <= 0) return 0;
    into.set(node.data.subarray(pos, pos + length));
    return length;
  }

  /** Writes all of `from` or, when the quota does not allow it, nothing: ENOSPC. */
  write(node: Node, pos: number, from: Uint8Array): number {
    const file = writableFile(node, pos);
    if (from.length === 0) return 0;
    this.#ledger.write(file, pos, from);
    this.#written(file);
    return from.length;
  }

  /** Counts a descriptor; an unlinked node stays charged while it has one. */
  retain(node: Node): void {
    if (!node.readonly) this.#ledger.relink(node, node.nlink, node.opens + 1);
  }

  /** Gives a descriptor back; the last one of an unlinked node frees its bytes. */
  release(node: Node): void {
    if (!node.readonly && node.opens > 0) this.#ledger.relink(node, node.nlink, node.opens - 1);
  }

  get limits(): VolumeLimits {
    return this.#ledger.limits;
  }

  usage(): { bytes: number; files: number } {
    return { bytes: this.#ledger.bytes, files: this.#ledger.files };
  }

  /**
   * Replaces all contents of a writable area and makes them the baseline of `changes`. File data is borrowed, not
   * copied. Throws SandboxError: for invalid entries nothing has changed, for `quota_exceeded` the area is empty.
   */
  fill(at: WritableRoot, entries: Iterable<Entry>): void {
    const checked = checkEntries(entries);
    const long = checked.find(({ path }) => isLonger(`${at}/${path}`, MAX_PATH_BYTES));
    if (long)
      throw new SandboxError('invalid_path', `Entry ${JSON.stringify(long.path.slice(0, 200))} is too long.`);
    const dir = this.#area(at);
    visit(dir, (_, node) => this.#ledger.relink(node, node.nlink - 1, node.opens));
    dir.entries.clear();
    const grown = newDir(this.#init(0));
    const nodes = plant(grown, checked, this.#nextIno, this.#now());
    this.#nextIno += nodes.length;
    const bytes = nodes.reduce((sum, node) => sum + cost(node), 0);
    if (this.#ledger.fits(bytes, nodes.length)) {
      for (const node of nodes) this.#ledger.relink(node, 1, 0);
      dir.entries = grown.entries;
    }
    this.mark(at);
    if (dir.entries !== grown.entries) {
      const { maxBytes, maxFiles } = this.#ledger.limits;
      const found = `${bytes} bytes in ${nodes.length} entries`;
      throw new SandboxError(
        'quota_exceeded',
        `${found} do not fit a quota of ${maxBytes} bytes in ${maxFiles}.`,
      );
    }
  }

  /** All entries of a writable area by path. Data are views of exactly the file's bytes; later writes do not alter them. */
  entries(at: WritableRoot): Entry[] {
    const entries: Entry[] = [];
    visit(this.#area(at), (path, node) => entries.push(toEntry(path, node)));
    return entries.sort((a, b) => byCodeUnit(a.path, b.path));
  }

  /** Difference to the last `fill` or `mark`. */
  changes(at: WritableRoot): Changes {
    return compare(this.#area(at), this.#baselines.get(at)!);
  }

  /** Makes the present contents the baseline of `changes`. */
  mark(at: WritableRoot): void {
    this.#baselines.set(at, takeBaseline(this.#area(at)));
  }

  #area(at: WritableRoot): DirNode {
    return this.root.entries.get(at.slice(1)) as DirNode;
  }

  #init(mode: number): NodeInit {
    const now = this.#now();
    return { ino: this.#nextIno++, mode: mode & 0o7777, mtimeMs: now, ctimeMs: now, readonly: false };
  }

  #readonlyDir(): DirNode {
    return newDir({ ...this.#init(0o755), mtimeMs: 0, ctimeMs: 0, readonly: true });
  }

  #slot(path: string, cwd: string): Found {
    return walk(this.root, path, cwd, 'slot');
  }

  #checkChangeable({ path, parent }: Found): void {
    if (this.#pinned.has(path)) throw FAIL.EBUSY;
    if (parent.readonly) throw FAIL.EROFS;
  }

  #add(found: Found, node: Node): Resolved {
    if (found.node !== undefined) throw FAIL.EEXIST;
    if (found.parent.readonly) throw FAIL.EROFS;
    checkName(found.name);
    if (isLonger(found.path, MAX_PATH_BYTES)) throw FAIL.ENAMETOOLONG;
    this.#ledger.relink(node, node.nlink + 1, node.opens);
    found.parent.entries.set(found.name, node);
    this.#touch(found.parent);
    return { ...found, node };
  }

  #remove({ parent, name, node }: Resolved): void {
    parent.entries.delete(name);
    this.#ledger.relink(node, node.nlink - 1, node.opens);
    node.ctimeMs = this.#touch(parent);
  }

  #touch(dir: DirNode): number {
    dir.mtimeMs = dir.ctimeMs = this.#now();
    return dir.mtimeMs;
  }

  #written(file: FileNode): void {
    file.changed = true;
    file.mtimeMs = file.ctimeMs = this.#now();
  }
}

function writableFile(node: Node, pos: number): FileNode {
  if (node.kind !== 'file') throw node.kind === 'dir' ? FAIL.EISDIR : FAIL.EINVAL;
  if (node.readonly) throw FAIL.EROFS;
  if (!Number.isSafeInteger(pos) || pos < 0) throw FAIL.EINVAL;
  return node;
}

function checkReplaceable(node: Node, old: Node | undefined): void {
  if (old === undefined) return;
  if (node.kind === 'dir' && old.kind !== 'dir') throw FAIL.ENOTDIR;
  if (node.kind !== 'dir' && old.kind === 'dir') throw FAIL.EISDIR;
  if (old.kind === 'dir' && old.entries.size > 0) throw FAIL.ENOTEMPTY;
}

/** Moving a directory down must not make paths below it too long; unbounded, a chain of them lists quadratically. */
function checkDepth(node: Node, from: string, to: string): void {
  const length = utf8Length(to);
  let below = 0;
  if (node.kind === 'dir' && length > utf8Length(from)) {
    visit(node, (path) => {
      below = Math.max(below, 1 + utf8Length(path));
    });
  }
  if (length + below > MAX_PATH_BYTES) throw FAIL.ENAMETOOLONG;
}
