/**
 * The quota of a volume, and the buffers of the files that are charged to it.
 * Invariants: `bytes`, `files` and `pathBytes` always equal a recount, at O(1) per operation except for the rename of a
 * directory; memory is allocated only after the quota allows it; an allocated buffer is at most twice as long as its file.
 */
import { SandboxError } from '../errors.ts';
import { formatItems } from '../quantities.ts';
import { maxPathBytes, type QuotaLimit } from '../schema/workspace-quota.ts';
import { utf8Length } from './file-names.ts';
import { ERRNO_ERRORS } from './fs-error.ts';
import type { FileNode, Node } from './nodes.ts';

export interface VolumeLimits {
  /** File contents and link targets in all writable roots together. */
  maxBytes: number;
  /** Number of names of files, directories and links. */
  maxFiles: number;
}

export interface VolumeUsage {
  readonly bytes: number;
  readonly files: number;
}

export class Quota {
  bytes = 0;
  files = 0;
  /** Total length of the absolute paths. */
  pathBytes = 0;
  /** Whether changes are refused beyond the limits; they are always counted. */
  isEnforced = true;
  #exceeded: QuotaLimit | undefined;

  constructor(readonly limits: VolumeLimits) {}

  /** Sets the link count and the number of open descriptors of a node. A node is charged until both are zero. */
  relink(node: Node, nlink: number, openCount: number): void {
    const stays = isCharged(nlink, openCount);
    const files = Number(stays) - Number(isCharged(node.nlink, node.openCount));
    const bytes = files * chargedBytes(node);
    this.#checkLimits(bytes, files);
    this.bytes += bytes;
    this.files += files;
    node.nlink = nlink;
    node.openCount = openCount;
    if (node.kind === 'file' && !stays) setData(node, new Uint8Array(0), 0);
  }

  /** Charges a node that was not charged. */
  charge(node: Node, nlink: number, openCount: number): void {
    const uncharged = { nlink: node.nlink, openCount: node.openCount };
    node.nlink = node.openCount = 0;
    try {
      this.relink(node, nlink, openCount);
    } catch (cause) {
      Object.assign(node, uncharged);
      throw cause;
    }
  }

  /** Throws ENOSPC if paths cannot become longer by this many bytes in total. */
  checkPaths(bytes: number): void {
    if (!this.isEnforced || bytes <= 0) return;
    if (this.pathBytes + bytes > maxPathBytes(this.limits.maxFiles)) this.#refuse('path_bytes');
  }

  /** Whether the given additional bytes, files and lengths of paths fit into the quota. */
  fits(bytes: number, files: number, pathBytes: number): boolean {
    if (!this.isEnforced) return true;
    const { maxBytes, maxFiles } = this.limits;
    return (
      this.bytes + bytes <= maxBytes &&
      this.files + files <= maxFiles &&
      this.pathBytes + pathBytes <= maxPathBytes(this.limits.maxFiles)
    );
  }

  /** Counts nodes that are added at once. */
  add(bytes: number, files: number, pathBytes: number): void {
    this.bytes += bytes;
    this.files += files;
    this.pathBytes += pathBytes;
  }

  /** Writes all of `from` at `pos` or, if the quota does not allow it, nothing. Fills a gap before `pos` with zeros. */
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

  /** Truncates the file or extends it with zeros. Extended files are not sparse: their whole size is charged. */
  resize(node: FileNode, size: number): void {
    this.#charge(node, size);
    if (size > node.size) {
      if (node.borrowed || size > node.data.length) setData(node, copyWithCapacity(size, node), node.size);
      else node.data.fill(0, node.size, size);
    } else if (size * 2 < node.data.length) {
      // Release the larger buffer. Otherwise many truncated files could hold many times the quota in memory.
      node.size = size;
      setData(node, copyWithCapacity(size, node), size);
    }
    node.size = size;
  }

  #charge(node: FileNode, size: number): void {
    if (this.isEnforced && size > this.limits.maxBytes) this.#refuse('bytes');
    if (!isCharged(node.nlink, node.openCount)) throw ERRNO_ERRORS.EINVAL;
    const bytes = size - node.size;
    this.#checkLimits(bytes, 0);
    this.bytes += bytes;
  }

  #checkLimits(bytes: number, files: number): void {
    if (!this.isEnforced) return;
    if (bytes > 0 && this.bytes + bytes > this.limits.maxBytes) this.#refuse('bytes');
    if (files > 0 && this.files + files > this.limits.maxFiles) this.#refuse('files');
  }

  #refuse(limit: QuotaLimit): never {
    this.#exceeded = limit;
    throw ERRNO_ERRORS.ENOSPC;
  }

  /** The limit of the last change that was refused since the previous call. */
  takeExceeded(): QuotaLimit | undefined {
    const exceeded = this.#exceeded;
    this.#exceeded = undefined;
    return exceeded;
  }

  /** First contents and overwritten borrowed data get exactly their size. Growth doubles, within the quota. */
  #capacity(before: number, size: number): number {
    if (before === 0 || size === before) return size;
    return size + Math.min(size, Math.max(0, this.limits.maxBytes - this.bytes));
  }
}

/** The error of entries that cannot be added at once. */
export function quotaExceeded(
  limits: VolumeLimits,
  bytes: number,
  files: number,
  pathBytes: number,
): SandboxError {
  const text = (size: number, entries: number, pathSize: number) =>
    `${formatItems(size, 'byte')} in ${formatItems(entries, 'entry', 'entries')} with paths totalling ${formatItems(pathSize, 'byte')}`;
  const found = text(bytes, files, pathBytes);
  const limit = text(limits.maxBytes, limits.maxFiles, maxPathBytes(limits.maxFiles));
  return new SandboxError(
    'quota_exceeded',
    `The files take ${found}, and the quota is ${limit}. Remove files or raise the quota.`,
  );
}

/** A removed node is charged as long as it is open. */
function isCharged(nlink: number, openCount: number): boolean {
  return nlink > 0 || openCount > 0;
}

/** The bytes that a node counts towards the quota. */
export function chargedBytes(node: Node): number {
  return node.kind === 'file' ? node.size : node.kind === 'symlink' ? utf8Length(node.target) : 0;
}

/** A copy of the file's bytes in a buffer of the given length, padded with zeros. */
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
