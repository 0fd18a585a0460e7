/**
 * The file system of one guest: one tree in which read-only layers are mounted by reference and shared with other
 * guests, and in which only the areas below /app and /tmp can change.
 * Invariant: no operation changes a node with `readonly`, and none makes a canonical path longer than MAX_PATH_BYTES.
 */
import { SandboxError } from '../errors.ts';
import { buildTree, checkEntries, type Entry, toEntry } from './entries.ts';
import { checkName, isEncodable, isLongerThan, MAX_PATH_BYTES, utf8Length } from './file-names.ts';
import { ERRNO_ERRORS } from './fs-error.ts';
import { chargedBytes, Quota, type VolumeLimits } from './quota.ts';
import { ReadOnlyLayers } from './read-only-layers.ts';
import { type WalkResult, walk } from './resolve-path.ts';
import {
  byCodeUnit,
  type DirNode,
  type FileNode,
  type Node,
  type NodeInit,
  newDir,
  newFile,
  newLink,
  visitTree,
} from './tree.ts';
import { diffTree, type TreeBaseline, type TreeChanges, takeBaseline } from './tree-changes.ts';

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
export type ResolvedPath = WalkResult & { node: Node };

/** Own numbers start above those of all layers, so that they can grow without meeting one. */
const FIRST_INO = 2 ** 32;

export class Volume {
  readonly root: DirNode;
  readonly #quota: Quota;
  readonly #now: () => number;
  #nextIno = FIRST_INO;
  /** Canonical paths that cannot be removed or renamed. */
  readonly #pinned = new Set<string>(['/', ...WRITABLE_ROOTS]);
  readonly #layers: ReadOnlyLayers;
  readonly #baselines = new Map<WritableRoot, TreeBaseline>();

  /** `now` gives milliseconds; the volume reads no other clock. */
  constructor(limits: VolumeLimits, now: () => number) {
    this.#quota = new Quota(limits);
    this.#now = now;
    this.root = this.#readonlyDir();
    this.#layers = new ReadOnlyLayers(this.root, () => this.#readonlyDir());
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
  resolve(path: string, cwd: string, follow: boolean): ResolvedPath {
    const found = walk(this.root, path, cwd, follow ? 'follow' : 'nofollow');
    if (found.node === undefined) throw ERRNO_ERRORS.ENOENT;
    return found as ResolvedPath;
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
  createOrphanFile(data: Uint8Array): FileNode {
    return newFile(this.#init(0o600), data);
  }

  /** Finds or creates as open(2) does; the caller takes a descriptor with `retain`. */
  open(path: string, cwd: string, flags: OpenFlags, mode: number): ResolvedPath {
    const isNew = flags.create === true && flags.exclusive === true;
    const found = walk(this.root, path, cwd, flags.nofollow || isNew ? 'nofollow' : 'follow');
    const { node } = found;
    if (node === undefined) {
      if (!flags.create) throw ERRNO_ERRORS.ENOENT;
      if (found.trailingSlash) throw ERRNO_ERRORS.EISDIR;
      if (flags.directory) throw ERRNO_ERRORS.EINVAL;
      return this.#add(found, newFile(this.#init(mode)));
    }
    if (isNew) throw ERRNO_ERRORS.EEXIST;
    if (node.kind === 'symlink') throw flags.directory ? ERRNO_ERRORS.ENOTDIR : ERRNO_ERRORS.ELOOP;
    if (flags.directory && node.kind !== 'dir') throw ERRNO_ERRORS.ENOTDIR;
    if (node.kind === 'dir' && (flags.write || flags.create || flags.truncate)) throw ERRNO_ERRORS.EISDIR;
    if (node.readonly && (flags.write || flags.truncate)) throw ERRNO_ERRORS.EROFS;
    if (flags.truncate) this.truncate(node, 0);
    return found as ResolvedPath;
  }

  mkdir(path: string, cwd: string, mode: number): ResolvedPath {
    return this.#add(this.#lookupEntry(path, cwd), newDir(this.#init(mode)));
  }

  symlink(target: string, path: string, cwd: string): ResolvedPath {
    if (target === '') throw ERRNO_ERRORS.ENOENT;
    if (isLongerThan(target, MAX_PATH_BYTES - 1)) throw ERRNO_ERRORS.ENAMETOOLONG;
    if (!isEncodable(target)) throw ERRNO_ERRORS.EINVAL;
    const found = this.#lookupEntry(path, cwd);
    if (found.node === undefined && found.trailingSlash) throw ERRNO_ERRORS.ENOENT;
    return this.#add(found, newLink(this.#init(0o777), target));
  }

  /** A further name for a file or link of the writable areas. */
  link(from: string, fromCwd: string, to: string, toCwd: string, follow: boolean): void {
    const { node } = this.resolve(from, fromCwd, follow);
    if (node.kind === 'dir') throw ERRNO_ERRORS.EPERM;
    const found = this.#lookupEntry(to, toCwd);
    if (found.node === undefined && found.trailingSlash) throw ERRNO_ERRORS.ENOENT;
    if (node.readonly && !found.parent.readonly) throw ERRNO_ERRORS.EXDEV;
    this.#add(found, node);
    node.ctimeMs = this.#now();
  }

  readlink(path: string, cwd: string): string {
    const node = this.lookup(path, cwd, false);
    if (node.kind !== 'symlink') throw ERRNO_ERRORS.EINVAL;
    return node.target;
  }

  unlink(path: string, cwd: string): void {
    const found = this.#lookupEntry(path, cwd);
    if (found.node === undefined) throw ERRNO_ERRORS.ENOENT;
    if (found.node.kind === 'dir') throw ERRNO_ERRORS.EISDIR;
    if (found.trailingSlash) throw ERRNO_ERRORS.ENOTDIR;
    this.#checkChangeable(found);
    this.#remove(found as ResolvedPath);
  }

  rmdir(path: string, cwd: string): void {
    const found = this.#lookupEntry(path, cwd);
    if (found.node === undefined) throw ERRNO_ERRORS.ENOENT;
    if (found.node.kind !== 'dir') throw ERRNO_ERRORS.ENOTDIR;
    if (found.endsInDots && found.path !== '/') throw ERRNO_ERRORS.EINVAL;
    this.#checkChangeable(found);
    if (found.node.entries.size > 0) throw ERRNO_ERRORS.ENOTEMPTY;
    this.#remove(found as ResolvedPath);
  }

  /** As rename(2): replaces a file by a file and an empty directory by a directory, at once. */
  rename(from: string, fromCwd: string, to: string, toCwd: string): void {
    const source = this.#lookupEntry(from, fromCwd);
    const target = this.#lookupEntry(to, toCwd);
    const { node } = source;
    if (source.endsInDots || target.endsInDots) throw ERRNO_ERRORS.EBUSY;
    if (node === undefined) throw ERRNO_ERRORS.ENOENT;
    if (node.kind !== 'dir' && (source.trailingSlash || target.trailingSlash)) throw ERRNO_ERRORS.ENOTDIR;
    this.#checkChangeable(source);
    this.#checkChangeable(target);
    if (target.node === node) return;
    if (node.kind === 'dir' && target.path.startsWith(`${source.path}/`)) throw ERRNO_ERRORS.EINVAL;
    checkReplaceable(node, target.node);
    checkName(target.name);
    checkDepth(node, source.path, target.path);
    if (target.node !== undefined) this.#remove(target as ResolvedPath);
    source.parent.entries.delete(source.name);
    target.parent.entries.set(target.name, node);
    node.ctimeMs = this.#touch(source.parent);
    this.#touch(target.parent);
  }

  /** Children in code unit order, without `.` and `..`. */
  readdir(node: Node): { name: string; node: Node }[] {
    if (node.kind !== 'dir') throw ERRNO_ERRORS.ENOTDIR;
    return [...node.entries.keys()].sort(byCodeUnit).map((name) => ({ name, node: node.entries.get(name)! }));
  }

  chmod(node: Node, mode: number): void {
    if (node.readonly) throw ERRNO_ERRORS.EROFS;
    node.mode = mode & 0o7777;
    node.ctimeMs = this.#now();
  }

  /** There is no access time: what was read leaves no trace. */
  utimes(node: Node, mtimeMs: number): void {
    if (node.readonly) throw ERRNO_ERRORS.EROFS;
    if (!(Math.abs(mtimeMs) <= 8.64e15)) throw ERRNO_ERRORS.EINVAL;
    node.mtimeMs = mtimeMs;
    node.ctimeMs = this.#now();
  }

  truncate(node: Node, size: number): void {
    const file = writableFile(node, size);
    this.#quota.resize(file, size);
    this.#markWritten(file);
  }

  /** Copies what is at `pos` and returns how many bytes that were; 0 at or behind the end. */
  read(node: Node, pos: number, into: Uint8Array): number {
    if (node.kind !== 'file') throw node.kind === 'dir' ? ERRNO_ERRORS.EISDIR : ERRNO_ERRORS.EINVAL;
    if (!Number.isSafeInteger(pos) || pos < 0) throw ERRNO_ERRORS.EINVAL;
    const length = Math.min(into.length, node.size - pos);
    if (length <= 0) return 0;
    into.set(node.data.subarray(pos, pos + length));
    return length;
  }

  /** Writes all of `from` or, when the quota does not allow it, nothing: ENOSPC. */
  write(node: Node, pos: number, from: Uint8Array): number {
    const file = writableFile(node, pos);
    if (from.length === 0) return 0;
    this.#quota.write(file, pos, from);
    this.#markWritten(file);
    return from.length;
  }

  /** Counts a descriptor; an unlinked node stays charged while it has one. */
  retain(node: Node): void {
    if (!node.readonly) this.#quota.relink(node, node.nlink, node.openCount + 1);
  }

  /** Gives a descriptor back; the last one of an unlinked node frees its bytes. */
  release(node: Node): void {
    if (!node.readonly && node.openCount > 0) this.#quota.relink(node, node.nlink, node.openCount - 1);
  }

  get limits(): VolumeLimits {
    return this.#quota.limits;
  }

  usage(): { bytes: number; files: number } {
    return { bytes: this.#quota.bytes, files: this.#quota.files };
  }

  /**
   * Replaces all contents of a writable area and makes them the baseline of `changes`. File data is borrowed, not
   * copied. Throws SandboxError: for invalid entries nothing has changed, for `quota_exceeded` the area is empty.
   */
  fill(at: WritableRoot, entries: Iterable<Entry>): void {
    const checked = checkEntries(entries);
    const long = checked.find(({ path }) => isLongerThan(`${at}/${path}`, MAX_PATH_BYTES));
    if (long)
      throw new SandboxError('invalid_path', `Entry ${JSON.stringify(long.path.slice(0, 200))} is too long.`);
    const dir = this.#writableDir(at);
    visitTree(dir, (_, node) => this.#quota.relink(node, node.nlink - 1, node.openCount));
    dir.entries.clear();
    const grown = newDir(this.#init(0));
    const nodes = buildTree(grown, checked, this.#nextIno, this.#now());
    this.#nextIno += nodes.length;
    const bytes = nodes.reduce((sum, node) => sum + chargedBytes(node), 0);
    if (this.#quota.fits(bytes, nodes.length)) {
      for (const node of nodes) this.#quota.relink(node, 1, 0);
      dir.entries = grown.entries;
    }
    this.setBaseline(at);
    if (dir.entries !== grown.entries) {
      const { maxBytes, maxFiles } = this.#quota.limits;
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
    visitTree(this.#writableDir(at), (path, node) => entries.push(toEntry(path, node)));
    return entries.sort((a, b) => byCodeUnit(a.path, b.path));
  }

  /** Difference to the last `fill` or `mark`. */
  changes(at: WritableRoot): TreeChanges {
    return diffTree(this.#writableDir(at), this.#baselines.get(at)!);
  }

  /** Makes the present contents the baseline of `changes`. */
  setBaseline(at: WritableRoot): void {
    this.#baselines.set(at, takeBaseline(this.#writableDir(at)));
  }

  #writableDir(at: WritableRoot): DirNode {
    return this.root.entries.get(at.slice(1)) as DirNode;
  }

  #init(mode: number): NodeInit {
    const now = this.#now();
    return { ino: this.#nextIno++, mode: mode & 0o7777, mtimeMs: now, ctimeMs: now, readonly: false };
  }

  #readonlyDir(): DirNode {
    return newDir({ ...this.#init(0o755), mtimeMs: 0, ctimeMs: 0, readonly: true });
  }

  #lookupEntry(path: string, cwd: string): WalkResult {
    return walk(this.root, path, cwd, 'entry');
  }

  #checkChangeable({ path, parent }: WalkResult): void {
    if (this.#pinned.has(path)) throw ERRNO_ERRORS.EBUSY;
    if (parent.readonly) throw ERRNO_ERRORS.EROFS;
  }

  #add(found: WalkResult, node: Node): ResolvedPath {
    if (found.node !== undefined) throw ERRNO_ERRORS.EEXIST;
    if (found.parent.readonly) throw ERRNO_ERRORS.EROFS;
    checkName(found.name);
    if (isLongerThan(found.path, MAX_PATH_BYTES)) throw ERRNO_ERRORS.ENAMETOOLONG;
    this.#quota.relink(node, node.nlink + 1, node.openCount);
    found.parent.entries.set(found.name, node);
    this.#touch(found.parent);
    return { ...found, node };
  }

  #remove({ parent, name, node }: ResolvedPath): void {
    parent.entries.delete(name);
    this.#quota.relink(node, node.nlink - 1, node.openCount);
    node.ctimeMs = this.#touch(parent);
  }

  #touch(dir: DirNode): number {
    dir.mtimeMs = dir.ctimeMs = this.#now();
    return dir.mtimeMs;
  }

  #markWritten(file: FileNode): void {
    file.changed = true;
    file.mtimeMs = file.ctimeMs = this.#now();
  }
}

function writableFile(node: Node, pos: number): FileNode {
  if (node.kind !== 'file') throw node.kind === 'dir' ? ERRNO_ERRORS.EISDIR : ERRNO_ERRORS.EINVAL;
  if (node.readonly) throw ERRNO_ERRORS.EROFS;
  if (!Number.isSafeInteger(pos) || pos < 0) throw ERRNO_ERRORS.EINVAL;
  return node;
}

function checkReplaceable(node: Node, old: Node | undefined): void {
  if (old === undefined) return;
  if (node.kind === 'dir' && old.kind !== 'dir') throw ERRNO_ERRORS.ENOTDIR;
  if (node.kind !== 'dir' && old.kind === 'dir') throw ERRNO_ERRORS.EISDIR;
  if (old.kind === 'dir' && old.entries.size > 0) throw ERRNO_ERRORS.ENOTEMPTY;
}

/** Moving a directory down must not make paths below it too long; unbounded, a chain of them lists quadratically. */
function checkDepth(node: Node, from: string, to: string): void {
  const length = utf8Length(to);
  let below = 0;
  if (node.kind === 'dir' && length > utf8Length(from)) {
    visitTree(node, (path) => {
      below = Math.max(below, 1 + utf8Length(path));
    });
  }
  if (length + below > MAX_PATH_BYTES) throw ERRNO_ERRORS.ENAMETOOLONG;
}
