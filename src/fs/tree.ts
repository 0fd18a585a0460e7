/**
 * Nodes of a directory tree as plain data, and the walk that resolves a path in it.
 * Invariant: a walk never leaves its root. Nodes have no parent pointer, since read-only subtrees are shared between
 * guests and hang in many trees at once; `..` is resolved by the stack of the walk.
 */
import { FAIL } from './fs-error.ts';

export const MAX_NAME_BYTES = 255;
export const MAX_PATH_BYTES = 4096;
export const MAX_LINK_EXPANSIONS = 40;

interface NodeFields {
  /** Unique inside one volume: layers number from `layer * 2 ** 24`, a volume's own nodes from 2 ** 32. */
  ino: number;
  /** Permission bits only, 0 to 0o7777. */
  mode: number;
  mtimeMs: number;
  ctimeMs: number;
  /** Names that lead here; a directory has 1, or 0 once removed. */
  nlink: number;
  /** Open descriptors, counted by `Volume.retain` and `release`; stays 0 on read-only nodes. */
  opens: number;
  /** Part of a shared layer or of the scaffold between layers: never changes. */
  readonly: boolean;
}

export interface FileNode extends NodeFields {
  kind: 'file';
  /** Backing bytes; may be longer than `size` and may lie in a SharedArrayBuffer. */
  data: Uint8Array;
  size: number;
  /** `data` is borrowed and has to be copied before a write. */
  shared: boolean;
  /** Written or truncated since the baseline of its tree. */
  changed: boolean;
}

export interface DirNode extends NodeFields {
  kind: 'dir';
  entries: Map<string, Node>;
}

export interface LinkNode extends NodeFields {
  kind: 'symlink';
  target: string;
}

export type Node = FileNode | DirNode | LinkNode;

export interface NodeInit {
  ino: number;
  mode: number;
  mtimeMs: number;
  ctimeMs: number;
  readonly: boolean;
}

const NO_BYTES: Uint8Array = new Uint8Array(0);

// The three factories spell their fields out: spreading costs several times more, and a layer has thousands of nodes.

/** A file over borrowed bytes, or an empty one. Nodes that may change start with no names counted. */
export function newFile({ ino, mode, mtimeMs, ctimeMs, readonly }: NodeInit, data = NO_BYTES): FileNode {
  return {
    kind: 'file',
    ino,
    mode,
    mtimeMs,
    ctimeMs,
    nlink: readonly ? 1 : 0,
    opens: 0,
    readonly,
    data,
    size: data.length,
    shared: true,
    changed: false,
  };
}

export function newDir({ ino, mode, mtimeMs, ctimeMs, readonly }: NodeInit): DirNode {
  const nlink = readonly ? 1 : 0;
  return { kind: 'dir', ino, mode, mtimeMs, ctimeMs, nlink, opens: 0, readonly, entries: new Map() };
}

export function newLink({ ino, mode, mtimeMs, ctimeMs, readonly }: NodeInit, target: string): LinkNode {
  const nlink = readonly ? 1 : 0;
  return { kind: 'symlink', ino, mode, mtimeMs, ctimeMs, nlink, opens: 0, readonly, target };
}

/** Length in UTF-8; a lone surrogate counts as the three bytes it would be replaced by. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit < 0x80) continue;
    // Each half of a surrogate pair adds one byte to its unit, which gives the pair its four.
    const paired =
      (unit & 0xfc00) === 0xd800
        ? (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00
        : (unit & 0xfc00) === 0xdc00 && i > 0 && (text.charCodeAt(i - 1) & 0xfc00) === 0xd800;
    bytes += unit < 0x800 || paired ? 1 : 2;
  }
  return bytes;
}

/** Whether `text` takes more than `max` bytes in UTF-8; counts only when the number of units leaves a doubt. */
export function isLonger(text: string, max: number): boolean {
  return text.length * 3 > max && utf8Length(text) > max;
}

const LONE_SURROGATE = /\p{Surrogate}/u;

/** Text that UTF-8 and a C string can carry unchanged. */
export function isCarried(text: string): boolean {
  return !text.includes('\0') && !LONE_SURROGATE.test(text);
}

/** Most names: one look decides. */
const USUAL_NAME = /^[\w+-][\w.+-]{0,84}$/;

/** Throws unless `name` may become a directory entry. */
export function checkName(name: string): void {
  if (USUAL_NAME.test(name)) return;
  if (isLonger(name, MAX_NAME_BYTES)) throw FAIL.ENAMETOOLONG;
  if (name === '' || name === '.' || name === '..' || name.includes('/') || !isCarried(name))
    throw FAIL.EINVAL;
}

/** Where a walk ended. `node` is missing when only the last component does not exist. */
export interface Found {
  node: Node | undefined;
  /** The directory that has or would have the entry; the root for the root itself. */
  parent: DirNode;
  name: string;
  /** Canonical absolute path: no links, no dots, no doubled or trailing slash. */
  path: string;
  /** The path ended in a slash, which only a directory satisfies. */
  slash: boolean;
  /** The path ended in `.` or `..` or is the root, so it names no entry that could be changed. */
  dots: boolean;
}

/**
 * What to do when the last component is a symbolic link. `slot` is for operations on the entry itself: it does not
 * even follow for a trailing slash and leaves the judgement of `slash` to the caller.
 */
export type Last = 'follow' | 'nofollow' | 'slot';

const SLASH = 47;

/** Names that need no further look: short and, by their first character, no dots. */
const PLAIN_NAME = /^[^.].{0,80}$/s;

/** Resolves `path`, relative ones from the canonical absolute path `cwd`. Throws constants of `FAIL`. */
export function walk(root: DirNode, path: string, cwd: string, last: Last): Found {
  if (path === '') throw FAIL.ENOENT;
  if (isLonger(path, MAX_PATH_BYTES)) throw FAIL.ENAMETOOLONG;
  const full = path.charCodeAt(0) === SLASH ? path : cwd === '/' ? `/${path}` : `${cwd}/${path}`;
  return stride(root, full, last) ?? wander(root, full, last);
}

/** The walk of a path that is already canonical, which most are; undefined when it has dots, links or extra slashes. */
function stride(root: DirNode, path: string, last: Last): Found | undefined {
  let parent = root;
  let at = 1;
  for (let end = path.indexOf('/', at); end >= 0; end = path.indexOf('/', at)) {
    const node = parent.entries.get(path.slice(at, end));
    // A miss may be due to dots or doubled slashes, so it is not a verdict either.
    if (node === undefined || node.kind !== 'dir') return undefined;
    parent = node;
    at = end + 1;
  }
  const name = path.slice(at);
  const node = parent.entries.get(name);
  if (node === undefined ? !PLAIN_NAME.test(name) : node.kind === 'symlink' && last === 'follow')
    return undefined;
  return { node, parent, name, path, slash: false, dots: false };
}

/** The walk of any absolute path. */
function wander(root: DirNode, path: string, last: Last): Found {
  const dirs: DirNode[] = [root];
  const paths: string[] = [''];
  let rest = path;
  let links = 0;
  let at = skipSlashes(rest, 0);
  while (at < rest.length) {
    let end = rest.indexOf('/', at);
    if (end < 0) end = rest.length;
    const name = rest.slice(at, end);
    at = skipSlashes(rest, end);
    if (name === '.') continue;
    if (name === '..') {
      if (dirs.length > 1) {
        dirs.pop();
        paths.pop();
      }
      continue;
    }
    const isLast = at >= rest.length;
    const slash = isLast && at > end;
    const parent = dirs[dirs.length - 1]!;
    const here = `${paths[paths.length - 1]!}/${name}`;
    const node = parent.entries.get(name);
    if (node === undefined) {
      // A name that exists is short enough, so only misses pay for the count.
      if (isLonger(name, MAX_NAME_BYTES)) throw FAIL.ENAMETOOLONG;
      if (!isLast) throw FAIL.ENOENT;
      return { node, parent, name, path: here, slash, dots: false };
    }
    if (node.kind === 'symlink' && (!isLast || last === 'follow' || (slash && last === 'nofollow'))) {
      if (++links > MAX_LINK_EXPANSIONS) throw FAIL.ELOOP;
      rest = isLast && !slash ? node.target : `${node.target}/${rest.slice(at)}`;
      at = skipSlashes(rest, 0);
      if (rest.charCodeAt(0) === SLASH) dirs.length = paths.length = 1;
      continue;
    }
    if (isLast) {
      if (slash && node.kind !== 'dir' && last !== 'slot') throw FAIL.ENOTDIR;
      return { node, parent, name, path: here, slash, dots: false };
    }
    if (node.kind !== 'dir') throw FAIL.ENOTDIR;
    dirs.push(node);
    paths.push(here);
  }
  return endedInDots(dirs, paths);
}

function skipSlashes(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) === SLASH) at++;
  return at;
}

function endedInDots(dirs: DirNode[], paths: string[]): Found {
  const path = paths[paths.length - 1]!;
  return {
    node: dirs[dirs.length - 1],
    parent: dirs[Math.max(0, dirs.length - 2)]!,
    name: path.slice(path.lastIndexOf('/') + 1),
    path: path === '' ? '/' : path,
    slash: true,
    dots: true,
  };
}

/** Calls `each` for everything below `dir`, parents first. A loop, because a guest's deep call stack may be under it. */
export function visit(dir: DirNode, each: (path: string, node: Node) => void): void {
  const pending: { dir: DirNode; prefix: string }[] = [{ dir, prefix: '' }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    for (const [name, node] of next.dir.entries) {
      const path = next.prefix + name;
      each(path, node);
      if (node.kind === 'dir') pending.push({ dir: node, prefix: `${path}/` });
    }
  }
}

/** Order of all listings: by UTF-16 code unit, so it is the same on every host and puts a parent before its children. */
export function byCodeUnit(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
