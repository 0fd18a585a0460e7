/**
 * Files in one call each, for programs that want no descriptors: global functions, and the module "sandbox-utils".
 * Paths may be relative to the working directory. Whatever fails throws an Error with `operation`, `path`, `code` and
 * `errno`; nothing is written in part without one.
 */
import { LINUX_ERRNO, strerror } from '../errno.js';
import { door, status, statusBuffer } from './host-calls.js';
import { FILE } from './std-file.js';
import { decodeUtf8, encodeUtf8 } from './text-encoding.js';

const { parse, stringify } = JSON;
const O_WRITE = 1;
const O_CREATE = 0o100;
const O_TRUNCATE = 0o1000;
const O_APPEND = 0o2000;
const TYPE_MASK = 0o170000;
const TYPE_DIRECTORY = 0o040000;
const NOT_THERE = new Set([-LINUX_ERRNO.ENOENT, -LINUX_ERRNO.ENOTDIR]);

const codes = new Map(Object.entries(LINUX_ERRNO).map(([code, errno]) => [errno, code]));

function failed(operation, path, what, errno) {
  const reason = errno === LINUX_ERRNO.ENOENT && what === 'Cannot read' ? 'File not found' : what;
  const code = codes.get(errno);
  const error = new Error(`${operation}: ${reason}: '${path}' (${code}: ${strerror(errno)})`);
  return Object.assign(error, { operation, path, code, errno });
}

/** A TypeError or SyntaxError about what is, or is to be, in a file. */
function unfit(Kind, operation, path, message, options) {
  return Object.assign(new Kind(`${operation}: ${message}`, options), { operation, path });
}

function pathOf(operation, path) {
  if (typeof path === 'string' && path !== '') return path;
  throw unfit(TypeError, operation, path, 'a path is expected, as text');
}

function textOf(operation, path, content) {
  if (typeof content === 'string') return content;
  if (['number', 'boolean', 'bigint'].includes(typeof content)) return String(content);
  const found = content === null ? 'null' : Array.isArray(content) ? 'an array' : typeof content;
  const advice = typeof content === 'object' && content !== null ? '; writeJson writes data' : '';
  throw unfit(TypeError, operation, path, `'${path}' is to hold text, and this is ${found}${advice}`);
}

function readBytes(operation, path) {
  const fd = door.open(pathOf(operation, path), 0, 0);
  if (fd < 0) throw failed(operation, path, 'Cannot read', -fd);
  const file = new FILE(fd);
  try {
    door.fstat(fd, statusBuffer);
    if ((status[0] & TYPE_MASK) === TYPE_DIRECTORY)
      throw failed(operation, path, 'Cannot read', LINUX_ERRNO.EISDIR);
    const bytes = file.readAsBytes(Number.POSITIVE_INFINITY);
    if (file.error()) throw failed(operation, path, 'Cannot read', LINUX_ERRNO.EIO);
    return bytes;
  } finally {
    file.close();
  }
}

function writeBytes(operation, path, flags, bytes) {
  const fd = door.open(pathOf(operation, path), O_WRITE | O_CREATE | flags, 0o666);
  if (fd < 0) throw failed(operation, path, 'Cannot write', -fd);
  try {
    for (let done = 0; done < bytes.length; ) {
      const count = door.write(fd, bytes.buffer, bytes.byteOffset + done, bytes.length - done);
      if (count <= 0) throw failed(operation, path, 'Cannot write', count < 0 ? -count : LINUX_ERRNO.EIO);
      done += count;
    }
  } finally {
    door.close(fd);
  }
}

const readWhole = (operation, path) => decodeUtf8(readBytes(operation, path));

/** What a text is made of, without its line ends; one at the very end begins no further line. */
function linesOf(text) {
  if (text === '') return [];
  const lines = text.split(/\r?\n/);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function toJson(path, value, indent) {
  let text;
  try {
    text = stringify(value, null, indent);
  } catch (cause) {
    throw unfit(TypeError, 'writeJson', path, `no JSON for '${path}': ${cause?.message ?? cause}`, { cause });
  }
  if (text !== undefined) return text;
  throw unfit(TypeError, 'writeJson', path, `no JSON for '${path}': a ${typeof value} has none`);
}

export const shorthand = {
  readText: (path) => readWhole('readText', path),
  writeText: (path, content) =>
    writeBytes('writeText', path, O_TRUNCATE, encodeUtf8(textOf('writeText', path, content))),
  appendText: (path, content) =>
    writeBytes('appendText', path, O_APPEND, encodeUtf8(textOf('appendText', path, content))),
  readJson(path) {
    const text = readWhole('readJson', path);
    try {
      return parse(text.startsWith('\ufeff') ? text.slice(1) : text);
    } catch (cause) {
      throw unfit(SyntaxError, 'readJson', path, `Invalid JSON in '${path}': ${cause.message}`, { cause });
    }
  },
  writeJson: (path, value, indent = 2) =>
    writeBytes('writeJson', path, O_TRUNCATE, encodeUtf8(toJson(path, value, indent))),
  readLines: (path) => linesOf(readWhole('readLines', path)),
  writeLines(path, lines, ending = '\n') {
    if (!Array.isArray(lines))
      throw unfit(TypeError, 'writeLines', path, `the lines of '${path}' are expected as an array`);
    const text = lines.map((line) => textOf('writeLines', path, line) + ending).join('');
    writeBytes('writeLines', path, O_TRUNCATE, encodeUtf8(text));
  },
  fileExists: (path) => door.stat(pathOf('fileExists', path), 1, statusBuffer) === 0,
  fileSize(path) {
    const result = door.stat(pathOf('fileSize', path), 1, statusBuffer);
    if (NOT_THERE.has(result)) return null;
    if (result < 0) throw failed('fileSize', path, 'Cannot look at', -result);
    return status[3];
  },
  listFiles(path = '.') {
    const names = door.readdir(pathOf('listFiles', path));
    if (typeof names === 'number') throw failed('listFiles', path, 'Cannot read directory', -names);
    return names
      .split('/')
      .filter((name) => name !== '.' && name !== '..')
      .sort();
  },
  copyFile(source, target) {
    writeBytes('copyFile', target, O_TRUNCATE, readBytes('copyFile', source));
  },
  removeFile(path) {
    const result = door.unlink(pathOf('removeFile', path));
    if (result < 0 && !NOT_THERE.has(result)) throw failed('removeFile', path, 'Cannot remove', -result);
    return result === 0;
  },
};
