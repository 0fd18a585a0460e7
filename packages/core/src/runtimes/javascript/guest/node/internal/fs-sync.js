/** The synchronous functions of `fs`, over the system calls of the guest. The other forms call these. */

import { LINUX_ERRNO } from '../../../linux-errno.js';
import { host, statusBuffer } from '../../host-calls.js';
import { load } from '../../node-modules.js';
import { Buffer } from '../buffer.js';
import { dirname, join } from '../path.js';
import {
  codedError,
  invalidArgType,
  invalidArgValue,
  outOfRange,
  systemError,
  validateAbortSignal,
  validateBoolean,
  validateInteger,
} from './errors.js';
import { check, readDescriptor, writeAll } from './file-access.js';
import {
  bytesOf,
  constants,
  Dirent,
  descriptorOf,
  encoded,
  flagsOf,
  modeOf,
  optionsOf,
  pathOf,
  readStats,
  toUnixTimestamp,
} from './fs-values.js';

const { ENOENT, ENOTDIR, EEXIST, EISDIR } = LINUX_ERRNO;
const SEEK_SET = 0;
const SEEK_CUR = 1;
const LETTERS = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';
const STANDARD = { '/dev/stdin': 0, '/dev/stdout': 1, '/dev/stderr': 2, '/dev/fd/0': 0 };

/** Runs `use` with an open file, which is closed afterwards. A descriptor or a FileHandle stays open. */
function withFile(file, flags, mode, use) {
  if (typeof file === 'number' || typeof file?.fd === 'number') return use(descriptorOf(file.fd ?? file));
  const path = pathOf(file);
  if (Object.hasOwn(STANDARD, path)) return use(STANDARD[path]);
  const fd = check(host.open(path, flags, mode), 'open', path);
  try {
    return use(fd);
  } finally {
    host.close(fd);
  }
}

export function readFileSync(file, options) {
  const { encoding, flag, signal } = optionsOf(options);
  validateAbortSignal(signal);
  return encoded(withFile(file, flagsOf(flag), 0o666, readDescriptor), encoding);
}

export function writeFileSync(file, data, options) {
  const { encoding, flag, mode, signal, flush } = optionsOf(options, { flag: 'w' });
  validateAbortSignal(signal);
  if (flush !== undefined && flush !== null) validateBoolean(flush, 'options.flush');
  const bytes = bytesOf(data, encoding);
  withFile(file, flagsOf(flag, 'w'), modeOf(mode, 0o666), (fd) => {
    writeAll(fd, bytes);
    // Programs can replace the function.
    if (flush) load('node:fs').fsyncSync(fd);
  });
}

export const appendFileSync = (file, data, options) =>
  writeFileSync(file, data, { flag: 'a', ...optionsOf(options) });

export function existsSync(path) {
  try {
    return host.stat(pathOf(path), 1, statusBuffer) === 0;
  } catch {
    return false;
  }
}

function status(syscall, path, follow, options = {}) {
  const name = pathOf(path);
  const result = host.stat(name, follow, statusBuffer);
  if (options?.throwIfNoEntry === false && (result === -ENOENT || result === -ENOTDIR)) return undefined;
  check(result, syscall, name);
  return readStats(options?.bigint === true);
}
export const statSync = (path, options) => status('stat', path, 1, options);
export const lstatSync = (path, options) => status('lstat', path, 0, options);
export function fstatSync(fd, options = {}) {
  check(host.fstat(descriptorOf(fd), statusBuffer), 'fstat');
  return readStats(options?.bigint === true);
}

function validateAccess(mode) {
  if (mode === undefined || mode === null) return;
  if (!Number.isInteger(mode))
    throw codedError(TypeError, 'ERR_INVALID_ARG_TYPE', 'mode must be int32 or null/undefined');
  validateInteger(mode, 'mode', 0, 7);
}
export function accessSync(path, mode = constants.F_OK) {
  const name = pathOf(path);
  validateAccess(mode);
  check(host.stat(name, 1, statusBuffer), 'access', name);
  const isWritable = (Number(readStats().mode) & 0o222) !== 0;
  if ((mode & constants.W_OK) !== 0 && !isWritable) throw systemError(LINUX_ERRNO.EACCES, 'access', name);
}

export function openSync(path, flags, mode) {
  const name = pathOf(path);
  return check(host.open(name, flagsOf(flags), modeOf(mode, 0o666)), 'open', name);
}
export function closeSync(fd) {
  check(host.close(descriptorOf(fd)), 'close');
}

/** Runs `use` at a position of the file and restores the position afterwards. */
function atPosition(fd, position, use) {
  if (position === undefined || position === null || Number(position) < 0) return use();
  const before = check(host.seek(fd, 0, SEEK_CUR), 'seek');
  host.seek(fd, Number(position), SEEK_SET);
  try {
    return use();
  } finally {
    host.seek(fd, before, SEEK_SET);
  }
}

function validatePosition(position) {
  if (position === undefined || position === null) return;
  if (typeof position === 'bigint') {
    if (position < -1n || position > 2n ** 63n - 1n)
      throw outOfRange('position', `>= -1 && <= ${2n ** 63n - 1n}`, position);
  } else if (typeof position === 'number') validateInteger(position, 'position', -1);
  else throw invalidArgType('position', ['integer', 'bigint'], position);
}

export function readSync(fd, buffer, offsetOrOptions, length, position) {
  descriptorOf(fd);
  if (!ArrayBuffer.isView(buffer))
    throw invalidArgType('buffer', ['Buffer', 'TypedArray', 'DataView'], buffer);
  const options =
    typeof offsetOrOptions === 'object' && offsetOrOptions !== null
      ? offsetOrOptions
      : { offset: offsetOrOptions, length, position };
  const offset = options.offset ?? 0;
  validateInteger(offset, 'offset', 0);
  const size = options.length === undefined ? buffer.byteLength - offset : options.length | 0;
  if (size === 0) return 0;
  if (buffer.byteLength === 0) throw invalidArgValue('buffer', buffer, 'is empty and cannot be written');
  if (size < 0) throw outOfRange('length', '>= 0', size);
  if (offset + size > buffer.byteLength) throw outOfRange('length', `<= ${buffer.byteLength - offset}`, size);
  validatePosition(options.position);
  return atPosition(fd, options.position, () =>
    check(host.read(fd, buffer.buffer, buffer.byteOffset + offset, size), 'read'),
  );
}

export function writeSync(fd, data, offsetOrOptions, lengthOrEncoding, position) {
  descriptorOf(fd);
  let bytes;
  let at = position;
  if (typeof data === 'string') {
    bytes = bytesOf(data, lengthOrEncoding);
    at = offsetOrOptions;
  } else {
    const all = bytesOf(data, undefined, 'buffer');
    const options =
      typeof offsetOrOptions === 'object' && offsetOrOptions !== null
        ? offsetOrOptions
        : { offset: offsetOrOptions, length: lengthOrEncoding, position };
    const offset = options.offset ?? 0;
    validateInteger(offset, 'offset', 0, all.length);
    if (options.length != null) validateInteger(options.length, 'length', 0, all.length - offset);
    bytes = all.subarray(
      offset,
      options.length === undefined || options.length === null ? undefined : offset + options.length,
    );
    at = options.position;
  }
  return atPosition(fd, at, () => {
    writeAll(fd, bytes);
    return bytes.length;
  });
}
function checkBuffers(buffers) {
  if (!Array.isArray(buffers) || !buffers.every((one) => ArrayBuffer.isView(one)))
    throw invalidArgType('buffers', 'ArrayBufferView[]', buffers);
  return buffers;
}
/** Reads into buffers or writes them, one after the other. */
const inTurn = (transfer) => (fd, buffers, position) =>
  checkBuffers(buffers).reduce((sum, one) => {
    const at = position === undefined || position === null ? position : position + sum;
    return sum + transfer(fd, one, 0, one.byteLength, at);
  }, 0);
export const writevSync = inTurn(writeSync);
export const readvSync = inTurn(readSync);

export function mkdirSync(path, options) {
  const { recursive = false, mode } =
    typeof options === 'object' && options !== null ? options : { mode: options };
  validateBoolean(recursive, 'options.recursive');
  const name = pathOf(path);
  const rights = modeOf(mode, 0o777);
  if (!recursive) {
    check(host.mkdir(name, rights), 'mkdir', name);
    return undefined;
  }
  const missing = [];
  for (let current = name; ; current = dirname(current)) {
    if (host.stat(current, 1, statusBuffer) === 0) {
      if (!readStats().isDirectory())
        throw systemError(missing.length === 0 ? EEXIST : ENOTDIR, 'mkdir', name);
      break;
    }
    missing.push(current.replace(/(?<=.)\/$/, ''));
    if (dirname(current) === current) break;
  }
  for (const folder of [...missing].reverse()) {
    const result = host.mkdir(folder, rights);
    // The path can contain "..", whose folder exists as soon as the part before it does.
    if (result !== -EEXIST) check(result, 'mkdir', name);
  }
  const first = missing.at(-1);
  return first === undefined ? undefined : first.startsWith('/') ? first : join(host.getcwd(), first);
}

function listEntries(folder, relative, options, found) {
  const names = check(host.readdir(join(folder, relative)), 'scandir', folder);
  for (const name of names === ''
    ? []
    : names
        .split('/')
        .filter((one) => one !== '.' && one !== '..')
        .sort()) {
    const parent = join(folder, relative);
    const path = join(parent, name);
    host.stat(path, 0, statusBuffer);
    const entry = new Dirent(name, relative === '' ? folder : parent, Number(readStats().mode));
    found.push(options.withFileTypes ? entry : relative === '' ? name : join(relative, name));
    if (options.recursive && entry.isDirectory()) listEntries(folder, join(relative, name), options, found);
  }
  return found;
}

/** The name of a file in the encoding of the options. */
function nameIn(name, { encoding }) {
  return encoding === undefined || encoding === null || encoding === 'utf8'
    ? name
    : encoded(Buffer.from(name), encoding);
}

export function readdirSync(path, options) {
  const settings = optionsOf(options);
  const found = listEntries(pathOf(path), '', settings, []);
  return settings.withFileTypes ? found : found.map((name) => nameIn(name, settings));
}

export function unlinkSync(path) {
  const name = pathOf(path);
  check(host.unlink(name), 'unlink', name);
}
export function rmdirSync(path, options = {}) {
  const name = pathOf(path);
  if (!options?.recursive) return void check(host.rmdir(name), 'rmdir', name);
  if (!lstatSync(name).isDirectory()) throw systemError(ENOTDIR, 'rmdir', name);
  return rmSync(name, { recursive: true });
}
export function rmSync(path, options = {}) {
  const name = pathOf(path);
  const { recursive = false, force = false } = options ?? {};
  const found = host.stat(name, 0, statusBuffer);
  if (found < 0) {
    if (force && (found === -ENOENT || found === -ENOTDIR)) return;
    check(found, 'lstat', name);
  }
  if (!readStats().isDirectory()) {
    check(host.unlink(name), 'unlink', name);
    return;
  }
  if (!recursive) {
    const error = codedError(
      Error,
      'ERR_FS_EISDIR',
      `Path is a directory: rm returned EISDIR (is a directory) ${name}`,
    );
    throw Object.assign(error, { errno: EISDIR, syscall: 'rm', path: name });
  }
  for (const entry of readdirSync(name)) rmSync(join(name, entry), { recursive, force });
  check(host.rmdir(name), 'rmdir', name);
}

export function renameSync(from, to) {
  const [a, b] = [pathOf(from, 'oldPath'), pathOf(to, 'newPath')];
  check(host.rename(a, b), 'rename', a, b);
}
export function copyFileSync(from, to, mode = 0) {
  const [source, target] = [pathOf(from, 'src'), pathOf(to, 'dest')];
  validateAccess(mode);
  const failed = (errno) => systemError(errno, 'copyfile', source, target);
  const found = host.stat(source, 1, statusBuffer);
  if (found < 0) throw failed(-found);
  const stats = readStats();
  if (stats.isDirectory()) throw failed(LINUX_ERRNO.ENOTSUP ?? EISDIR);
  if (mode & constants.COPYFILE_EXCL && existsSync(target)) throw failed(EEXIST);
  const bytes = readFileSync(source);
  const fd = host.open(target, flagsOf('w'), stats.mode & 0o777);
  if (fd < 0) throw failed(-fd);
  try {
    writeAll(fd, bytes);
  } finally {
    host.close(fd);
  }
}
export function cpSync(from, to, options = {}) {
  const [source, target] = [pathOf(from, 'src'), pathOf(to, 'dest')];
  const { recursive = false, force = true, errorOnExist = false, filter } = options;
  if (filter !== undefined && !filter(source, target)) return;
  const stats = options.dereference ? statSync(source) : lstatSync(source);
  if (stats.isDirectory()) {
    if (!recursive) {
      throw codedError(
        Error,
        'ERR_FS_EISDIR',
        `Recursive option not enabled, cannot copy a directory: cp returned EISDIR (${source} is a directory (not copied)) ${source}`,
      );
    }
    mkdirSync(target, { recursive: true });
    for (const name of readdirSync(source)) cpSync(join(source, name), join(target, name), options);
  } else if (stats.isSymbolicLink()) symlinkSync(readlinkSync(source), target);
  else if (force || !existsSync(target)) {
    mkdirSync(dirname(target), { recursive: true });
    copyFileSync(source, target);
  } else if (errorOnExist) {
    throw codedError(
      Error,
      'ERR_FS_CP_EEXIST',
      `Target already exists: cp returned EEXIST (${target} already exists) ${target}`,
    );
  }
}

export function symlinkSync(target, path, type = undefined) {
  if (type !== undefined && type !== null && !['dir', 'file', 'junction'].includes(type))
    throw codedError(
      Error,
      'ERR_FS_INVALID_SYMLINK_TYPE',
      `Symlink type must be one of "dir", "file", or "junction". Received "${type}"`,
    );
  const [to, name] = [pathOf(target, 'target'), pathOf(path)];
  check(host.symlink(to, name), 'symlink', to, name);
}
export function readlinkSync(path, options) {
  const name = pathOf(path);
  return nameIn(check(host.readlink(name), 'readlink', name), optionsOf(options));
}
export function realpathSync(path, options) {
  const name = pathOf(path);
  return nameIn(check(host.realpath(name), 'lstat', name), optionsOf(options));
}
realpathSync.native = realpathSync;

export function truncateSync(path, length = 0) {
  withFile(path, constants.O_RDWR, 0o666, (fd) => ftruncateSync(fd, length));
}
export function ftruncateSync(fd, length = 0) {
  validateInteger(length, 'len');
  check(host.truncate(descriptorOf(fd), Math.max(0, length)), 'ftruncate');
}
export function utimesSync(path, accessed, modified) {
  const name = pathOf(path);
  toUnixTimestamp(accessed);
  check(host.utimes(name, toUnixTimestamp(modified) * 1000), 'utime', name);
}
export function futimesSync(fd, accessed, modified) {
  descriptorOf(fd);
  toUnixTimestamp(accessed, 'atime');
  check(host.futimes(fd, toUnixTimestamp(modified, 'mtime') * 1000), 'futime');
}
/** The permissions that must be given. */
function requiredMode(mode) {
  const value = modeOf(mode);
  if (value === undefined) throw invalidArgType('mode', 'number', mode);
  return value;
}
export function chmodSync(path, mode) {
  const name = pathOf(path);
  check(host.chmod(name, requiredMode(mode)), 'chmod', name);
}
export function fchmodSync(fd, mode) {
  check(host.fchmod(descriptorOf(fd), requiredMode(mode)), 'fchmod');
}
function validateOwner(uid, gid) {
  validateInteger(uid, 'uid', -1, 2 ** 32 - 1);
  validateInteger(gid, 'gid', -1, 2 ** 32 - 1);
}
/** Files have one owner, so changing it checks only that the file exists. */
export function chownSync(path, uid, gid) {
  pathOf(path);
  validateOwner(uid, gid);
  statSync(path);
}
export function lchownSync(path, uid, gid) {
  pathOf(path);
  validateOwner(uid, gid);
  lstatSync(path);
}
export function fchownSync(fd, uid, gid) {
  descriptorOf(fd);
  validateOwner(uid, gid);
  fstatSync(fd);
}
export const fsyncSync = (fd) => void fstatSync(fd);

export function mkdtempSync(prefix, options) {
  const start = pathOf(prefix, 'prefix');
  const settings = optionsOf(options);
  for (;;) {
    let name = start;
    for (let i = 0; i < 6; i++) name += LETTERS[Math.floor(Math.random() * LETTERS.length)];
    const result = host.mkdir(name, 0o700);
    if (result === -EEXIST) continue;
    check(result, 'mkdtemp', `${start}XXXXXX`);
    return nameIn(name, settings);
  }
}
export function linkSync(from, to) {
  throw systemError(LINUX_ERRNO.EPERM, 'link', pathOf(from, 'existingPath'), pathOf(to, 'newPath'));
}
const VOLUME = {
  type: 0,
  bsize: 4096,
  blocks: 65_536,
  bfree: 32_768,
  bavail: 32_768,
  files: 10_000,
  ffree: 5000,
};
export function statfsSync(path, options = {}) {
  statSync(path);
  if (!options?.bigint) return { ...VOLUME };
  return Object.fromEntries(Object.entries(VOLUME).map(([name, value]) => [name, BigInt(value)]));
}
