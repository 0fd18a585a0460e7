/**
 * Values as they cross between JavaScript guests and the host: what a guest passed, whatever it is, and what an operation
 * makes of it. An argument that does not fit is a failure of the call.
 */

import type { GuestMemory } from '../../../kernel/guest-memory.ts';
import { syscallError } from '../../../kernel/syscall-error.ts';
import type { QuickJsGuest } from './quickjs-guest.ts';

/** A string of the guest as UTF-8, or an ArrayBuffer: where it lies in guest memory. */
export class Span {
  constructor(
    readonly view: GuestMemory,
    readonly pointer: number,
    readonly length: number,
    readonly isText: boolean,
  ) {}

  get bytes(): Uint8Array {
    return this.view.bytes(this.pointer, this.length);
  }
}

export type Argument = number | Span | undefined;
/** A function makes the value with the guest's own code: its traps must not be taken for failures of the operation. */
export type Result = number | string | undefined | (() => number);
export type SystemCall = (guest: QuickJsGuest, args: readonly Argument[]) => Result;

const PATH_MAX = 4096;

export const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
export const lenient = new TextDecoder('utf-8', { ignoreBOM: true });

export function integer(arg: Argument): number {
  if (typeof arg !== 'number' || !Number.isSafeInteger(arg)) throw syscallError('EINVAL');
  return arg;
}

/** Descriptors, modes and flags. */
export function word(arg: Argument): number {
  const value = integer(arg);
  if (value !== (value | 0)) throw syscallError('EINVAL');
  return value;
}

export function text(arg: Argument): Span {
  if (!(arg instanceof Span) || !arg.isText) throw syscallError('EINVAL');
  return arg;
}

export function path(arg: Argument): string {
  const span = text(arg);
  if (span.length >= PATH_MAX) throw syscallError('ENAMETOOLONG');
  let decoded: string;
  try {
    decoded = strict.decode(span.bytes);
  } catch {
    throw syscallError('EILSEQ');
  }
  if (decoded.includes('\0')) throw syscallError('EINVAL');
  return decoded;
}

/** The part of a buffer that an offset and a length name. */
export function slice(buffer: Argument, offset: Argument, length: Argument): Uint8Array {
  if (!(buffer instanceof Span) || buffer.isText) throw syscallError('EINVAL');
  const start = integer(offset);
  const size = integer(length);
  if (start < 0 || size < 0 || start + size > buffer.length) throw syscallError('EINVAL');
  return buffer.bytes.subarray(start, start + size);
}
