/** Pipes: bounded buffers that never block, because nothing but the guest itself could fill or empty them. */
import { syscallError } from './syscall-error.ts';

/** Capacity of a pipe in bytes. */
export const PIPE_CAPACITY = 65_536;

export interface PipeBuffer {
  bytes: Uint8Array;
  start: number;
  length: number;
  readers: number;
  writers: number;
}

/** A pipe that contains the given bytes and that nothing refers to. */
export function newPipe(content: Uint8Array = new Uint8Array()): PipeBuffer {
  const bytes = new Uint8Array(PIPE_CAPACITY);
  bytes.set(content);
  return { bytes, start: 0, length: content.length, readers: 0, writers: 0 };
}

/** The bytes that have been written but not read. */
export function unreadBytes({ bytes, start, length }: PipeBuffer): Uint8Array {
  return Uint8Array.from({ length }, (_, i) => bytes[(start + i) % PIPE_CAPACITY]!);
}

/** Reads from a pipe. Nothing else could fill an empty pipe, so reading one fails with EAGAIN instead of blocking. */
export function readPipe(pipe: PipeBuffer, into: Uint8Array): number {
  if (pipe.length === 0) {
    if (pipe.writers > 0) throw syscallError('EAGAIN');
    return 0;
  }
  const count = Math.min(into.length, pipe.length);
  for (let i = 0; i < count; i++) into[i] = pipe.bytes[(pipe.start + i) % PIPE_CAPACITY]!;
  pipe.start = (pipe.start + count) % PIPE_CAPACITY;
  pipe.length -= count;
  return count;
}

export function writePipe(pipe: PipeBuffer, from: Uint8Array): number {
  if (pipe.readers === 0) throw syscallError('EPIPE');
  const count = Math.min(from.length, PIPE_CAPACITY - pipe.length);
  if (count === 0 && from.length > 0) throw syscallError('EAGAIN');
  for (let i = 0; i < count; i++) pipe.bytes[(pipe.start + pipe.length + i) % PIPE_CAPACITY] = from[i]!;
  pipe.length += count;
  return count;
}
