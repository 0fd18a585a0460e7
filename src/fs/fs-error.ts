/**
 * The closed set of failures of the file system. They are thrown as preallocated constants, because a fresh Error costs
 * about 16 µs and a guest's start probes many missing paths; the kernel has one guard that turns them into errno.
 */

const CODES = [
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

export type FsCode = (typeof CODES)[number];

/** Not an Error on purpose: it has no stack to capture. Only the constants in `FAIL` are ever thrown. */
export class FsError {
  constructor(readonly code: FsCode) {
    Object.freeze(this);
  }
}

/** One constant per code: `throw FAIL.ENOENT`. */
export const FAIL = Object.freeze(
  Object.fromEntries(CODES.map((code) => [code, new FsError(code)])) as Record<FsCode, FsError>,
);
