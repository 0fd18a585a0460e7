/** Checks before an existing node is opened, read or written. They throw the errors of the system calls. */
import { ERRNO_ERRORS } from './fs-error.ts';
import type { FileNode, Node } from './nodes.ts';

export interface OpenFlags {
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
export function readableFile(node: Node, pos: number): FileNode {
  if (node.kind !== 'file') throw node.kind === 'dir' ? ERRNO_ERRORS.EISDIR : ERRNO_ERRORS.EINVAL;
  if (!Number.isSafeInteger(pos) || pos < 0) throw ERRNO_ERRORS.EINVAL;
  return node;
}

/** The node as a file that can be written at `pos`. */
export function writableFile(node: Node, pos: number): FileNode {
  if (node.kind === 'file' && node.readonly) throw ERRNO_ERRORS.EROFS;
  return readableFile(node, pos);
}
