/**
 * The closed set of failures of the file system. They are thrown as preallocated constants, because a fresh Error costs
 * about 16 µs and a guest's start probes many missing paths; the kernel has one guard that turns them into errno.
 */

const FS_ERROR_CODES = [
  'ENOENT',
  'ENOTDIR',
  'EISDIR',
  'EEXIST',
  'ENOTEMPTY',
  'EROFS',
  'EACCES',
  'EINVAL',
  'ENAMETOOLONG',
  'ELOOP',
  'ENOSPC',
  'EDQUOT',
  'EXDEV',
  'EPERM',
  'EBUSY',
  'EMLINK',
] as const;

export type FsErrorCode = (typeof FS_ERROR_CODES)[number];

/** Not an Error on purpose: it has no stack to capture. Only the constants in `ERRNO_ERRORS` are ever thrown. */
export class FsError {
  constructor(readonly code: FsErrorCode) {
    Object.freeze(this);
  }
}

/** One constant per code: `throw ERRNO_ERRORS.ENOENT`. */
export const ERRNO_ERRORS = Object.freeze(
  Object.fromEntries(FS_ERROR_CODES.map((code) => [code, new FsError(code)])) as Record<FsErrorCode, FsError>,
);
