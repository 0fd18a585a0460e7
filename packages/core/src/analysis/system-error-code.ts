/** The error code of the system call that failed behind an exception. */
import type { AnalysisInput } from './input.ts';

/** Errors that rules distinguish. */
export type KnownErrno =
  | 'EACCES'
  | 'EAFNOSUPPORT'
  | 'EBADF'
  | 'EDQUOT'
  | 'EEXIST'
  | 'EFBIG'
  | 'EISDIR'
  | 'ENETUNREACH'
  | 'ENOENT'
  | 'ENOSPC'
  | 'ENOSYS'
  | 'ENOTCONN'
  | 'ENOTDIR'
  | 'ENOTEMPTY'
  | 'ENOTSUP'
  | 'EOPNOTSUPP'
  | 'EPERM'
  | 'EROFS'
  | 'EXDEV';

/** The error of the system call behind an exception, unless the program raised the exception itself. */
export function failedSystemCall({ error, language }: AnalysisInput): KnownErrno | undefined {
  if (typeof error?.errno !== 'number' || error.raised === true) return undefined;
  if (!language.guidance.isSystemError(error)) return undefined;
  const found = Object.entries(language.errno).find(([, number]) => number === error.errno);
  return found?.[0] as KnownErrno | undefined;
}
