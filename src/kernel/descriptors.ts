/**
 * Open files as plain data: a table of descriptors that refer to open file descriptions, as in POSIX. Descriptors
 * created by dup share one description and therefore its offset. Nothing here accesses guest memory or the volume.
 */
import type { DirNode, FileNode } from '../fs/nodes.ts';
import { syscallError } from './syscall-error.ts';

/** Maximum number of descriptors per guest, beyond which open fails with EMFILE. */
export const MAX_DESCRIPTORS = 256;
/** Capacity of a pipe in bytes. */
export const PIPE_CAPACITY = 65_536;

export interface PipeBuffer {
  bytes: Uint8Array;
  start: number;
  length: number;
  readers: number;
  writers: number;
}

export type OpenFile = { refs: number; flags: number; path: string } & (
  | { kind: 'null' }
  | { kind: 'stream'; stream: 0 | 1 | 2 }
  | { kind: 'file'; node: FileNode; position: number }
  | { kind: 'dir'; node: DirNode; position: number; names: readonly string[] | undefined }
  | { kind: 'pipe'; pipe: PipeBuffer; end: 'read' | 'write' }
);

export class DescriptorTable {
  readonly slots: (OpenFile | undefined)[] = [];

  /** A table with the three standard streams, the initial state of every guest. */
  static standard(): DescriptorTable {
    const table = new DescriptorTable();
    for (const stream of [0, 1, 2] as const) {
      table.slots.push({
        kind: 'stream',
        stream,
        refs: 1,
        flags: stream === 0 ? 0 : 1,
        path: `/dev/${stream}`,
      });
    }
    return table;
  }

  get(fd: number): OpenFile {
    const file = this.slots[fd];
    if (file === undefined) throw syscallError('EBADF');
    return file;
  }

  /** Installs a description in the lowest free slot at or above `from`. */
  install(file: OpenFile, from = 0): number {
    let fd = from;
    while (this.slots[fd] !== undefined) fd++;
    return this.installAt(file, fd);
  }

  installAt(file: OpenFile, fd: number): number {
    if (fd < 0 || fd >= MAX_DESCRIPTORS) throw syscallError('EMFILE');
    // Fill the gap, because a sparse array is slow and hard to serialise.
    while (this.slots.length < fd) this.slots.push(undefined);
    this.slots[fd] = file;
    return fd;
  }

  /** Empties the slot and returns the description. The caller decrements its reference count. */
  remove(fd: number): OpenFile {
    const file = this.get(fd);
    this.slots[fd] = undefined;
    return file;
  }
}
