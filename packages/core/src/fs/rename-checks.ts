/** The conditions under which a node may be renamed. Both functions throw constants of `ERRNO_ERRORS`. */
import { MAX_PATH_BYTES, utf8Length } from './file-names.ts';
import { ERRNO_ERRORS } from './fs-error.ts';
import { type Node, visitTree } from './nodes.ts';

/** A file can replace a file, a directory an empty directory. */
export function checkReplaceable(node: Node, old: Node | undefined): void {
  if (old === undefined) return;
  if (node.kind === 'dir' && old.kind !== 'dir') throw ERRNO_ERRORS.ENOTDIR;
  if (node.kind !== 'dir' && old.kind === 'dir') throw ERRNO_ERRORS.EISDIR;
  if (old.kind === 'dir' && old.entries.size > 0) throw ERRNO_ERRORS.ENOTEMPTY;
}

/** Limits the paths below a moved directory. Without a limit, listing a deep chain takes quadratic time. */
export function checkDepth(node: Node, from: string, to: string): void {
  const length = utf8Length(to);
  let below = 0;
  if (node.kind === 'dir' && length > utf8Length(from)) {
    visitTree(node, (path) => {
      below = Math.max(below, 1 + utf8Length(path));
    });
  }
  if (length + below > MAX_PATH_BYTES) throw ERRNO_ERRORS.ENAMETOOLONG;
}
