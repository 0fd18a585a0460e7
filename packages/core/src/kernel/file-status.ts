/** What stat and fstat report about a file, a directory, a link, a device or a pipe. */
import type { DirNode, Node } from '../fs/nodes.ts';
import type { FILE_TYPE } from './abi.ts';
import type { DeviceKind } from './devices.ts';

export interface FileStatus {
  kind: keyof typeof FILE_TYPE;
  ino: number;
  mode: number;
  nlink: number;
  size: number;
  mtimeMs: number;
}

/** Folders with more entries have a link count of 1, which says that it is not known. */
const MAX_COUNTED_ENTRIES = 1000;

/** A folder has a link in its parent, one in itself, and one in each folder in it. */
function folderLinks({ entries, readonly }: DirNode): number {
  if (readonly || entries.size > MAX_COUNTED_ENTRIES) return 1;
  let count = 2;
  for (const { kind } of entries.values()) if (kind === 'dir') count++;
  return count;
}

export function nodeStatus(node: Node): FileStatus {
  const size = node.kind === 'file' ? node.size : node.kind === 'symlink' ? node.target.length : 4096;
  const nlink = node.kind === 'file' ? node.nlink : node.kind === 'dir' ? folderLinks(node) : 1;
  return { kind: node.kind, ino: node.ino, mode: node.mode & 0o7777, nlink, size, mtimeMs: node.mtimeMs };
}

export function deviceStatus(kind: DeviceKind | 'stream' | 'pipe', ino: number, mtimeMs: number): FileStatus {
  return {
    kind,
    ino,
    mode: kind === 'stream' || kind === 'pipe' ? 0o620 : 0o666,
    nlink: 1,
    size: 0,
    mtimeMs,
  };
}
