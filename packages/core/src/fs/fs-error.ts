/**
 * The errors of the file system, a closed set. They are preallocated constants, because creating an Error takes about
 * 16 µs and the start of a guest probes many missing paths. The kernel translates them to errno numbers.
 */

const FS_ERROR_CODES = [
  'ENOENT',
  'ENOTDIR',
  'EISDIR',
  'EEXIST',
  'ENOTEMPTY',
  'EROFS',
  'EINVAL',
  'ENAMETOOLONG',
  'ELOOP',
  'ENOSPC',
  'EBUSY',
  'EIO',
] as const;

type FsErrorCode = (typeof FS_ERROR_CODES)[number];

/** Not a subclass of Error, so that no stack is captured. Only the constants in `ERRNO_ERRORS` are thrown. */
export class FsError {
  constructor(readonly code: FsErrorCode) {
    Object.freeze(this);
  }
}

/** One constant per code: `throw ERRNO_ERRORS.ENOENT`. */
export const ERRNO_ERRORS = Object.freeze(
  Object.fromEntries(FS_ERROR_CODES.map((code) => [code, new FsError(code)])) as Record<FsErrorCode, FsError>,
);
