/**
 * Errors of system calls. They are constants without a stack trace, because creating an Error takes about 16 µs and an
 * interpreter probes many missing paths when it starts. Errors of the file tree are defined in fs/fs-error.ts.
 */
import { FsError } from '../fs/fs-error.ts';
import { type ErrnoName, WASI_ERRNO } from './errno.ts';

/** An error with an errno name, which the syscall guard converts to a number. */
export interface SyscallError {
  readonly code: ErrnoName;
}

class KernelError implements SyscallError {
  constructor(readonly code: ErrnoName) {}
}

const ERRORS = Object.fromEntries(
  Object.keys(WASI_ERRNO).map((code) => [code, new KernelError(code as ErrnoName)]),
) as Record<ErrnoName, SyscallError>;

/** The constant for an errno, as in `throw syscallError('EBADF')`. */
export function syscallError(code: ErrnoName): SyscallError {
  return ERRORS[code];
}

export function isSyscallError(cause: unknown): cause is SyscallError {
  return cause instanceof KernelError || cause instanceof FsError;
}
