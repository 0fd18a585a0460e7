/**
 * The file system of one guest: a tree in which read-only layers, shared with other guests, are mounted by reference.
 * Only the contents of the writable roots /app and /tmp can change. /app, the workspace, can have another canonical path.
 * Invariant: no operation modifies a read-only node or creates a canonical path longer than MAX_PATH_BYTES.
 */
import {
  byCodeUnit,
  checkLinkTarget,
  checkName,
  checkPathLength,
  MAX_PATH_BYTES,
  utf8Length,
} from './file-names.ts';
import { checkEntries, type Entry, MAX_TIME_MS, toEntry } from './flat-entries.ts';
import { ERRNO_ERRORS } from './fs-error.ts';
import { EMPTY_TREE, FileTree } from './immutable-file-tree.ts';
import { visitNodesInMemory } from './lazy-directory-entries.ts';
import {
  countNodes,
  type DirNode,
  type FileNode,
  type Node,
  type NodeInit,
  newDir,
  newFile,
  newLink,
  visitTree,
} from './nodes.ts';
import { Quota, quotaExceeded, type VolumeLimits, type VolumeUsage } from './quota.ts';
import { ReadOnlyLayers } from './read-only-layers.ts';
import { type BaseDirectory, type ResolvedPath, type WalkResult, walk } from './resolve-path.ts';
import type { TreeChanges } from './tree-changes.ts';
import { checkPathLengths, WritableTree } from './writable-tree.ts';

export type { VolumeLimits, VolumeUsage } from './quota.ts';

/** The directories whose contents a guest can change. */
const WORKSPACE = '/app';
export const WRITABLE_ROOTS = [WORKSPACE, '/tmp'] as const;
export type WritableRoot = (typeof WRITABLE_ROOTS)[number];

/** Whether the node is a file with these contents. */
const hasContents = (node: Node, data: Uint8Array) =>
  node.kind === 'file' &&
  node.size === data.length &&
  Buffer.compare(node.data.subarray(0, node.size), data) === 0;

export class Volume {
  readonly root: DirNode;
  readonly #quota: Quota;
  readonly #now: () => number;
  readonly #inodes = new InodeNumbers();
  /** Canonical paths that cannot be removed or renamed. */
  readonly #pinned = new Set<string>(['/', ...WRITABLE_ROOTS]);
  readonly #layers: ReadOnlyLayers;
  readonly #writable = new Map<WritableRoot, WritableTree>();
  /** The file of `addUnlisted`, until the guest changes it. */
  #unlisted: FileNode | undefined;

  /**
   * `now` returns milliseconds. The volume uses no other clock. `home` is the canonical path of the workspace. If it is not
   * /app, /app is a link to it.
   */
  constructor(
    limits: VolumeLimits,
    now: () => number,
    readonly home: string = WORKSPACE,
  ) {
    this.#quota = new Quota(limits);
    this.#now = now;
    this.root = this.#readonlyDir();
    this.#layers = new ReadOnlyLayers(this.root, () => this.#readonlyDir());
    for (const path of WRITABLE_ROOTS) {
      const dir = newDir(this.#init(path === '/tmp' ? 0o1777 : 0o755));
      dir.nlink = 1; // Set directly, because the quota does not charge the writable roots themselves.
      this.#writable.set(path, new WritableTree(dir));
      this.#layers.place(this.root, this.pathOf(path), dir);
    }
    if (home === WORKSPACE) return;
    this.mount(WORKSPACE, newLink({ ...this.#init(0o777), mtimeMs: 0, ctimeMs: 0, readonly: true }, home));
    this.#pinned.add(home);
  }

  /** The canonical path of a writable root. */
  pathOf(at: WritableRoot): string {
    return at === WORKSPACE ? this.home : at;
  }

  /**
   * Mounts a read-only subtree at a canonical absolute path and creates read-only parents. A directory is merged into a
   * read-only directory that already exists there. Throws EEXIST if anything else has that path, and EINVAL if the
   * subtree is writable or the path is inside a writable root.
   */
  mount(at: string, subtree: Node): void {
    this.#layers.mount(this.root, at, subtree);
    this.#pinned.add(at);
  }

  /** Removes the read-only layers that were mounted at a path where nothing else is. */
  unmount(at: string): void {
    this.#layers.unmount(this.root, at);
    this.#pinned.delete(at);
  }

  /**
   * Adds a file to the workspace that paths lead to. Listings, changes and the quota leave it out until the guest changes it.
   * If something else has the name, the file gets a free one. Returns its name.
   */
  addUnlisted(name: string, data: Uint8Array, mode: number): string {
    const { entries } = this.#writableTree(WORKSPACE);
    const dot = name.lastIndexOf('.');
    const stem = dot > 0 ? name.slice(0, dot) : name;
    let free = name;
    for (let i = 1, node = entries.get(free); node !== undefined; node = entries.get(free), i++) {
      if (hasContents(node, data)) return free;
      free = `${stem}-${i}${name.slice(stem.length)}`;
    }
    this.#unlisted = newFile({ ...this.#init(mode), readonly: true }, data);
    entries.unlisted = { name: free, node: this.#unlisted };
    return free;
  }

  /** Removes the file of `addUnlisted`, unless the guest has changed it. It is charged as long as it is open. */
  removeUnlisted(): void {
    const node = this.#unlisted;
    if (node === undefined) return;
    this.#writableTree(WORKSPACE).entries.unlisted = undefined;
    this.asHost(() => this.#makeOrdinary(node, 0));
  }

  /** Resolves a path; `follow` applies to a final symbolic link. Throws ENOENT if the path does not exist. */
  resolve(path: string, cwd: BaseDirectory, follow: boolean): ResolvedPath {
    const found = walk(this.root, path, cwd, follow ? 'follow' : 'nofollow');
    if (found.node === undefined) throw ERRNO_ERRORS.ENOENT;
    return found as ResolvedPath;
  }

  lookup(path: string, cwd: BaseDirectory, follow: boolean): Node {
    return this.resolve(path, cwd, follow).node;
  }

  /** Whether an absolute path exists. A dangling link exists. */
  exists(path: string): boolean {
    try {
      return walk(this.root, path, '/', 'nofollow').node !== undefined;
    } catch {
      return false;
    }
  }

  /** Creates a file without a name, like one that was removed while open. It is charged once it is retained. */
  createRemovedFile(mode: number, mtimeMs: number, data: Uint8Array): FileNode {
    return newFile({ ...this.#init(mode), mtimeMs }, data);
  }

  /** Creates a directory without a name, like one that was removed while open. */
  createRemovedDir(mode: number, mtimeMs: number): DirNode {
    return newDir({ ...this.#init(mode), mtimeMs });
  }

  /** Opens or creates a file as open(2) does. The caller counts its descriptor with `retain`. */
  open(path: string, cwd: BaseDirectory, flags: OpenFlags, mode: number): ResolvedPath {
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
    if ((flags.write || flags.truncate) && !flags.directory) this.#list(node);
    checkOpen(node, flags);
    if (flags.truncate) this.truncate(node, 0);
    return found as ResolvedPath;
  }

  mkdir(path: string, cwd: BaseDirectory, mode: number): ResolvedPath {
    return this.#add(this.#lookupEntry(path, cwd), newDir(this.#init(mode)));
  }

  symlink(target: string, path: string, cwd: BaseDirectory): ResolvedPath {
    if (target === '') throw ERRNO_ERRORS.ENOENT;
    checkLinkTarget(target);
    const found = this.#lookupEntry(path, cwd);
    if (found.node === undefined && found.trailingSlash) throw ERRNO_ERRORS.ENOENT;
    return this.#add(found, newLink(this.#init(0o777), target));
  }

  readlink(path: string, cwd: BaseDirectory): string {
    const node = this.lookup(path, cwd, false);
    if (node.kind !== 'symlink') throw ERRNO_ERRORS.EINVAL;
    return node.target;
  }

  unlink(path: string, cwd: BaseDirectory): void {
    const found = this.#lookupEntry(path, cwd);
    if (found.node === undefined) throw ERRNO_ERRORS.ENOENT;
    if (found.node.kind === 'dir') throw ERRNO_ERRORS.EISDIR;
    if (found.trailingSlash) throw ERRNO_ERRORS.ENOTDIR;
    this.#checkChangeable(found);
    this.#listRemoved(found.node);
    this.#remove(found as ResolvedPath);
  }

  rmdir(path: string, cwd: BaseDirectory): WalkResult {
    const found = this.#lookupEntry(path, cwd);
    if (found.node === undefined) throw ERRNO_ERRORS.ENOENT;
    if (found.node.kind !== 'dir') throw ERRNO_ERRORS.ENOTDIR;
    if (found.endsInDots && found.path !== '/') throw ERRNO_ERRORS.EINVAL;
    this.#checkChangeable(found);
    if (found.node.entries.size > 0) throw ERRNO_ERRORS.ENOTEMPTY;
    this.#remove(found as ResolvedPath);
    return found;
  }

  /** Renames as rename(2) does. Returns what both paths led to before. */
  rename(
    from: string,
    fromCwd: BaseDirectory,
    to: string,
    toCwd: BaseDirectory,
  ): { source: WalkResult; target: WalkResult } {
    const source = this.#lookupEntry(from, fromCwd);
    const target = this.#lookupEntry(to, toCwd);
    const { node } = source;
    if (source.endsInDots || target.endsInDots) throw ERRNO_ERRORS.EBUSY;
    if (node === undefined) throw ERRNO_ERRORS.ENOENT;
    if (node.kind !== 'dir' && (source.trailingSlash || target.trailingSlash)) throw ERRNO_ERRORS.ENOTDIR;
    this.#checkChangeable(source);
    this.#checkChangeable(target);
    if (target.node === node) return { source, target };
    if (node.kind === 'dir' && target.path.startsWith(`${source.path}/`)) throw ERRNO_ERRORS.EINVAL;
    checkReplaceable(node, target.node);
    checkName(target.name);
    checkDepth(node, source.path, target.path);
    this.#list(node);
    this.#listRemoved(target.node);
    const moved = 1 + (node.kind === 'dir' ? countNodes(node) : 0);
    const lengthened = moved * (utf8Length(target.path) - utf8Length(source.path));
    this.#quota.checkPaths(lengthened);
    this.#quota.pathBytes += lengthened;
    if (target.node !== undefined) this.#remove(target as ResolvedPath);
    source.parent.entries.delete(source.name);
    target.parent.entries.set(target.name, node);
    node.ctimeMs = this.#touch(source.parent);
    this.#touch(target.parent);
    return { source, target };
  }

  /** The children in code unit order, without `.` and `..`. */
  readdir(node: Node): { name: string; node: Node }[] {
    if (node.kind !== 'dir') throw ERRNO_ERRORS.ENOTDIR;
    return [...node.entries.keys()].sort(byCodeUnit).map((name) => ({ name, node: node.entries.get(name)! }));
  }

  chmod(node: Node, mode: number): void {
    this.#list(node);
    if (node.readonly) throw ERRNO_ERRORS.EROFS;
    node.mode = mode & 0o7777;
    node.ctimeMs = this.#now();
  }

  /** Sets the modification time. There is no access time. */
  utimes(node: Node, mtimeMs: number): void {
    this.#list(node);
    if (node.readonly) throw ERRNO_ERRORS.EROFS;
    if (!(Math.abs(mtimeMs) <= MAX_TIME_MS)) throw ERRNO_ERRORS.EINVAL;
    node.mtimeMs = mtimeMs;
    node.ctimeMs = this.#now();
  }

  truncate(node: Node, size: number): void {
    this.#list(node);
    const file = writableFile(node, size);
    this.#quota.resize(file, size);
    this.#markWritten(file);
  }

  /** Copies bytes from `pos` on and returns their number, which is 0 at or beyond the end of the file. */
  read(node: Node, pos: number, into: Uint8Array): number {
    const file = readableFile(node, pos);
    const length = Math.min(into.length, file.size - pos);
    if (length <= 0) return 0;
    into.set(file.data.subarray(pos, pos + length));
    return length;
  }

  /** Writes all of `from`. Throws ENOSPC and writes nothing if the quota does not allow it. */
  write(node: Node, pos: number, from: Uint8Array): number {
    const file = writableFile(node, pos);
    if (from.length === 0) return 0;
    this.#quota.write(file, pos, from);
    this.#markWritten(file);
    return from.length;
  }

  /** Counts an open descriptor. An unlinked node stays charged while it has one. */
  retain(node: Node): void {
    if (node === this.#unlisted) node.openCount++;
    else if (!node.readonly) this.#quota.relink(node, node.nlink, node.openCount + 1);
  }

  /** Releases a descriptor. The last one of an unlinked node frees its bytes. */
  release(node: Node): void {
    if (node === this.#unlisted) node.openCount--;
    else if (!node.readonly && node.openCount > 0) this.#quota.relink(node, node.nlink, node.openCount - 1);
  }

  get limits(): VolumeLimits {
    return this.#quota.limits;
  }

  usage(): VolumeUsage {
    return { bytes: this.#quota.bytes, files: this.#quota.files };
  }

  /** Total length of the absolute paths of all nodes in the writable roots. */
  get pathBytes(): number {
    return this.#quota.pathBytes;
  }

  /** The limit of the last change that the quota refused since the previous call. */
  takeExceededLimit(): ReturnType<Quota['takeExceeded']> {
    return this.#quota.takeExceeded();
  }

  /** What the quota charges outside of `at` at its last baseline: the other writable root and open deleted files. */
  usageOutside(at: WritableRoot): VolumeUsage {
    const { bytes, size } = this.baseline(at);
    return { bytes: this.#quota.bytes - bytes, files: this.#quota.files - size };
  }

  /**
   * Runs changes that the host makes: restoring a saved state or writing files it has checked itself. They are charged
   * to the quota but never refused, so that nothing a guest did makes them fail. Until enough is deleted, the guest
   * cannot write.
   */
  asHost<T>(change: () => T): T {
    this.#quota.isEnforced = false;
    try {
      return change();
    } finally {
      this.#quota.isEnforced = true;
    }
  }

  /**
   * Replaces the contents of a writable root and makes them the baseline. A `FileTree` must be valid; it is used as it is,
   * in constant time. File data is borrowed, not copied. Throws SandboxError: if entries are invalid, nothing changes;
   * after `quota_exceeded`, the writable root is empty.
   */
  fill(at: WritableRoot, entries: Iterable<Entry> | FileTree): void {
    const tree = entries instanceof FileTree ? entries : FileTree.from(checkEntries(entries));
    const path = this.pathOf(at);
    checkPathLengths(path, tree);
    const writable = this.#writableTree(at);
    visitTree(writable.dir, (name, node) => {
      this.#quota.relink(node, node.nlink - 1, node.openCount);
      this.#quota.pathBytes -= path.length + 1 + utf8Length(name);
    });
    const { bytes, size } = tree;
    const pathBytes = tree.pathBytes + size * (path.length + 1);
    const fits = this.#quota.fits(bytes, size, pathBytes);
    const firstIno = this.#inodes.take(size);
    writable.replace({ tree: fits ? tree : EMPTY_TREE, firstIno, ctimeMs: this.#now() });
    if (!fits) throw quotaExceeded(this.limits, bytes, size, pathBytes);
    this.#quota.add(bytes, size, pathBytes);
  }

  /** All entries of a writable root, sorted by path. Later writes do not change the data of the entries. */
  entries(at: WritableRoot): Entry[] {
    const entries: Entry[] = [];
    visitTree(this.#writableTree(at).dir, (path, node) => entries.push(toEntry(path, node)));
    return entries.sort((a, b) => byCodeUnit(a.path, b.path));
  }

  /**
   * Makes the current contents of both writable roots the baseline and assigns inode numbers that depend only on paths and
   * on `removed`, the nodes without a name that are open. For `inUse`, see `commit`.
   */
  renumber(removed: readonly Node[], inUse: () => ReadonlySet<Node>): void {
    this.#inodes.restart();
    for (const [at, writable] of this.#writable) {
      this.commit(at, inUse);
      writable.renumber(this.#inodes.take(writable.baseline.size));
    }
    for (const node of removed) node.ino = this.#inodes.take(1);
  }

  /** Calls `each` with the absolute path of every open file below the writable roots. */
  visitOpenFiles(each: (path: string, node: Node) => void): void {
    for (const [at, { dir }] of this.#writable)
      visitNodesInMemory(dir, (path, node) => {
        if (node.openCount > 0) each(`${this.pathOf(at)}/${path}`, node);
      });
  }

  /** The changes since the baseline, which is the state after the last `fill` or `commit`. */
  changes(at: WritableRoot): TreeChanges {
    return this.#writableTree(at).changes();
  }

  /**
   * Makes the current contents the baseline of `changes`, and returns the changes since the last one. Afterwards, only
   * the nodes of open files and those that `inUse` returns, if it is called, are the same objects as before.
   */
  commit(at: WritableRoot, inUse: () => ReadonlySet<Node> = () => new Set()): TreeChanges {
    return this.#writableTree(at).commit(inUse, this.#now());
  }

  /** The contents at the last baseline. */
  baseline(at: WritableRoot): FileTree {
    return this.#writableTree(at).baseline;
  }

  /** Lists the file of `addUnlisted`, which the guest is about to change. Other nodes stay as they are. */
  #list(node: Node | undefined): void {
    if (node === undefined || node !== this.#unlisted) return;
    const { entries } = this.#writableTree(WORKSPACE);
    const { name } = entries.unlisted!;
    const pathBytes = utf8Length(`${this.home}/${name}`);
    this.#quota.checkPaths(pathBytes);
    this.#makeOrdinary(node, 1);
    this.#quota.pathBytes += pathBytes;
    entries.set(name, node);
  }

  /** Like `#list`, for a file that is removed at once, which needs no quota. */
  #listRemoved(node: Node | undefined): void {
    if (node !== undefined && node === this.#unlisted) this.asHost(() => this.#list(node));
  }

  #makeOrdinary(node: FileNode, nlink: number): void {
    const { openCount } = node;
    this.#quota.charge(node, nlink, openCount);
    node.readonly = false;
    this.#unlisted = undefined;
  }

  #writableTree(at: WritableRoot): WritableTree {
    return this.#writable.get(at)!;
  }

  #init(mode: number): NodeInit {
    const now = this.#now();
    return { ino: this.#inodes.take(1), mode: mode & 0o7777, mtimeMs: now, ctimeMs: now, readonly: false };
  }

  #readonlyDir(): DirNode {
    return newDir({ ...this.#init(0o755), mtimeMs: 0, ctimeMs: 0, readonly: true });
  }

  #lookupEntry(path: string, cwd: BaseDirectory): WalkResult {
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
    checkPathLength(found.path);
    const pathBytes = utf8Length(found.path);
    this.#quota.checkPaths(pathBytes);
    this.#quota.relink(node, node.nlink + 1, node.openCount);
    this.#quota.pathBytes += pathBytes;
    found.parent.entries.set(found.name, node);
    this.#touch(found.parent);
    return { ...found, node };
  }

  #remove({ parent, name, node, path }: ResolvedPath): void {
    parent.entries.delete(name);
    this.#quota.pathBytes -= utf8Length(path);
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

/** Above the numbers of all layers. */
const FIRST_INO = 2 ** 32;
/** Above the numbers of the directories that are created with a volume. */
const FIRST_ASSIGNED_INO = FIRST_INO + 2 ** 24;

/**
 * Inode numbers are unique and increasing. Between two calls of a session, `restart` starts a new sequence, so that a tree that
 * stayed in memory gets the same numbers as one that was restored.
 */
class InodeNumbers {
  #next = FIRST_INO;

  /** Reserves consecutive numbers and returns the first. */
  take(count: number): number {
    this.#next += count;
    return this.#next - count;
  }

  /** Starts a new sequence, which replaces the numbers of all nodes below the writable roots. */
  restart(): void {
    this.#next = FIRST_ASSIGNED_INO;
  }
}

interface OpenFlags {
  create?: boolean;
  exclusive?: boolean;
  truncate?: boolean;
  directory?: boolean;
  nofollow?: boolean;
  write?: boolean;
}

/** Throws unless open(2) may open the node with these flags. */
export function checkOpen(node: Node, flags: OpenFlags): void {
  if (node.kind === 'symlink') throw flags.directory ? ERRNO_ERRORS.ENOTDIR : ERRNO_ERRORS.ELOOP;
  if (flags.directory && node.kind !== 'dir') throw ERRNO_ERRORS.ENOTDIR;
  if (node.kind === 'dir' && (flags.write || flags.create || flags.truncate)) throw ERRNO_ERRORS.EISDIR;
  if (node.readonly && (flags.write || flags.truncate)) throw ERRNO_ERRORS.EROFS;
}

/** The node as a file that can be read at `pos`. */
function readableFile(node: Node, pos: number): FileNode {
  if (node.kind !== 'file') throw node.kind === 'dir' ? ERRNO_ERRORS.EISDIR : ERRNO_ERRORS.EINVAL;
  if (!Number.isSafeInteger(pos) || pos < 0) throw ERRNO_ERRORS.EINVAL;
  return node;
}

/** The node as a file that can be written at `pos`. */
function writableFile(node: Node, pos: number): FileNode {
  if (node.kind === 'file' && node.readonly) throw ERRNO_ERRORS.EROFS;
  return readableFile(node, pos);
}

/** A file can replace a file, a directory an empty directory. */
function checkReplaceable(node: Node, old: Node | undefined): void {
  if (old === undefined) return;
  if (node.kind === 'dir' && old.kind !== 'dir') throw ERRNO_ERRORS.ENOTDIR;
  if (node.kind !== 'dir' && old.kind === 'dir') throw ERRNO_ERRORS.EISDIR;
  if (old.kind === 'dir' && old.entries.size > 0) throw ERRNO_ERRORS.ENOTEMPTY;
}

/** Limits the paths below a moved directory. Without a limit, listing a deep chain takes quadratic time. */
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
