/**
 * Open files as plain data: a table of descriptors that refer to open file descriptions, as in POSIX. Descriptors
 * created by dup share one description and therefore its offset. Nothing here accesses guest memory or the volume.
 */
import type { DirNode, FileNode } from '../fs/nodes.ts';
import type { BaseDirectory } from '../fs/resolve-path.ts';
import type { DeviceKind } from './devices.ts';
import type { PipeBuffer } from './pipe.ts';
import { syscallError } from './syscall-error.ts';

/** Maximum number of descriptors per guest, beyond which open fails with EMFILE. */
export const MAX_DESCRIPTORS = 256;
/** The names that an open directory lists: a snapshot from the first read. */
export interface DirectoryListing {
  readonly names: readonly string[];
  /** Position of the first name. */
  readonly start: number;
}

/**
 * An open file description. The path of a file is the one it was opened with; it stays valid for a read-only file. The path of
 * a directory follows renames, so that other paths can be relative to it.
 */
export type OpenFile = { refs: number; flags: number } & (
  | { kind: DeviceKind }
  | { kind: 'stream'; stream: 0 | 1 | 2 }
  | { kind: 'file'; node: FileNode; path: string; position: number }
  | {
      kind: 'dir';
      node: DirNode;
      base: BaseDirectory;
      position: number;
      listing: DirectoryListing | undefined;
    }
  | { kind: 'pipe'; pipe: PipeBuffer; end: 'read' | 'write' }
);

export class DescriptorTable {
  readonly slots: (OpenFile | undefined)[] = [];
  /** Descriptors that a new program does not inherit. */
  readonly closeOnExec = new Set<number>();

  /** A table with the three standard streams, the initial state of every guest. */
  static standard(): DescriptorTable {
    const table = new DescriptorTable();
    for (const stream of [0, 1, 2] as const) {
      table.slots.push({ kind: 'stream', stream, refs: 1, flags: stream === 0 ? 0 : 1 });
    }
    return table;
  }

  /** The open file descriptions, each once, in the order of their lowest descriptors. */
  descriptions(): OpenFile[] {
    return [...new Set(this.slots.filter((file) => file !== undefined))];
  }

  /** A table with the same descriptions. With `forExec`, without the descriptors that are closed then. */
  copy(forExec: boolean): DescriptorTable {
    const table = new DescriptorTable();
    this.slots.forEach((file, fd) => {
      if (file === undefined || file.kind === 'results' || (forExec && this.closeOnExec.has(fd))) return;
      table.installAt(file, fd);
      file.refs++;
      if (this.closeOnExec.has(fd)) table.closeOnExec.add(fd);
    });
    return table;
  }

  get(fd: number): OpenFile {
    const file = this.slots[fd];
    if (file === undefined) throw syscallError('EBADF');
    return file;
  }

  /** Installs a description in the lowest free slot at or above `from`. */
  install(file: OpenFile, from = 0): number {
    let fd = from >>> 0;
    while (this.slots[fd] !== undefined) fd++;
    return this.installAt(file, fd);
  }

  installAt(file: OpenFile, fd: number): number {
    if (!Number.isInteger(fd) || fd < 0 || fd >= MAX_DESCRIPTORS) throw syscallError('EMFILE');
    // Fill the gap, because a sparse array is slow and hard to serialise.
    while (this.slots.length < fd) this.slots.push(undefined);
    this.slots[fd] = file;
    this.closeOnExec.delete(fd);
    return fd;
  }

  /** Empties the slot and returns the description. The caller decrements its reference count. */
  remove(fd: number): OpenFile {
    const file = this.get(fd);
    this.slots[fd] = undefined;
    this.closeOnExec.delete(fd);
    return file;
  }
}
