/** Values that `fs` receives and returns: paths, flags, options, Stats and Dirent. */
import { defineHidden } from '../../define.js';
import { status } from '../../host-calls.js';
import { Buffer } from '../buffer.js';
import { encodingOf } from './encodings.js';
import { codedError, invalidArgType, invalidArgValue, validateInteger } from './errors.js';

/** Names and values, which are octal. */
const CONSTANTS = `UV_FS_SYMLINK_DIR 1 UV_FS_SYMLINK_JUNCTION 2 O_RDONLY 0 O_WRONLY 1 O_RDWR 2
UV_DIRENT_UNKNOWN 0 UV_DIRENT_FILE 1 UV_DIRENT_DIR 2 UV_DIRENT_LINK 3
S_IFMT 170000 S_IFREG 100000 S_IFDIR 40000 S_IFCHR 20000 S_IFBLK 60000 S_IFIFO 10000 S_IFLNK 120000 S_IFSOCK 140000
O_CREAT 100 O_EXCL 200 O_TRUNC 1000 O_APPEND 2000 O_SYNC 0
S_IRWXU 700 S_IRUSR 400 S_IWUSR 200 S_IXUSR 100 S_IRWXG 70 S_IRGRP 40 S_IWGRP 20 S_IXGRP 10 S_IRWXO 7 S_IROTH 4 S_IWOTH 2 S_IXOTH 1
F_OK 0 R_OK 4 W_OK 2 X_OK 1 COPYFILE_EXCL 1 COPYFILE_FICLONE 2 COPYFILE_FICLONE_FORCE 4`;
export const constants = {};
for (const [, name, value] of CONSTANTS.matchAll(/(\w+) (\d+)/g)) constants[name] = Number.parseInt(value, 8);
const { O_RDONLY, O_WRONLY, O_RDWR, O_CREAT, O_EXCL, O_TRUNC, O_APPEND } = constants;
const FLAGS = {
  r: O_RDONLY,
  rs: O_RDONLY,
  'r+': O_RDWR,
  'rs+': O_RDWR,
  w: O_TRUNC | O_CREAT | O_WRONLY,
  wx: O_TRUNC | O_CREAT | O_WRONLY | O_EXCL,
  'w+': O_TRUNC | O_CREAT | O_RDWR,
  'wx+': O_TRUNC | O_CREAT | O_RDWR | O_EXCL,
  a: O_APPEND | O_CREAT | O_WRONLY,
  ax: O_APPEND | O_CREAT | O_WRONLY | O_EXCL,
  as: O_APPEND | O_CREAT | O_WRONLY,
  'a+': O_APPEND | O_CREAT | O_RDWR,
  'ax+': O_APPEND | O_CREAT | O_RDWR | O_EXCL,
  'as+': O_APPEND | O_CREAT | O_RDWR,
};

export function flagsOf(flags, fallback = 'r') {
  const wanted = flags ?? fallback;
  if (typeof wanted === 'number') return wanted;
  if (!Object.hasOwn(FLAGS, wanted)) throw invalidArgValue('flags', flags);
  return FLAGS[wanted];
}

export function pathOf(path, name = 'path') {
  let text = path;
  if (
    path instanceof URL ||
    (typeof path === 'object' && path?.href !== undefined && path?.protocol !== undefined)
  ) {
    if (path.protocol !== 'file:')
      throw codedError(TypeError, 'ERR_INVALID_URL_SCHEME', 'The URL must be of scheme file');
    if (/%2f/i.test(path.pathname))
      throw codedError(
        TypeError,
        'ERR_INVALID_FILE_URL_PATH',
        'File URL path must not include encoded / characters',
      );
    text = decodeURIComponent(path.pathname);
  } else if (path instanceof Uint8Array) text = Buffer.from(path).toString();
  if (typeof text !== 'string') throw invalidArgType(name, ['string', 'Buffer', 'URL'], path);
  if (text.includes('\0'))
    throw invalidArgValue(name, path, 'must be a string, Uint8Array, or URL without null bytes');
  return text;
}

/** Options that may be given as the name of an encoding. */
export function optionsOf(options, defaults = {}) {
  if (options === undefined || options === null || typeof options === 'function') return defaults;
  const given = typeof options === 'string' ? { encoding: options } : options;
  if (typeof given !== 'object') throw invalidArgType('options', ['string', 'Object'], options);
  const { encoding } = given;
  if (
    encoding !== undefined &&
    encoding !== null &&
    encoding !== 'buffer' &&
    encodingOf(encoding) === undefined
  ) {
    throw invalidArgValue('encoding', encoding, 'is invalid encoding');
  }
  return { ...defaults, ...given };
}

export function descriptorOf(fd) {
  validateInteger(fd, 'fd', 0, 2 ** 31 - 1);
  return fd;
}

export function modeOf(mode, fallback) {
  if (mode === undefined || mode === null) return fallback;
  if (typeof mode === 'string') {
    if (/^[0-7]+$/.test(mode)) return Number.parseInt(mode, 8);
    throw invalidArgValue('mode', mode, 'must be a 32-bit unsigned integer or an octal string');
  }
  validateInteger(mode, 'mode', 0, 2 ** 32 - 1);
  return mode;
}

/** Seconds since 1970, from a date, a number or a text. */
export function toUnixTimestamp(time, name = 'time') {
  if (time instanceof Date) return time.getTime() / 1000;
  if (typeof time === 'string' && +time === Number(time) && time.trim() !== '') return +time;
  if (Number.isFinite(time)) return time < 0 ? Date.now() / 1000 : time;
  throw invalidArgType(name, ['Date', 'Time in seconds'], time);
}

export function bytesOf(data, encoding, name = 'data') {
  if (typeof data === 'string') return Buffer.from(data, encoding ?? 'utf8');
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  throw invalidArgType(name, ['string', 'Buffer', 'TypedArray', 'DataView'], data);
}

export const encoded = (bytes, encoding) => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return encoding === undefined || encoding === null || encoding === 'buffer'
    ? buffer
    : buffer.toString(encoding);
};

const KINDS = {
  isFile: constants.S_IFREG,
  isDirectory: constants.S_IFDIR,
  isSymbolicLink: constants.S_IFLNK,
  isCharacterDevice: constants.S_IFCHR,
  isBlockDevice: constants.S_IFBLK,
  isFIFO: constants.S_IFIFO,
  isSocket: constants.S_IFSOCK,
};

export class Stats {
  constructor(fields, isBig) {
    Object.assign(this, fields);
    for (const name of ['atime', 'mtime', 'ctime', 'birthtime'])
      this[name] = new Date(Number(this[`${name}Ms`]));
    Object.defineProperty(this, '_isBig', { value: isBig, enumerable: false });
  }
}

/** The status that the last host call has stored. */
export function readStats(isBig = false) {
  const [mode, ino, nlink, size, mtimeMs] = status;
  const numbers = {
    dev: 1,
    mode,
    nlink,
    uid: 0,
    gid: 0,
    rdev: 0,
    blksize: 4096,
    ino,
    size,
    blocks: Math.ceil(size / 512),
  };
  const times = { atimeMs: mtimeMs, mtimeMs, ctimeMs: mtimeMs, birthtimeMs: mtimeMs };
  if (!isBig) return new Stats({ ...numbers, ...times }, false);
  const fields = Object.entries({ ...numbers, ...times }).map(([name, value]) => [
    name,
    BigInt(Math.trunc(value)),
  ]);
  const nanoseconds = ['atime', 'mtime', 'ctime', 'birthtime'].map((name) => [
    `${name}Ns`,
    BigInt(Math.trunc(mtimeMs)) * 1_000_000n,
  ]);
  return new Stats(Object.fromEntries([...fields, ...nanoseconds]), true);
}

export class Dirent {
  constructor(name, parentPath, mode) {
    this.name = name;
    this.parentPath = parentPath;
    this.path = parentPath;
    Object.defineProperty(this, '_mode', { value: mode, enumerable: false });
  }
}

/** Adds the methods that tell the kind of a file by its mode. */
function defineKinds(type, modeOf) {
  for (const [name, kind] of Object.entries(KINDS))
    defineHidden(type.prototype, {
      [name]() {
        return (modeOf(this) & constants.S_IFMT) === kind;
      },
    });
}
defineKinds(Stats, (stats) => Number(stats.mode));
defineKinds(Dirent, (entry) => entry._mode);
