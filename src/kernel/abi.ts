/**
 * The numbers both guests were compiled with: errno, flags and struct layouts of musl as Emscripten ships it, whose
 * errno values are those of WASI. Sources: the WASI preview 1 witx and musl's generic headers. Offsets are computed
 * from field lists, never typed by hand.
 */

export const ERRNO = {
  E2BIG: 1,
  EACCES: 2,
  EAFNOSUPPORT: 5,
  EAGAIN: 6,
  EBADF: 8,
  EBUSY: 10,
  ECHILD: 12,
  EDQUOT: 19,
  EEXIST: 20,
  EFAULT: 21,
  EFBIG: 22,
  EILSEQ: 25,
  EINTR: 27,
  EINVAL: 28,
  EIO: 29,
  EISDIR: 31,
  ELOOP: 32,
  EMFILE: 33,
  EMLINK: 34,
  ENAMETOOLONG: 37,
  ENOENT: 44,
  ENOMEM: 48,
  ENOSPC: 51,
  ENOSYS: 52,
  ENOTDIR: 54,
  ENOTEMPTY: 55,
  ENOTSOCK: 57,
  ENOTSUP: 58,
  ENOTTY: 59,
  EOVERFLOW: 61,
  EPERM: 63,
  EPIPE: 64,
  EROFS: 69,
  ESPIPE: 70,
  EXDEV: 75,
} as const;

export type ErrnoName = keyof typeof ERRNO;

/** Flags of open(2). */
export const O = {
  ACCMODE: 3,
  WRONLY: 1,
  RDWR: 2,
  CREAT: 0o100,
  EXCL: 0o200,
  TRUNC: 0o1000,
  APPEND: 0o2000,
  NONBLOCK: 0o4000,
  DIRECTORY: 0o200000,
  NOFOLLOW: 0o400000,
  CLOEXEC: 0o2000000,
} as const;

/** Flags of the *at family. */
export const AT = { FDCWD: -100, SYMLINK_NOFOLLOW: 0x100, REMOVEDIR: 0x200, EMPTY_PATH: 0x1000 } as const;

export const SEEK = { SET: 0, CUR: 1, END: 2 } as const;

export const FCNTL = { DUPFD: 0, GETFD: 1, SETFD: 2, GETFL: 3, SETFL: 4, DUPFD_CLOEXEC: 1030 } as const;

export const POLL = { IN: 1, OUT: 4, HUP: 0x10, NVAL: 0x20 } as const;

/** utimensat's nanosecond values that mean "now" and "leave as it is". */
export const UTIME = { NOW: 0x3fffffff, OMIT: 0x3ffffffe } as const;

/** File type bits of st_mode, d_type of getdents64, and filetype of WASI, by node kind. */
export const FILE_TYPE = {
  file: { mode: 0o100000, dirent: 8, wasi: 4 },
  dir: { mode: 0o040000, dirent: 4, wasi: 3 },
  symlink: { mode: 0o120000, dirent: 10, wasi: 7 },
  // Not WASI's character device: the C library takes every one of those for a terminal.
  stream: { mode: 0o010000, dirent: 1, wasi: 0 },
  null: { mode: 0o020000, dirent: 2, wasi: 0 },
  pipe: { mode: 0o010000, dirent: 1, wasi: 0 },
} as const;

type Width = 'u8' | 'u16' | 'i32' | 'u32' | 'i64' | 'u64';
const SIZE: Record<Width, number> = { u8: 1, u16: 2, i32: 4, u32: 4, i64: 8, u64: 8 };

export interface Struct<F extends string> {
  readonly size: number;
  readonly at: Readonly<Record<F, number>>;
}

/** Lays fields out with natural alignment, as the C compiler did. */
function struct<const F extends string>(fields: readonly (readonly [F, Width])[]): Struct<F> {
  const at = {} as Record<F, number>;
  let offset = 0;
  let widest = 1;
  for (const [name, width] of fields) {
    const size = SIZE[width];
    offset = Math.ceil(offset / size) * size;
    at[name] = offset;
    offset += size;
    widest = Math.max(widest, size);
  }
  return { size: Math.ceil(offset / widest) * widest, at };
}

export const STAT = struct([
  ['dev', 'u32'],
  ['mode', 'u32'],
  ['nlink', 'u32'],
  ['uid', 'u32'],
  ['gid', 'u32'],
  ['rdev', 'u32'],
  ['size', 'i64'],
  ['blksize', 'i32'],
  ['blocks', 'i32'],
  ['atime', 'i64'],
  ['atime_ns', 'i32'],
  ['mtime', 'i64'],
  ['mtime_ns', 'i32'],
  ['ctime', 'i64'],
  ['ctime_ns', 'i32'],
  ['ino', 'u64'],
]);

export const STATFS = struct([
  ['type', 'u32'],
  ['bsize', 'u32'],
  ['blocks', 'u64'],
  ['bfree', 'u64'],
  ['bavail', 'u64'],
  ['files', 'u64'],
  ['ffree', 'u64'],
  ['fsid', 'u64'],
  ['namelen', 'u32'],
  ['frsize', 'u32'],
  ['flags', 'u32'],
  ['spare', 'u32'],
]);

/** The fixed head of a getdents64 record; the name follows, NUL-terminated, the record padded to 8 bytes. */
export const DIRENT = struct([
  ['ino', 'u64'],
  ['off', 'u64'],
  ['reclen', 'u16'],
  ['type', 'u8'],
]);
export const DIRENT_NAME = 19;

export const IOVEC = struct([
  ['base', 'u32'],
  ['len', 'u32'],
]);

export const POLLFD = struct([
  ['fd', 'i32'],
  ['events', 'u16'],
  ['revents', 'u16'],
]);

export const FDSTAT = struct([
  ['filetype', 'u8'],
  ['flags', 'u16'],
  ['rights', 'u64'],
  ['inheriting', 'u64'],
]);

export const TIMESPEC = struct([
  ['sec', 'i64'],
  ['nsec', 'i32'],
]);

/** struct tm as Emscripten's time functions fill it. */
export const TM = struct([
  ['sec', 'i32'],
  ['min', 'i32'],
  ['hour', 'i32'],
  ['mday', 'i32'],
  ['mon', 'i32'],
  ['year', 'i32'],
  ['wday', 'i32'],
  ['yday', 'i32'],
  ['isdst', 'i32'],
  ['gmtoff', 'i32'],
  ['zone', 'u32'],
]);

/** Requests of ioctl that are ours: a guest's boot script tells of the modules its program imports. Any descriptor. */
export const IMPORT_IOCTL = { begin: 0x4c570001, end: 0x4c570002, loaded: 0x4c570003 } as const;
