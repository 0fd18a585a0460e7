/**
 * Global functions that read or write a file in one call. Relative paths start at the working directory. A failure throws
 * an Error with `operation`, `path`, `code` and `errno`.
 */

import { LINUX_ERRNO, strerror } from '../linux-errno.js';
import { host, status, statusBuffer } from './host-calls.js';
import { parse } from './json-parse.js';
import { FILE } from './std-file.js';
import { decodeUtf8, encodeUtf8 } from './text-encoding.js';

const { stringify } = JSON;
const O_WRITE = 1;
const O_CREATE = 0o100;
const O_TRUNCATE = 0o1000;
const O_APPEND = 0o2000;
const TYPE_MASK = 0o170000;
const TYPE_DIRECTORY = 0o040000;
const NOT_FOUND = new Set([-LINUX_ERRNO.ENOENT, -LINUX_ERRNO.ENOTDIR]);

const codes = new Map(Object.entries(LINUX_ERRNO).map(([code, errno]) => [errno, code]));

function ioError(operation, path, what, errno) {
  const reason = errno === LINUX_ERRNO.ENOENT && what === 'Cannot read' ? 'File not found' : what;
  const code = codes.get(errno);
  const error = new Error(`${operation}: ${reason}: '${path}' (${code}: ${strerror(errno)})`);
  return Object.assign(error, { operation, path, code, errno });
}

/** An error about the contents of a file. */
function contentError(Kind, operation, path, message, options) {
  return Object.assign(new Kind(`${operation}: ${message}`, options), { operation, path });
}

function pathOf(operation, path) {
  if (typeof path === 'string' && path !== '') return path;
  throw contentError(TypeError, operation, path, 'the path must be a non-empty string');
}

function textOf(operation, path, content) {
  if (typeof content === 'string') return content;
  if (['number', 'boolean', 'bigint'].includes(typeof content)) return String(content);
  const found =
    content === null ? 'null' : Array.isArray(content) ? 'an array' : `a value of type ${typeof content}`;
  const advice = typeof content === 'object' && content !== null ? '; use writeJson for data' : '';
  throw contentError(TypeError, operation, path, `cannot write ${found} to '${path}' as text${advice}`);
}

export function readBytes(operation, path) {
  const fd = host.open(pathOf(operation, path), 0, 0);
  if (fd < 0) throw ioError(operation, path, 'Cannot read', -fd);
  const file = new FILE(fd);
  try {
    host.fstat(fd, statusBuffer);
    if ((status[0] & TYPE_MASK) === TYPE_DIRECTORY)
      throw ioError(operation, path, 'Cannot read', LINUX_ERRNO.EISDIR);
    const bytes = file.readAsBytes(Number.POSITIVE_INFINITY);
    if (file.error()) throw ioError(operation, path, 'Cannot read', LINUX_ERRNO.EIO);
    return bytes;
  } finally {
    file.close();
  }
}

function writeBytes(operation, path, flags, bytes) {
  const fd = host.open(pathOf(operation, path), O_WRITE | O_CREATE | flags, 0o666);
  if (fd < 0) throw ioError(operation, path, 'Cannot write', -fd);
  try {
    for (let done = 0; done < bytes.length; ) {
      const count = host.write(fd, bytes.buffer, bytes.byteOffset + done, bytes.length - done);
      if (count <= 0) throw ioError(operation, path, 'Cannot write', count < 0 ? -count : LINUX_ERRNO.EIO);
      done += count;
    }
  } finally {
    host.close(fd);
  }
}

const readText = (operation, path) => decodeUtf8(readBytes(operation, path));

/** Splits a text into lines. A line end at the end of the text does not start another line. */
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
    throw contentError(
      TypeError,
      'writeJson',
      path,
      `cannot convert the value for '${path}' to JSON: ${cause?.message ?? cause}`,
      { cause },
    );
  }
  if (text !== undefined) return text;
  throw contentError(
    TypeError,
    'writeJson',
    path,
    `cannot convert the value for '${path}' to JSON: its type is ${typeof value}`,
  );
}

export const fileHelpers = {
  readText: (path) => readText('readText', path),
  writeText: (path, content) =>
    writeBytes('writeText', path, O_TRUNCATE, encodeUtf8(textOf('writeText', path, content))),
  appendText: (path, content) =>
    writeBytes('appendText', path, O_APPEND, encodeUtf8(textOf('appendText', path, content))),
  readJson(path) {
    const text = readText('readJson', path);
    try {
      return parse(text.startsWith('\ufeff') ? text.slice(1) : text);
    } catch (cause) {
      throw contentError(SyntaxError, 'readJson', path, `Invalid JSON in '${path}': ${cause.message}`, {
        cause,
      });
    }
  },
  writeJson: (path, value, indent = 2) =>
    writeBytes('writeJson', path, O_TRUNCATE, encodeUtf8(toJson(path, value, indent))),
  readLines: (path) => linesOf(readText('readLines', path)),
  writeLines(path, lines, ending = '\n') {
    if (!Array.isArray(lines))
      throw contentError(TypeError, 'writeLines', path, `the lines for '${path}' must be an array`);
    const text = lines.map((line) => textOf('writeLines', path, line) + ending).join('');
    writeBytes('writeLines', path, O_TRUNCATE, encodeUtf8(text));
  },
  fileExists: (path) => host.stat(pathOf('fileExists', path), 1, statusBuffer) === 0,
  fileSize(path) {
    const result = host.stat(pathOf('fileSize', path), 1, statusBuffer);
    if (NOT_FOUND.has(result)) return null;
    if (result < 0) throw ioError('fileSize', path, 'Cannot read file size', -result);
    return status[3];
  },
  listFiles(path = '.') {
    const names = host.readdir(pathOf('listFiles', path));
    if (typeof names === 'number') throw ioError('listFiles', path, 'Cannot read directory', -names);
    return names
      .split('/')
      .filter((name) => name !== '.' && name !== '..')
      .sort();
  },
  copyFile(source, target) {
    writeBytes('copyFile', target, O_TRUNCATE, readBytes('copyFile', source));
  },
  removeFile(path) {
    const result = host.unlink(pathOf('removeFile', path));
    if (result < 0 && !NOT_FOUND.has(result)) throw ioError('removeFile', path, 'Cannot remove', -result);
    return result === 0;
  },
};
