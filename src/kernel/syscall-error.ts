/**
 * Failures of system calls: constants that are thrown and never carry a stack, because a fresh Error costs about 16 µs
 * and a guest's start probes many missing paths. Those of the file tree come from fs/; this adds the kernel's own.
 */
import { FsError } from '../fs/fs-error.ts';
import { type ErrnoName, WASI_ERRNO } from './errno.ts';

/** Anything with an errno: what the guard turns into a number. */
export interface SyscallError {
  readonly code: ErrnoName;
}

class KernelFailure implements SyscallError {
  constructor(readonly code: ErrnoName) {}
}

const FAILURES = Object.fromEntries(
  Object.keys(WASI_ERRNO).map((code) => [code, new KernelFailure(code as ErrnoName)]),
) as Record<ErrnoName, SyscallError>;

/** The constant for a code: `throw failure('EBADF')`. */
export function syscallError(code: ErrnoName): SyscallError {
  return FAILURES[code];
}

export function isSyscallError(cause: unknown): cause is SyscallError {
  return cause instanceof KernelFailure || cause instanceof FsError;
}
