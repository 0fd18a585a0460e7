/**
 * Arguments and results of the system calls that JavaScript guests make. A guest can pass anything; the functions here
 * convert an argument to the expected type and throw a system call error if it does not fit.
 */

import type { GuestMemory } from '../../../kernel/guest-memory.ts';
import { syscallError } from '../../../kernel/syscall-error.ts';
import type { QuickJsGuest } from './quickjs-guest.ts';

/** Bytes in guest memory: a string as UTF-8, or an ArrayBuffer. */
export class GuestBytes {
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

export type Argument = number | GuestBytes | undefined;
/** A function creates the value with code of the guest. It runs unguarded, so that traps are not converted to an errno. */
export type Result = number | string | undefined | (() => number);
/** `values` are the unconverted arguments, for calls that examine objects. */
export type SystemCall = (
  guest: QuickJsGuest,
  args: readonly Argument[],
  values: readonly number[],
) => Result;

const PATH_MAX = 4096;

export const strictDecoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
export const lenientDecoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Calls a library. What it does not have, or does not allow, is EINVAL. */
export function attempt<T>(call: () => T): T {
  try {
    return call();
  } catch {
    throw syscallError('EINVAL');
  }
}

export function toInteger(arg: Argument): number {
  if (typeof arg !== 'number' || !Number.isSafeInteger(arg)) throw syscallError('EINVAL');
  return arg;
}

/** A 32-bit integer: a descriptor, a mode or flags. */
export function int32(arg: Argument): number {
  const value = toInteger(arg);
  if (value !== (value | 0)) throw syscallError('EINVAL');
  return value;
}

export function toText(arg: Argument): GuestBytes {
  if (!(arg instanceof GuestBytes) || !arg.isText) throw syscallError('EINVAL');
  return arg;
}

export function path(arg: Argument): string {
  const range = toText(arg);
  if (range.length >= PATH_MAX) throw syscallError('ENAMETOOLONG');
  let decoded: string;
  try {
    decoded = strictDecoder.decode(range.bytes);
  } catch {
    throw syscallError('EILSEQ');
  }
  if (decoded.includes('\0')) throw syscallError('EINVAL');
  return decoded;
}

/** Part of an ArrayBuffer. */
export function slice(buffer: Argument, offset: Argument, length: Argument): Uint8Array {
  if (!(buffer instanceof GuestBytes) || buffer.isText) throw syscallError('EINVAL');
  const start = toInteger(offset);
  const size = toInteger(length);
  if (start < 0 || size < 0 || start + size > buffer.length) throw syscallError('EINVAL');
  return buffer.bytes.subarray(start, start + size);
}
