/**
 * Error numbers of Linux, which programs written for QuickJS expect, for each error that the kernel reports, with the text
 * that strerror() returns. The host and the boot script both use this table.
 */
import type { ErrnoName } from '../../kernel/errno.ts';

const ERRORS = {
  EPERM: [1, 'Operation not permitted'],
  ENOENT: [2, 'No such file or directory'],
  ESRCH: [3, 'No such process'],
  EINTR: [4, 'Interrupted system call'],
  EINPROGRESS: [115, 'Operation now in progress'],
  EIO: [5, 'Input/output error'],
  E2BIG: [7, 'Argument list too long'],
  ENOEXEC: [8, 'Exec format error'],
  EBADF: [9, 'Bad file descriptor'],
  ECHILD: [10, 'No child processes'],
  EAGAIN: [11, 'Resource temporarily unavailable'],
  ENOMEM: [12, 'Cannot allocate memory'],
  EACCES: [13, 'Permission denied'],
  EFAULT: [14, 'Bad address'],
  EBUSY: [16, 'Device or resource busy'],
  EEXIST: [17, 'File exists'],
  EXDEV: [18, 'Invalid cross-device link'],
  ENOTDIR: [20, 'Not a directory'],
  EISDIR: [21, 'Is a directory'],
  EINVAL: [22, 'Invalid argument'],
  EMFILE: [24, 'Too many open files'],
  ENOTTY: [25, 'Inappropriate ioctl for device'],
  EFBIG: [27, 'File too large'],
  ENOSPC: [28, 'No space left on device'],
  ESPIPE: [29, 'Illegal seek'],
  ERANGE: [34, 'Numerical result out of range'],
  EROFS: [30, 'Read-only file system'],
  EMLINK: [31, 'Too many links'],
  EPIPE: [32, 'Broken pipe'],
  EDEADLK: [35, 'Resource deadlock avoided'],
  ENAMETOOLONG: [36, 'File name too long'],
  ENOSYS: [38, 'Function not implemented'],
  ENOTEMPTY: [39, 'Directory not empty'],
  ELOOP: [40, 'Too many levels of symbolic links'],
  EOVERFLOW: [75, 'Value too large for defined data type'],
  EILSEQ: [84, 'Invalid or incomplete multibyte or wide character'],
  ENOTSOCK: [88, 'Socket operation on non-socket'],
  ENOTSUP: [95, 'Operation not supported'],
  EOPNOTSUPP: [95, 'Operation not supported'],
  EAFNOSUPPORT: [97, 'Address family not supported by protocol'],
  ENETUNREACH: [101, 'Network is unreachable'],
  ENOTCONN: [107, 'Transport endpoint is not connected'],
  EDQUOT: [122, 'Disk quota exceeded'],
} as const satisfies Record<ErrnoName, readonly [number: number, text: string]>;

export const LINUX_ERRNO = Object.fromEntries(
  Object.entries(ERRORS).map(([name, [number]]) => [name, number]),
) as Readonly<Record<ErrnoName, number>>;

const texts = new Map<number, string>(Object.values(ERRORS));

export function strerror(errno: number): string {
  return errno === 0 ? 'Success' : (texts.get(errno) ?? `Unknown error ${errno}`);
}
