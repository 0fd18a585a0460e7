/**
 * Resolves a path in a directory tree.
 */
import { isLongerThan, MAX_NAME_BYTES, MAX_PATH_BYTES } from './file-names.ts';
import { ERRNO_ERRORS } from './fs-error.ts';
import type { DirNode, Node } from './tree.ts';

const MAX_LINK_EXPANSIONS = 40;

/** Where a walk ended. `node` is missing when only the last component does not exist. */
export interface WalkResult {
  node: Node | undefined;
  /** The directory that has or would have the entry; the root for the root itself. */
  parent: DirNode;
  name: string;
  /** Canonical absolute path: no links, no dots, no doubled or trailing slash. */
  path: string;
  /** The path ended in a slash, which only a directory satisfies. */
  trailingSlash: boolean;
  /** The path ended in `.` or `..` or is the root, so it names no entry that could be changed. */
  endsInDots: boolean;
}

/**
 * What to do when the last component is a symbolic link. `slot` is for operations on the entry itself: it does not
 * even follow for a trailing slash and leaves the judgement of `slash` to the caller.
 */
export type FinalLink = 'follow' | 'nofollow' | 'entry';

const SLASH = 47;

/** Names that need no further look: short and, by their first character, no dots. */
const PLAIN_NAME = /^[^.].{0,80}$/s;

/** Resolves `path`, relative ones from the canonical absolute path `cwd`. Throws constants of `ERRNO_ERRORS`. */
export function walk(root: DirNode, path: string, cwd: string, last: FinalLink): WalkResult {
  if (path === '') throw ERRNO_ERRORS.ENOENT;
  if (isLongerThan(path, MAX_PATH_BYTES)) throw ERRNO_ERRORS.ENAMETOOLONG;
  const full = path.charCodeAt(0) === SLASH ? path : cwd === '/' ? `/${path}` : `${cwd}/${path}`;
  return fastWalk(root, full, last) ?? slowWalk(root, full, last);
}

/** The walk of a path that is already canonical, which most are; undefined when it has dots, links or extra slashes. */
function fastWalk(root: DirNode, path: string, last: FinalLink): WalkResult | undefined {
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
  return { node, parent, name, path, trailingSlash: false, endsInDots: false };
}

/** The walk of any absolute path. */
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
      // A name that exists is short enough, so only misses pay for the count.
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
