/**
 * The quota of a volume and the file contents that are charged to it.
 * Invariants: `bytes` and `files` equal a recount at any time, in O(1) per operation; nothing is allocated before it is
 * granted; a buffer the ledger allocated is never longer than twice its file.
 * Every name of a hard-linked file is charged, because a workspace leaves the volume as one entry per name: so what
 * fits here also fits when it comes back, and links cannot multiply a small quota into large images.
 */

import { utf8Length } from './file-names.ts';
import { ERRNO_ERRORS } from './fs-error.ts';
import type { FileNode, Node } from './tree.ts';

export interface VolumeLimits {
  /** File contents and link targets, over all writable areas together. */
  maxBytes: number;
  /** Names of files, directories and links. */
  maxFiles: number;
}

export class Quota {
  bytes = 0;
  files = 0;

  constructor(readonly limits: VolumeLimits) {}

  /** Sets the number of names and descriptors of a node, charging or refunding; frees the bytes of what is gone. */
  relink(node: Node, nlink: number, opens: number): void {
    const names = chargedNames(nlink, opens) - chargedNames(node.nlink, node.openCount);
    const bytes = names * chargedBytes(node);
    this.#checkLimits(bytes, names);
    this.bytes += bytes;
    this.files += names;
    node.nlink = nlink;
    node.openCount = opens;
    if (node.kind === 'file' && chargedNames(nlink, opens) === 0) setData(node, new Uint8Array(0), 0);
  }

  /** Whether `bytes` and `files` more would fit. */
  fits(bytes: number, files: number): boolean {
    return this.bytes + bytes <= this.limits.maxBytes && this.files + files <= this.limits.maxFiles;
  }

  /** All or nothing: writes every byte of `from` at `pos`, zero-filling a gap before it. */
  write(node: FileNode, pos: number, from: Uint8Array): void {
    const end = pos + from.length;
    const size = Math.max(node.size, end);
    this.#charge(node, size);
    if (node.borrowed || size > node.data.length) {
      setData(node, copyWithCapacity(this.#capacity(node.size, size), node), node.size);
    }
    if (pos > node.size) node.data.fill(0, node.size, pos);
    node.data.set(from, pos);
    node.size = size;
  }

  /** Cuts or extends with zeros; the whole size of a sparse file counts. */
  resize(node: FileNode, size: number): void {
    this.#charge(node, size);
    if (size > node.size) {
      if (node.borrowed || size > node.data.length) setData(node, copyWithCapacity(size, node), node.size);
      else node.data.fill(0, node.size, size);
    } else if (size * 2 < node.data.length) {
      // A cut file gives its buffer back; otherwise many cut files could hold many times the quota.
      node.size = size;
      setData(node, copyWithCapacity(size, node), size);
    }
    node.size = size;
  }

  #charge(node: FileNode, size: number): void {
    if (size > this.limits.maxBytes) throw ERRNO_ERRORS.ENOSPC;
    const names = chargedNames(node.nlink, node.openCount);
    // Neither named nor open: nobody could be charged for it.
    if (names === 0) throw ERRNO_ERRORS.EINVAL;
    const bytes = (size - node.size) * names;
    this.#checkLimits(bytes, 0);
    this.bytes += bytes;
  }

  #checkLimits(bytes: number, files: number): void {
    if (bytes > 0 && this.bytes + bytes > this.limits.maxBytes) throw ERRNO_ERRORS.ENOSPC;
    if (files > 0 && this.files + files > this.limits.maxFiles) throw ERRNO_ERRORS.ENOSPC;
  }

  /** First contents and overwritten loans get exactly their size; growth doubles, as far as the quota could follow. */
  #capacity(before: number, size: number): number {
    if (before === 0 || size === before) return size;
    return size + Math.min(size, this.limits.maxBytes - this.bytes);
  }
}

function chargedNames(nlink: number, opens: number): number {
  return nlink > 0 ? nlink : opens > 0 ? 1 : 0;
}

/** Bytes that one name of `node` is charged. */
export function chargedBytes(node: Node): number {
  return node.kind === 'file' ? node.size : node.kind === 'symlink' ? utf8Length(node.target) : 0;
}

/** The bytes of a file with room for more, which is zero. */
function copyWithCapacity(capacity: number, node: FileNode): Uint8Array {
  const data = new Uint8Array(capacity);
  data.set(node.data.subarray(0, node.size));
  return data;
}

function setData(node: FileNode, data: Uint8Array, size: number): void {
  node.data = data;
  node.size = size;
  node.borrowed = false;
}
