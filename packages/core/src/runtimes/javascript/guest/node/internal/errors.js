/** Errors with the codes and messages of Node.js. */

import { LINUX_ERRNO, strerror } from '../../../linux-errno.js';
import { defineHidden } from '../../define.js';
import { framesOf } from '../../error-stack.js';
import { inspect } from '../../inspect.js';

/** An error whose `code` is shown after its name, as in `TypeError [ERR_INVALID_ARG_TYPE]: …`. */
export function codedError(Base, code, message) {
  const error = new Base(message);
  Error.captureStackTrace?.(error, codedError);
  error.code = code;
  error.stack = `${error.name} [${code}]: ${message}\n${framesOf(error)}`.trimEnd();
  return defineHidden(error, {
    toString() {
      return `${this.name} [${code}]: ${this.message}`;
    },
  });
}

/** The error of what the sandbox does not have. The message names the alternative. */
export const unavailable = (message) => codedError(Error, 'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM', message);

/** Describes the value that a function received instead of what it expects. */
export function received(value) {
  if (value === null || value === undefined) return ` Received ${value}`;
  if (typeof value === 'function') return ` Received function ${value.name}`;
  if (typeof value === 'object') {
    if (value.constructor?.name) return ` Received an instance of ${value.constructor.name}`;
    return ` Received ${inspect(value, { depth: -1 })}`;
  }
  let text = inspect(value, { colors: false });
  if (text.length > 28) text = `${text.slice(0, 25)}...`;
  return ` Received type ${typeof value} (${text})`;
}

const TYPES = ['string', 'function', 'number', 'object', 'Function', 'Object', 'boolean', 'bigint', 'symbol'];

/** The name of a class, as opposed to a description. */
const CLASS = /^(?:[A-Z][a-z0-9]*)+$/;

function either(list, start) {
  if (list.length === 1) return `${start}${list[0]}`;
  if (list.length === 2) return `${start}${list[0]} or ${list[1]}`;
  return `${start}${list.slice(0, -1).join(', ')}, or ${list.at(-1)}`;
}

/** The error for an argument of the wrong type. `expected` is a type or class, or a list of them. */
export function invalidArgType(name, expected, actual) {
  const list = Array.isArray(expected) ? expected : [expected];
  const what = name.endsWith(' argument')
    ? `The ${name}`
    : `The "${name}" ${name.includes('.') ? 'property' : 'argument'}`;
  const types = list.filter((one) => TYPES.includes(one)).map((one) => one.toLowerCase());
  const classes = list.filter((one) => !TYPES.includes(one) && CLASS.test(one));
  const others = list.filter((one) => !TYPES.includes(one) && !CLASS.test(one));
  const parts = [];
  if (types.length > 0) parts.push(types.length > 1 ? either(types, 'one of type ') : `of type ${types[0]}`);
  if (classes.length > 0) parts.push(either(classes, 'an instance of '));
  if (others.length > 0)
    parts.push(
      others.length > 1
        ? either(others, 'one of ')
        : others[0].toLowerCase() !== others[0]
          ? `an ${others[0]}`
          : others[0],
    );
  return codedError(
    TypeError,
    'ERR_INVALID_ARG_TYPE',
    `${what} must be ${parts.join(' or ')}.${received(actual)}`,
  );
}

export function invalidArgValue(name, value, reason = 'is invalid') {
  let text = inspect(value);
  if (text.length > 128) text = `${text.slice(0, 128)}...`;
  const kind = name.includes('.') ? 'property' : 'argument';
  return codedError(TypeError, 'ERR_INVALID_ARG_VALUE', `The ${kind} '${name}' ${reason}. Received ${text}`);
}

export function outOfRange(name, range, value) {
  let text;
  if (Number.isInteger(value) && Math.abs(value) > 2 ** 32) text = grouped(String(value));
  else if (typeof value === 'bigint')
    text = `${value > 2n ** 32n || value < -(2n ** 32n) ? grouped(String(value)) : value}n`;
  else text = inspect(value);
  return codedError(
    RangeError,
    'ERR_OUT_OF_RANGE',
    `The value of "${name}" is out of range. It must be ${range}. Received ${text}`,
  );
}
const grouped = (text) => text.replace(/\d(?=(?:\d{3})+$)/g, '$&_');

export function validateFunction(value, name) {
  if (typeof value !== 'function') throw invalidArgType(name, 'function', value);
}
export function validateString(value, name) {
  if (typeof value !== 'string') throw invalidArgType(name, 'string', value);
}
export function validateNumber(value, name) {
  if (typeof value !== 'number') throw invalidArgType(name, 'number', value);
}
export function validateBoolean(value, name) {
  if (typeof value !== 'boolean') throw invalidArgType(name, 'boolean', value);
}
export function validateInteger(value, name, min = Number.MIN_SAFE_INTEGER, max = Number.MAX_SAFE_INTEGER) {
  validateNumber(value, name);
  if (!Number.isInteger(value)) throw outOfRange(name, 'an integer', value);
  if (value < min || value > max) throw outOfRange(name, `>= ${min} && <= ${max}`, value);
}
export function validateObject(value, name) {
  if (value === null || typeof value !== 'object' || Array.isArray(value))
    throw invalidArgType(name, 'Object', value);
}
export function validateAbortSignal(signal, name = 'options.signal') {
  if (signal !== undefined && (typeof signal !== 'object' || signal === null || !('aborted' in signal)))
    throw invalidArgType(name, 'AbortSignal', signal);
}

const CODES = new Map(Object.entries(LINUX_ERRNO).map(([code, errno]) => [errno, code]));
/** Messages of libuv where they differ from those of the C library. */
const MESSAGES = {
  ENOENT: 'no such file or directory',
  EEXIST: 'file already exists',
  EISDIR: 'illegal operation on a directory',
  ENOTDIR: 'not a directory',
  ENOTEMPTY: 'directory not empty',
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EBADF: 'bad file descriptor',
  EINVAL: 'invalid argument',
  EROFS: 'read-only file system',
  ENOSPC: 'no space left on device',
  EDQUOT: 'disk quota exceeded',
  ELOOP: 'too many symbolic links encountered',
  ENAMETOOLONG: 'name too long',
  EMFILE: 'too many open files',
  EXDEV: 'cross-device link not permitted',
  EFBIG: 'file too large',
  ESPIPE: 'invalid seek',
};

/** The error of a failed system call, as `fs` throws it. */
export function systemError(errno, syscall, path, dest) {
  const code = CODES.get(errno) ?? 'UNKNOWN';
  const message = MESSAGES[code] ?? strerror(errno).toLowerCase();
  const where = path === undefined ? '' : ` '${path}'${dest === undefined ? '' : ` -> '${dest}'`}`;
  const error = new Error(`${code}: ${message}, ${syscall}${where}`);
  Error.captureStackTrace?.(error, systemError);
  error.errno = -errno;
  error.code = code;
  error.syscall = syscall;
  if (path !== undefined) error.path = path;
  if (dest !== undefined) error.dest = dest;
  return error;
}

export class AbortError extends Error {
  constructor(message = 'The operation was aborted', options = undefined) {
    super(message, options);
    this.code = 'ABORT_ERR';
    this.name = 'AbortError';
  }
}
