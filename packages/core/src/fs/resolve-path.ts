/**
 * Resolves a path in a file tree.
 * Invariant: a walk never leaves its root. `..` pops the stack of directories that the walk passed through.
 */
import { isLongerThan, MAX_NAME_BYTES, MAX_PATH_BYTES } from './file-names.ts';
import { ERRNO_ERRORS } from './fs-error.ts';
import type { DirNode, Node } from './nodes.ts';

/** The limit of Linux. */
const MAX_LINK_EXPANSIONS = 40;

/** The result of a walk. `node` is undefined if only the last component of the path does not exist. */
export interface WalkResult {
  node: Node | undefined;
  /** The directory that contains or would contain the entry. The parent of the root is the root. */
  parent: DirNode;
  name: string;
  /** Canonical absolute path: without links, dots, double slashes or a trailing slash. Empty for a removed directory. */
  path: string;
  /** Whether the path ended in a slash, which is valid only for a directory. */
  trailingSlash: boolean;
  /** Whether the path ended in `.` or `..` or is the root. Such a path does not name a directory entry. */
  endsInDots: boolean;
}

/** The result of a walk to an existing node. */
export type ResolvedPath = WalkResult & { node: Node };

/**
 * What to do if the last component is a symbolic link. `nofollow` still follows it before a trailing slash. `entry` is
 * for operations on the directory entry: it never follows the link, and the caller must check `trailingSlash`.
 */
export type FinalLink = 'follow' | 'nofollow' | 'entry';

/**
 * Where relative paths start: the canonical absolute path of a directory, or a directory that was removed and has no path any
 * more. A removed directory is empty and stays empty.
 */
export type BaseDirectory = string | DirNode;

/** Converts a resolved directory to a base for relative paths. */
export function baseOf(node: DirNode, path: string): BaseDirectory {
  return node.nlink === 0 ? node : path;
}

const SLASH = 47;

/** Matches names that are short enough and are not `.` or `..`. */
const PLAIN_NAME = /^[^.].{0,80}$/s;

/** Resolves `path`. A relative path starts at `cwd`. Throws constants of `ERRNO_ERRORS`. */
export function walk(root: DirNode, path: string, cwd: BaseDirectory, last: FinalLink): WalkResult {
  if (path === '') throw ERRNO_ERRORS.ENOENT;
  if (isLongerThan(path, MAX_PATH_BYTES)) throw ERRNO_ERRORS.ENAMETOOLONG;
  const isAbsolute = path.charCodeAt(0) === SLASH;
  if (!isAbsolute && typeof cwd !== 'string') return walkFromRemoved(cwd, path);
  const full = isAbsolute ? path : cwd === '/' ? `/${path}` : `${cwd}/${path}`;
  return fastWalk(root, full, last) ?? slowWalk(root, full, last);
}

/** Resolves a path that is already canonical, as most are. Returns undefined if slowWalk has to decide. */
function fastWalk(root: DirNode, path: string, last: FinalLink): WalkResult | undefined {
  let parent = root;
  let at = 1;
  for (let end = path.indexOf('/', at); end >= 0; end = path.indexOf('/', at)) {
    const node = parent.entries.get(path.slice(at, end));
    // The component can also be missing because it is a dot or empty.
    if (node === undefined || node.kind !== 'dir') return undefined;
    parent = node;
    at = end + 1;
  }
  const name = path.slice(at);
  const node = parent.entries.get(name);
  if (node === undefined ? !PLAIN_NAME.test(name) : node.kind === 'symlink' && last === 'follow')
    return undefined;
  return { node, parent, name, path, trailingSlash: false, endsInDots: false };
}

/** Resolves any absolute path. */
function slowWalk(root: DirNode, path: string, last: FinalLink): WalkResult {
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
    const trailingSlash = isLast && at > end;
    const parent = dirs[dirs.length - 1]!;
    const here = `${paths[paths.length - 1]!}/${name}`;
    const node = parent.entries.get(name);
    if (node === undefined) {
      // An existing name is never too long, so only missing names are checked.
      if (isLongerThan(name, MAX_NAME_BYTES)) throw ERRNO_ERRORS.ENAMETOOLONG;
      if (!isLast) throw ERRNO_ERRORS.ENOENT;
      return { node, parent, name, path: here, trailingSlash, endsInDots: false };
    }
    if (node.kind === 'symlink' && (!isLast || last === 'follow' || (trailingSlash && last === 'nofollow'))) {
      if (++links > MAX_LINK_EXPANSIONS) throw ERRNO_ERRORS.ELOOP;
      rest = isLast && !trailingSlash ? node.target : `${node.target}/${rest.slice(at)}`;
      at = skipSlashes(rest, 0);
      if (rest.charCodeAt(0) === SLASH) dirs.length = paths.length = 1;
      continue;
    }
    if (isLast) {
      if (trailingSlash && node.kind !== 'dir' && last !== 'entry') throw ERRNO_ERRORS.ENOTDIR;
      return { node, parent, name, path: here, trailingSlash, endsInDots: false };
    }
    if (node.kind !== 'dir') throw ERRNO_ERRORS.ENOTDIR;
    dirs.push(node);
    paths.push(here);
  }
  return dotsResult(dirs, paths);
}

/** A removed directory contains nothing and has no parent. */
function walkFromRemoved(dir: DirNode, path: string): WalkResult {
  if (!isOnlyDots(path)) throw ERRNO_ERRORS.ENOENT;
  return { node: dir, parent: dir, name: '', path: '', trailingSlash: true, endsInDots: true };
}

/** Whether a relative path leads from a directory to itself. */
function isOnlyDots(path: string): boolean {
  return path.split('/').every((name) => name === '' || name === '.');
}

function skipSlashes(text: string, from: number): number {
  let at = from;
  while (text.charCodeAt(at) === SLASH) at++;
  return at;
}

function dotsResult(dirs: DirNode[], paths: string[]): WalkResult {
  const path = paths[paths.length - 1]!;
  return {
    node: dirs[dirs.length - 1],
    parent: dirs[Math.max(0, dirs.length - 2)]!,
    name: path.slice(path.lastIndexOf('/') + 1),
    path: path === '' ? '/' : path,
    trailingSlash: true,
    endsInDots: true,
  };
}
