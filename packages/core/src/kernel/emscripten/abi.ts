/** Constants and struct layouts of the system calls that Emscripten's C library makes. */
import { structLayout } from '../abi.ts';

export const FCNTL = {
  DUPFD: 0,
  GETFD: 1,
  SETFD: 2,
  GETFL: 3,
  SETFL: 4,
  DUPFD_CLOEXEC: 1030,
  SETPIPE_SZ: 1031,
  GETPIPE_SZ: 1032,
} as const;
export const FD_CLOEXEC = 1;

export const POLL = { IN: 1, OUT: 4, ERR: 8, HUP: 0x10, NVAL: 0x20 } as const;

/** Nanosecond values of utimensat that mean "now" and "unchanged". */
export const UTIME = { NOW: 0x3fffffff, OMIT: 0x3ffffffe } as const;

export const STAT = structLayout([
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

export const STATFS = structLayout([
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

/** The fixed part of a getdents64 record. The NUL-terminated name follows; the record is padded to 8 bytes. */
export const DIRENT = structLayout([
  ['ino', 'u64'],
  ['off', 'u64'],
  ['reclen', 'u16'],
  ['type', 'u8'],
]);
export const DIRENT_NAME = 19;

export const POLLFD = structLayout([
  ['fd', 'i32'],
  ['events', 'u16'],
  ['revents', 'u16'],
]);

export const TIMESPEC = structLayout([
  ['sec', 'i64'],
  ['nsec', 'i32'],
]);

/** struct tm as Emscripten's time functions fill it. */
export const TM = structLayout([
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
