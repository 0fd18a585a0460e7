/**
 * The `os` module as QuickJS documents it, over the guest's file system. Functions that have a result return
 * [result, errno]; the others return a number, which is a negated errno when they fail.
 */
import { door, status, statusBuffer } from './host-calls.js';
import { clearTimeout, setTimeout } from './timers.js';

const FILE_TYPES = {
  S_IFMT: 0o170000,
  S_IFIFO: 0o010000,
  S_IFCHR: 0o020000,
  S_IFDIR: 0o040000,
  S_IFBLK: 0o060000,
};
const MORE_TYPES = {
  S_IFREG: 0o100000,
  S_IFSOCK: 0o140000,
  S_IFLNK: 0o120000,
  S_ISGID: 0o2000,
  S_ISUID: 0o4000,
};
const FLAGS = {
  O_RDONLY: 0,
  O_WRONLY: 1,
  O_RDWR: 2,
  O_CREAT: 0o100,
  O_EXCL: 0o200,
  O_TRUNC: 0o1000,
  O_APPEND: 0o2000,
};
const SIGNALS = {
  SIGINT: 2,
  SIGABRT: 6,
  SIGFPE: 8,
  SIGILL: 4,
  SIGSEGV: 11,
  SIGTERM: 15,
  SIGQUIT: 3,
  SIGPIPE: 13,
};
const MORE_SIGNALS = {
  SIGALRM: 14,
  SIGUSR1: 10,
  SIGUSR2: 12,
  SIGCHLD: 17,
  SIGCONT: 18,
  SIGSTOP: 19,
  SIGTSTP: 20,
};
const OTHERS = { WNOHANG: 1, SIGTTIN: 21, SIGTTOU: 22 };
/** Descriptors a table holds: how `pipe` packs its two. */
const DESCRIPTORS = 256;
/** What QuickJS has and a sandbox has not. */
const ABSENT = [
  'exec',
  'waitpid',
  'kill',
  'signal',
  'ttyGetWinSize',
  'ttySetRaw',
  'setReadHandler',
  'setWriteHandler',
];

const pair = (value) => (typeof value === 'number' ? ['', -value] : [value, 0]);

function statPair(result) {
  if (result < 0) return [null, -result];
  const [mode, ino, nlink, size, mtime] = status;
  const blocks = Math.ceil(size / 512);
  const times = { atime: mtime, mtime, ctime: mtime };
  return [{ dev: 1, ino, mode, nlink, uid: 0, gid: 0, rdev: 0, size, blocks, ...times }, 0];
}

function range(buffer, offset, length) {
  if (!(buffer instanceof ArrayBuffer)) throw new TypeError('ArrayBuffer object expected');
  const start = Math.trunc(Number(offset)) || 0;
  const size = length === undefined ? buffer.byteLength - start : Math.trunc(Number(length)) || 0;
  if (start < 0 || size < 0 || start + size > buffer.byteLength) {
    throw new RangeError('read/write array buffer overflow');
  }
  return [start, size];
}

const path = (value) => `${value}`;
const int = (value) => Number(value) | 0;

function remove(name) {
  const result = door.unlink(path(name));
  return result === -21 ? door.rmdir(path(name)) : result;
}

function seek(fd, offset, whence) {
  const result = door.seek(int(fd), Number(offset), int(whence));
  return typeof offset === 'bigint' ? BigInt(result) : result;
}

function pipe() {
  const ends = door.pipe();
  return ends < 0 ? null : [Math.floor(ends / DESCRIPTORS), ends % DESCRIPTORS];
}

export const unavailable = (name) => () => {
  throw new Error(`${name} is not available in the sandbox`);
};

const absent = Object.fromEntries(ABSENT.map((name) => [name, unavailable(`os.${name}`)]));

export const os = {
  open: (name, flags = 0, mode = 0o666) => door.open(path(name), int(flags), int(mode)),
  close: (fd) => door.close(int(fd)),
  seek,
  read: (fd, buffer, offset = 0, length = undefined) =>
    door.read(int(fd), buffer, ...range(buffer, offset, length)),
  write: (fd, buffer, offset = 0, length = undefined) =>
    door.write(int(fd), buffer, ...range(buffer, offset, length)),
  isatty: () => false,
  remove,
  rename: (from, to) => door.rename(path(from), path(to)),
  realpath: (name) => pair(door.realpath(path(name))),
  getcwd: () => pair(door.getcwd()),
  chdir: (name) => door.chdir(path(name)),
  mkdir: (name, mode = 0o777) => door.mkdir(path(name), int(mode)),
  stat: (name) => statPair(door.stat(path(name), 1, statusBuffer)),
  lstat: (name) => statPair(door.stat(path(name), 0, statusBuffer)),
  utimes: (name, _accessed, modified) => door.utimes(path(name), Number(modified)),
  symlink: (target, name) => door.symlink(path(target), path(name)),
  readlink: (name) => pair(door.readlink(path(name))),
  readdir(name) {
    const names = door.readdir(path(name));
    return typeof names === 'number' ? [[], -names] : [names.split('/'), 0];
  },
  dup: (fd) => door.dup(int(fd)),
  dup2: (fd, target) => door.dup2(int(fd), int(target)),
  pipe,
  setTimeout: (callback, delay) => setTimeout(callback, delay),
  clearTimeout,
  sleep: (milliseconds) => door.sleep(Number(milliseconds)),
  sleepAsync: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
  now: () => door.monotonic(),
  getpid: () => 1,
  cpus: () => 1,
  platform: 'linux',
  ...absent,
  Worker: class Worker {
    constructor() {
      unavailable('os.Worker')();
    }
  },
  ...FLAGS,
  O_TEXT: 0,
  ...FILE_TYPES,
  ...MORE_TYPES,
  ...SIGNALS,
  ...MORE_SIGNALS,
  ...OTHERS,
};
