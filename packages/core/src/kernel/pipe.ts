/**
 * Pipes: buffers that grow up to a limit. Nothing here blocks: the kernel runs the processes at the other end first, if there
 * are any. All pipes of a call share one account of the memory that they take.
 */
import { syscallError } from './syscall-error.ts';

/** Bytes that a process can write to a pipe that no other process reads. A program can set the capacity of a pipe. */
export const PIPE_CAPACITY = 65_536;
const MIN_CAPACITY = 4096;
const MAX_CAPACITY = 1024 * 1024;
/** Bytes that are written to a pipe at once or not at all. */
const ATOMIC_BYTES = 4096;
/** Bytes in a pipe between processes, and in all pipes of a call. */
export const MAX_PIPE_BYTES = 16 * 1024 * 1024;
const MAX_PIPES_BYTES = 64 * 1024 * 1024;
const FIRST_BYTES = 4096;
const FIRST_YIELD = 512;

/** Memory of the pipes of a call. */
export interface PipeAccount {
  bytes: number;
  /** How much memory the call has left; absent between calls. */
  freeBytes?: (() => number) | undefined;
}

export interface PipeBuffer {
  bytes: Uint8Array;
  start: number;
  length: number;
  capacity: number;
  readers: number;
  writers: number;
  /** How many bytes are in the pipe when a writer lets the readers run. It grows each time: the first readers often need little. */
  yieldLength: number;
  /** Its reader waits for something else and cannot read, so writers fill the pipe up to `MAX_PIPE_BYTES`. */
  isElastic: boolean;
  /** The pipe was full, or the call had no memory for it: what follows the buffered bytes is missing. */
  isCutOff: boolean;
}

/** Whether a writer lets the readers run before it writes more. */
export function isYieldDue(pipe: PipeBuffer): boolean {
  if (pipe.length < pipe.yieldLength) return false;
  pipe.yieldLength = Math.max(FIRST_YIELD, 2 * pipe.yieldLength);
  return true;
}

/** Whether a write has not to wait. */
export const hasRoomForWrites = ({ length, capacity, isElastic }: PipeBuffer) =>
  (isElastic && length < MAX_PIPE_BYTES) || capacity - length >= Math.min(ATOMIC_BYTES, capacity);

/** A pipe that contains the given bytes and that nothing refers to. */
export function newPipe(content: Uint8Array = new Uint8Array()): PipeBuffer {
  return {
    bytes: content,
    start: 0,
    length: content.length,
    capacity: PIPE_CAPACITY,
    readers: 0,
    writers: 0,
    yieldLength: 1,
    isElastic: false,
    isCutOff: false,
  };
}

/** Sets the capacity to at least `bytes`, as Linux does, and returns it. */
export function setCapacity(pipe: PipeBuffer, bytes: number): number {
  if (bytes < 0) throw syscallError('EINVAL');
  if (bytes > MAX_CAPACITY) throw syscallError('EPERM');
  let capacity = MIN_CAPACITY;
  while (capacity < bytes) capacity *= 2;
  if (capacity < pipe.length) throw syscallError('EBUSY');
  pipe.capacity = capacity;
  return capacity;
}

/** The bytes that have been written but not read. */
export function unreadBytes({ bytes, start, length }: PipeBuffer): Uint8Array {
  const unread = new Uint8Array(length);
  const first = Math.min(length, bytes.length - start);
  unread.set(bytes.subarray(start, start + first));
  unread.set(bytes.subarray(0, length - first), first);
  return unread;
}

/** The first of them. */
export function firstUnreadBytes({ bytes, start, length }: PipeBuffer, max: number): Uint8Array {
  const count = Math.min(max, length);
  const first = bytes.subarray(start, start + count);
  return Buffer.concat([first, bytes.subarray(0, count - first.length)]);
}

/** Reads from a pipe. An empty one fails with EAGAIN while it has writers, and with EIO if its contents are not complete. */
export function readPipe(pipe: PipeBuffer, into: Uint8Array, account: PipeAccount): number {
  if (pipe.length === 0) {
    if (pipe.writers > 0) throw syscallError('EAGAIN');
    if (pipe.isCutOff) throw syscallError('EIO');
    return 0;
  }
  const count = Math.min(into.length, pipe.length);
  const first = Math.min(count, pipe.bytes.length - pipe.start);
  into.set(pipe.bytes.subarray(pipe.start, pipe.start + first));
  into.set(pipe.bytes.subarray(0, count - first), first);
  pipe.start = (pipe.start + count) % pipe.bytes.length;
  pipe.length -= count;
  if (pipe.length === 0 && pipe.bytes.length > PIPE_CAPACITY) releasePipe(pipe, account);
  return count;
}

/** Gives the memory of an empty pipe back. */
export function releasePipe(pipe: PipeBuffer, account: PipeAccount): void {
  account.bytes -= pipe.bytes.length;
  pipe.bytes = new Uint8Array();
  pipe.start = 0;
  pipe.length = 0;
}

/** Drops what a pipe that a process uses alone could not hold. */
export function shortenPipe(pipe: PipeBuffer, account: PipeAccount): void {
  if (pipe.length <= PIPE_CAPACITY) return;
  const kept = unreadBytes(pipe).slice(0, PIPE_CAPACITY);
  account.bytes += kept.length - pipe.bytes.length;
  Object.assign(pipe, { bytes: kept, start: 0, length: kept.length, isCutOff: true });
}

/**
 * Makes room for `count` more bytes, up to `capacity` bytes in total, and returns the room that there is. Fails with ENOMEM if
 * there is none because the call has no memory left.
 */
function makeRoom(pipe: PipeBuffer, count: number, capacity: number, account: PipeAccount): number {
  const wanted = Math.min(pipe.length + count, capacity);
  let size = Math.max(pipe.bytes.length, FIRST_BYTES);
  while (size < wanted) size *= 2;
  const added = size - pipe.bytes.length;
  const isGrowing = wanted > pipe.bytes.length && account.bytes + added <= MAX_PIPES_BYTES;
  const isRefused = isGrowing && added > (account.freeBytes?.() ?? Number.POSITIVE_INFINITY);
  if (isGrowing && !isRefused) {
    const bytes = new Uint8Array(size);
    bytes.set(unreadBytes(pipe));
    Object.assign(pipe, { bytes, start: 0 });
    account.bytes += added;
  }
  const room = Math.max(0, Math.min(capacity, pipe.bytes.length) - pipe.length);
  if (room > 0 || !isRefused) return room;
  pipe.isCutOff = true;
  throw syscallError('ENOMEM');
}

/** Writes as much as the pipe has room for. A full pipe fails with EAGAIN, and ENOMEM means that the call has no memory for it. */
export function writePipe(
  pipe: PipeBuffer,
  from: Uint8Array,
  capacity: number,
  account: PipeAccount,
): number {
  if (pipe.readers === 0) throw syscallError('EPIPE');
  const count = Math.min(from.length, makeRoom(pipe, from.length, capacity, account));
  if (count === 0 && from.length > 0) throw syscallError('EAGAIN');
  const size = pipe.bytes.length;
  const at = count === 0 ? 0 : (pipe.start + pipe.length) % size;
  const first = Math.min(count, size - at);
  pipe.bytes.set(from.subarray(0, first), at);
  pipe.bytes.set(from.subarray(first, count), 0);
  pipe.length += count;
  return count;
}
