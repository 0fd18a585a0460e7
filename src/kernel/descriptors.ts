/**
 * Open files as plain data: a table of descriptors that point to open file descriptions, as in POSIX. Two descriptors
 * made by dup share one description and with it the offset. Nothing here touches guest memory or the file tree, so an
 * image can carry the table as it is.
 */
import type { DirNode, FileNode } from '../fs/tree.ts';
import { syscallError } from './syscall-error.ts';

/** Descriptors one guest may hold; more is EMFILE. Bounds what open directories can pin on the host. */
export const MAX_DESCRIPTORS = 256;
/** Bytes a pipe holds before a write would block. */
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

  /** The three standard streams, as every guest starts with. */
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

  /** Puts a description into the lowest free slot at or above `from`. */
  install(file: OpenFile, from = 0): number {
    let fd = from;
    while (this.slots[fd] !== undefined) fd++;
    return this.installAt(file, fd);
  }

  installAt(file: OpenFile, fd: number): number {
    if (fd < 0 || fd >= MAX_DESCRIPTORS) throw syscallError('EMFILE');
    // No holes in the array: a sparse one would be slow and hard to save.
    while (this.slots.length < fd) this.slots.push(undefined);
    this.slots[fd] = file;
    return fd;
  }

  /** Empties the slot and returns the description, whose reference count the caller lowers. */
  remove(fd: number): OpenFile {
    const file = this.get(fd);
    this.slots[fd] = undefined;
    return file;
  }
}
