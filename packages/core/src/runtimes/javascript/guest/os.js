/**
 * The module `os`: that of Node.js, and the functions that QuickJS documents for the guest's file system. Of the latter,
 * those with a result return [result, errno]; the others return a number, which is a negated errno if they fail. Where both
 * define a name (`cpus`, `platform`), it is that of Node.js. Constant values, which reveal nothing about the host.
 */
import { LINUX_ERRNO } from '../linux-errno.js';
import { host, status, statusBuffer } from './host-calls.js';
import { isLoaded, load } from './node-modules.js';
import { clearTimeout, setTimeout } from './timers.js';

/** The environment variables of the program: a property each. They begin with those of the user (runtimes/account.ts). */
export const environment = {
  HOME: '/app',
  USER: 'root',
  LOGNAME: 'root',
  SHELL: '/bin/bash',
  PATH: '/usr/bin:/bin',
  LANG: 'C.UTF-8',
};

/** The local time follows the variable TZ. */
function followZone(name, value) {
  const module = 'node:internal/local-time';
  if (name === 'TZ' && (value !== 'UTC' || isLoaded(module))) load(module).setLocalZone(value);
}

export function setVariable(name, value) {
  const text = `${value}`;
  Object.defineProperty(environment, name, {
    value: text,
    writable: true,
    enumerable: true,
    configurable: true,
  });
  followZone(name, text);
}

export function deleteVariable(name) {
  followZone(name, 'UTC');
  return delete environment[name];
}

const MEMORY = 256 * 1024 * 1024;

const FILE_MODES = {
  S_IFMT: 0o170000,
  S_IFIFO: 0o010000,
  S_IFCHR: 0o020000,
  S_IFDIR: 0o040000,
  S_IFBLK: 0o060000,
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
/** The signals of Linux and their numbers. */
export const SIGNALS = {};
'HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS'
  .split(' ')
  .forEach((name, i) => {
    SIGNALS[`SIG${name}`] = i + 1;
    if (name === 'ABRT') SIGNALS.SIGIOT = i + 1;
    if (name === 'IO') SIGNALS.SIGPOLL = i + 1;
  });
/** Size of the descriptor table. The host returns both ends of a pipe in one number. */
const MAX_DESCRIPTORS = 256;
/** What to use instead of the functions of QuickJS that throw. */
const INSTEAD = {
  exec: 'child_process.spawnSync',
  waitpid: 'child_process.spawnSync',
  kill: 'process.exit',
  signal: 'process.on',
  ttyGetWinSize: 'process.stdout.columns',
  ttySetRaw: 'readline',
  setReadHandler: 'process.stdin',
  setWriteHandler: 'process.stdout',
};

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
  const result = host.unlink(path(name));
  return result === -LINUX_ERRNO.EISDIR ? host.rmdir(path(name)) : result;
}

function seek(fd, offset, whence) {
  const result = host.seek(int(fd), Number(offset), int(whence));
  return typeof offset === 'bigint' ? BigInt(result) : result;
}

function pipe() {
  const ends = host.pipe();
  return ends < 0 ? null : [Math.floor(ends / MAX_DESCRIPTORS), ends % MAX_DESCRIPTORS];
}

/** Functions that throw. `alternatives` states what to use instead of each. */
export const unavailable = (module, alternatives) =>
  Object.fromEntries(
    Object.entries(alternatives).map(([name, instead]) => [
      name,
      () => {
        throw new Error(`${module}.${name} is not available in the sandbox. Use ${instead}.`);
      },
    ]),
  );

const homedir = () => environment.HOME ?? '/app';

const node = {
  EOL: '\n',
  devNull: '/dev/null',
  arch: () => 'x64',
  availableParallelism: () => 1,
  constants: {
    UV_UDP_REUSEADDR: 4,
    dlopen: {},
    errno: { ...LINUX_ERRNO },
    signals: SIGNALS,
    priority: {
      PRIORITY_LOW: 19,
      PRIORITY_BELOW_NORMAL: 10,
      PRIORITY_NORMAL: 0,
      PRIORITY_ABOVE_NORMAL: -7,
      PRIORITY_HIGH: -14,
      PRIORITY_HIGHEST: -20,
    },
  },
  cpus: () => [{ model: 'WebAssembly', speed: 0, times: { user: 0, nice: 0, sys: 0, idle: 0, irq: 0 } }],
  endianness: () => 'LE',
  freemem: () => MEMORY / 2,
  getPriority: () => 0,
  setPriority: () => {},
  homedir,
  hostname: () => 'sandbox',
  loadavg: () => [0, 0, 0],
  machine: () => 'x86_64',
  networkInterfaces: () => ({}),
  platform: () => 'linux',
  release: () => '6.0.0',
  tmpdir: () => '/tmp',
  totalmem: () => MEMORY,
  type: () => 'Linux',
  uptime: () => host.monotonic() / 1000,
  userInfo: () => ({
    uid: 0,
    gid: 0,
    username: 'root',
    homedir: homedir(),
    shell: '/bin/bash',
  }),
  version: () => '#1 sandbox',
};

export const os = {
  open: (name, flags = 0, mode = 0o666) => host.open(path(name), int(flags), int(mode)),
  close: (fd) => host.close(int(fd)),
  seek,
  read: (fd, buffer, offset = 0, length = undefined) =>
    host.read(int(fd), buffer, ...range(buffer, offset, length)),
  write: (fd, buffer, offset = 0, length = undefined) =>
    host.write(int(fd), buffer, ...range(buffer, offset, length)),
  isatty: () => false,
  remove,
  rename: (from, to) => host.rename(path(from), path(to)),
  realpath: (name) => pair(host.realpath(path(name))),
  getcwd: () => pair(host.getcwd()),
  chdir: (name) => host.chdir(path(name)),
  mkdir: (name, mode = 0o777) => host.mkdir(path(name), int(mode)),
  stat: (name) => statPair(host.stat(path(name), 1, statusBuffer)),
  lstat: (name) => statPair(host.stat(path(name), 0, statusBuffer)),
  utimes: (name, _accessed, modified) => host.utimes(path(name), Number(modified)),
  symlink: (target, name) => host.symlink(path(target), path(name)),
  readlink: (name) => pair(host.readlink(path(name))),
  readdir(name) {
    const names = host.readdir(path(name));
    return typeof names === 'number' ? [[], -names] : [names.split('/'), 0];
  },
  dup: (fd) => host.dup(int(fd)),
  dup2: (fd, target) => host.dup2(int(fd), int(target)),
  pipe,
  setTimeout: (callback, delay) => setTimeout(callback, delay),
  clearTimeout,
  sleep: (milliseconds) => host.sleep(Number(milliseconds)),
  sleepAsync: (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds)),
  now: () => host.monotonic(),
  getpid: () => 1,
  ...unavailable('os', INSTEAD),
  Worker: class Worker {
    constructor() {
      throw new Error('os.Worker is not available in the sandbox. Call the function directly.');
    }
  },
  ...FLAGS,
  O_TEXT: 0,
  ...FILE_MODES,
  ...SIGNALS,
  WNOHANG: 1,
  ...node,
};
