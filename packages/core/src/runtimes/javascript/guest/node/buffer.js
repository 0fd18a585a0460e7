/** The module `buffer`: Buffer as a subclass of Uint8Array, and the encodings. */
import { defineHidden } from '../define.js';
import { customInspect, inspect } from '../inspect.js';
import { Blob, File } from './internal/blob.js';
import { addNumberMethods } from './internal/buffer-numbers.js';
import { decodeText, encodeText, encodingOf, textLength } from './internal/encodings.js';
import {
  codedError,
  invalidArgType,
  invalidArgValue,
  outOfRange,
  validateInteger,
  validateNumber,
  validateString,
} from './internal/errors.js';

const MAX_LENGTH = 2 ** 32;
const POOL_SIZE = 8192;
/** How many bytes `inspect` shows. Programs can change it. */
let shownBytes = 50;

function checkSize(size) {
  if (typeof size !== 'number') throw invalidArgType('size', 'number', size);
  if (!(size >= 0 && size <= MAX_LENGTH)) throw outOfRange('size', `>= 0 && <= ${MAX_LENGTH}`, size);
}

function checkEncoding(encoding) {
  const found = encodingOf(encoding);
  if (found === undefined)
    throw codedError(TypeError, 'ERR_UNKNOWN_ENCODING', `Unknown encoding: ${encoding}`);
  return found;
}

const isBytes = (value) => value instanceof Uint8Array;
const viewOf = (bytes) => new FastBuffer(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const clamp = (value, length, fallback) => {
  if (value === undefined) return fallback;
  const number = Math.trunc(Number(value)) || 0;
  return Math.max(0, Math.min(length, number));
};

class FastBuffer extends Uint8Array {
  // biome-ignore lint/complexity/noUselessConstructor: the species constructor passes arguments by position.
  constructor(value, offset, length) {
    super(value, offset, length);
  }
}

/** `Buffer` is also called without `new`, which a class does not allow. */
export function Buffer(value, encodingOrOffset, length) {
  if (typeof value === 'number') {
    if (typeof encodingOrOffset === 'string') throw invalidArgType('string', 'string', value);
    return Buffer.alloc(value);
  }
  return Buffer.from(value, encodingOrOffset, length);
}
Object.defineProperty(Buffer, Symbol.species, { get: () => FastBuffer, configurable: true });
Object.setPrototypeOf(Buffer, Uint8Array);
Buffer.prototype = FastBuffer.prototype;
defineHidden(FastBuffer.prototype, { constructor: Buffer });

const FROM_TYPES = ['string', 'Buffer', 'ArrayBuffer', 'Array'];
function cannotConvert(value) {
  const error = invalidArgType('first argument', 'string', value);
  const received = error.message.slice(error.message.indexOf(' Received'));
  return codedError(
    TypeError,
    'ERR_INVALID_ARG_TYPE',
    `The first argument must be of type string or an instance of ${FROM_TYPES.slice(1, -1).join(', ')}, or ${FROM_TYPES.at(-1)} or an Array-like Object.${received}`,
  );
}

function fromString(text, encoding) {
  const found =
    encoding === undefined || encoding === '' || typeof encoding !== 'string'
      ? 'utf8'
      : checkEncoding(encoding);
  return viewOf(encodeText(text, found));
}

function fromArrayBuffer(buffer, offset = 0, length = undefined) {
  const start = Number(offset) || 0;
  if (start > buffer.byteLength)
    throw codedError(RangeError, 'ERR_BUFFER_OUT_OF_BOUNDS', '"offset" is outside of buffer bounds');
  const size = length === undefined ? buffer.byteLength - start : Math.max(0, Number(length) || 0);
  if (start + size > buffer.byteLength)
    throw codedError(RangeError, 'ERR_BUFFER_OUT_OF_BOUNDS', '"length" is outside of buffer bounds');
  return new FastBuffer(buffer, start, size);
}

function fromObject(value) {
  if (isBytes(value)) return FastBuffer.from(value);
  if (typeof value.length === 'number' || Array.isArray(value)) {
    const length = Math.max(0, Number.isFinite(value.length) ? value.length : 0);
    checkSize(length);
    const buffer = new FastBuffer(length);
    for (let i = 0; i < length; i++) buffer[i] = value[i];
    return buffer;
  }
  if (value.buffer instanceof ArrayBuffer || value.buffer instanceof SharedArrayBuffer)
    return new FastBuffer(0);
  if (value.type === 'Buffer' && Array.isArray(value.data)) return fromObject(value.data);
  return undefined;
}

Buffer.from = function from(value, encodingOrOffset, length) {
  if (typeof value === 'string') return fromString(value, encodingOrOffset);
  if (typeof value === 'object' && value !== null) {
    if (value instanceof ArrayBuffer || value instanceof SharedArrayBuffer)
      return fromArrayBuffer(value, encodingOrOffset, length);
    const primitive = typeof value.valueOf === 'function' ? value.valueOf() : undefined;
    if (
      primitive !== undefined &&
      primitive !== null &&
      primitive !== value &&
      ['string', 'object'].includes(typeof primitive)
    )
      return from(primitive, encodingOrOffset, length);
    const found = fromObject(value);
    if (found !== undefined) return found;
    if (typeof value[Symbol.toPrimitive] === 'function') {
      const text = value[Symbol.toPrimitive]('string');
      if (typeof text === 'string') return fromString(text, encodingOrOffset);
    }
  }
  throw cannotConvert(value);
};
Buffer.of = (...items) => fromObject(items);
Buffer.copyBytesFrom = (view, offset = 0, length = undefined) => {
  const part = view.subarray(offset, length === undefined ? undefined : offset + length);
  return viewOf(new Uint8Array(part.buffer.slice(part.byteOffset, part.byteOffset + part.byteLength)));
};
Buffer.alloc = (size, fill = undefined, encoding = undefined) => {
  checkSize(size);
  const buffer = new FastBuffer(size);
  return fill === undefined || fill === 0 ? buffer : buffer.fill(fill, encoding);
};
Buffer.allocUnsafe = (size) => {
  checkSize(size);
  return new FastBuffer(size);
};
Buffer.allocUnsafeSlow = Buffer.allocUnsafe;
Buffer.isBuffer = (value) => value instanceof Buffer;
Buffer.isEncoding = (encoding) =>
  typeof encoding === 'string' && encoding !== '' && encodingOf(encoding) !== undefined;
Buffer.poolSize = POOL_SIZE;
Buffer.byteLength = (value, encoding = 'utf8') => {
  if (typeof value === 'string') return textLength(value, encodingOf(encoding) ?? 'utf8');
  if (ArrayBuffer.isView(value) || value instanceof ArrayBuffer || value instanceof SharedArrayBuffer)
    return value.byteLength;
  throw invalidArgType('string', ['string', 'Buffer', 'ArrayBuffer'], value);
};
Buffer.compare = (a, b) => {
  if (!isBytes(a)) throw invalidArgType('buf1', ['Buffer', 'Uint8Array'], a);
  if (!isBytes(b)) throw invalidArgType('buf2', ['Buffer', 'Uint8Array'], b);
  return compareBytes(a, b);
};
Buffer.concat = (list, length = undefined) => {
  if (!Array.isArray(list)) throw invalidArgType('list', 'Array', list);
  if (list.length === 0) return new FastBuffer(0);
  const total = length ?? list.reduce((sum, item) => sum + (item?.length ?? 0), 0);
  const joined = Buffer.allocUnsafe(total);
  let at = 0;
  list.forEach((item, i) => {
    if (!isBytes(item)) throw invalidArgType(`list[${i}]`, ['Buffer', 'Uint8Array'], item);
    const part = at + item.length > total ? item.subarray(0, Math.max(0, total - at)) : item;
    joined.set(part, at);
    at += part.length;
  });
  return joined;
};

function compareBytes(a, b) {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
  return Math.sign(a.length - b.length);
}

function needleOf(value, encoding) {
  if (typeof value === 'string') return encodeText(value, checkEncoding(encoding ?? 'utf8'));
  if (isBytes(value)) return value;
  if (typeof value === 'number') return new Uint8Array([value & 255]);
  throw invalidArgType('value', ['number', 'string', 'Buffer', 'Uint8Array'], value);
}

/** The position of `needle`, searched forwards or backwards from `start`. */
function search(bytes, needle, start, step) {
  for (let at = start; at >= 0 && at <= bytes.length - needle.length; at += step) {
    let i = 0;
    while (i < needle.length && bytes[at + i] === needle[i]) i++;
    if (i === needle.length) return at;
  }
  return -1;
}

function find(bytes, value, byteOffset, encoding, isLast) {
  let offset = byteOffset;
  let name = encoding;
  if (typeof offset === 'string') [offset, name] = [undefined, offset];
  const needle = needleOf(value, name);
  if (encodingOf(name) === 'utf16le' && needle.length < 2 && typeof value === 'object') return -1;
  let start = Number(offset);
  if (Number.isNaN(start) || offset === undefined) start = isLast ? bytes.length : 0;
  start = Math.trunc(start);
  if (start < 0) start += bytes.length;
  if (!isLast) {
    if (needle.length === 0) return Math.min(Math.max(start, 0), bytes.length);
    return search(bytes, needle, Math.max(0, start), 1);
  }
  return start < 0 ? -1 : search(bytes, needle, Math.min(start, bytes.length - needle.length), -1);
}

/** Applies to `toString(encoding, start, end)` of each encoding. */
function toText(bytes, encoding, start, end) {
  const from = clamp(start, bytes.length, 0);
  const to = clamp(end, bytes.length, bytes.length);
  if (to <= from) return '';
  return decodeText(bytes.subarray(from, to), encoding === undefined ? 'utf8' : checkEncoding(encoding));
}

const methods = {
  toString(encoding, start, end) {
    return toText(this, encoding, start, end);
  },
  toLocaleString(encoding, start, end) {
    return toText(this, encoding, start, end);
  },
  toJSON() {
    return { type: 'Buffer', data: Array.from(this) };
  },
  equals(other) {
    if (!isBytes(other)) throw invalidArgType('otherBuffer', ['Buffer', 'Uint8Array'], other);
    return this.length === other.length && compareBytes(this, other) === 0;
  },
  compare(target, targetStart = 0, targetEnd = target?.length, start = 0, end = this.length) {
    if (!isBytes(target)) throw invalidArgType('target', ['Buffer', 'Uint8Array'], target);
    validateInteger(targetStart, 'targetStart', 0);
    validateInteger(targetEnd, 'targetEnd', 0, target.length);
    validateInteger(start, 'sourceStart', 0);
    validateInteger(end, 'sourceEnd', 0, this.length);
    return compareBytes(this.subarray(start, end), target.subarray(targetStart, targetEnd));
  },
  indexOf(value, byteOffset, encoding) {
    return find(this, value, byteOffset, encoding, false);
  },
  lastIndexOf(value, byteOffset, encoding) {
    return find(this, value, byteOffset, encoding, true);
  },
  includes(value, byteOffset, encoding) {
    return find(this, value, byteOffset, encoding, false) >= 0;
  },
  subarray(start, end) {
    return viewOf(
      Uint8Array.prototype.subarray.call(
        new Uint8Array(this.buffer, this.byteOffset, this.length),
        start,
        end,
      ),
    );
  },
  slice(start, end) {
    return this.subarray(start, end);
  },
  copy(target, targetOffset = 0, sourceOffset = 0, sourceLimit = this.length) {
    const [targetStart, sourceStart, sourceEnd] = [targetOffset, sourceOffset, sourceLimit].map(
      (one) => Math.trunc(Number(one)) || 0,
    );
    if (!ArrayBuffer.isView(target)) throw invalidArgType('target', ['Buffer', 'Uint8Array'], target);
    if (sourceStart < 0 || sourceStart > this.length)
      throw outOfRange('sourceStart', `>= 0 && <= ${this.length}`, sourceStart);
    if (targetStart < 0) throw outOfRange('targetStart', '>= 0', targetStart);
    if (sourceEnd < 0) throw outOfRange('sourceEnd', '>= 0', sourceEnd);
    const room = Math.max(0, target.length - targetStart);
    const part = this.subarray(sourceStart, Math.min(sourceEnd, sourceStart + room));
    if (part.length > 0) target.set(part, targetStart);
    return part.length;
  },
  write(string, offset, length, encoding) {
    validateString(string, 'argument');
    let [at, count, name] = [offset, length, encoding];
    if (typeof at === 'string') [at, count, name] = [0, undefined, at];
    else if (typeof count === 'string') [count, name] = [undefined, count];
    const start = at === undefined ? 0 : Number(at);
    if (start < 0 || start > this.length) throw outOfRange('offset', `>= 0 && <= ${this.length}`, at);
    const room = Math.min(count ?? this.length, this.length - start);
    const found = name === undefined ? 'utf8' : checkEncoding(name);
    let bytes = encodeText(string, found);
    if (bytes.length > room)
      bytes = bytes.subarray(
        0,
        found === 'utf8' ? wholeCharacters(bytes, room) : found === 'utf16le' ? room & ~1 : room,
      );
    this.set(bytes, start);
    return bytes.length;
  },
  fill(value, offset, end, encoding) {
    let [from, to, name] = [offset, end, encoding];
    if (typeof from === 'string') [from, to, name] = [undefined, undefined, from];
    else if (typeof to === 'string') [to, name] = [undefined, to];
    const start = from ?? 0;
    const stop = to ?? this.length;
    if (start < 0 || start > this.length) throw outOfRange('offset', `>= 0 && <= ${this.length}`, start);
    if (stop < 0 || stop > this.length) throw outOfRange('end', `>= 0 && <= ${this.length}`, stop);
    if (typeof value === 'string' || isBytes(value)) {
      const pattern = typeof value === 'string' ? encodeText(value, checkEncoding(name ?? 'utf8')) : value;
      if (pattern.length === 0) {
        if (typeof value === 'string' && value === '') Uint8Array.prototype.fill.call(this, 0, start, stop);
        else throw invalidArgValue('value', value);
      } else for (let i = start; i < stop; i++) this[i] = pattern[(i - start) % pattern.length];
      return this;
    }
    Uint8Array.prototype.fill.call(this, typeof value === 'boolean' ? +value : value & 255, start, stop);
    return this;
  },
  [customInspect](_depth, options) {
    let text = Array.from(this.subarray(0, shownBytes), (byte) => byte.toString(16).padStart(2, '0')).join(
      ' ',
    );
    const rest = this.length - shownBytes;
    if (rest > 0) text += ` ... ${rest} more byte${rest > 1 ? 's' : ''}`;
    const keys = Object.keys(this).filter((key) => !/^\d+$/.test(key));
    if (keys.length > 0) {
      const extras = Object.fromEntries(keys.map((key) => [key, this[key]]));
      text += `${this.length > 0 ? ', ' : ''}${inspect(extras, { ...options, breakLength: Number.POSITIVE_INFINITY, compact: true }).slice(2, -2)}`;
    }
    return `<${this.constructor.name} ${text}>`.replace(
      ' >',
      this.length === 0 && keys.length === 0 ? ' >' : '>',
    );
  },
};

/** The number of bytes up to `room` that contains only whole characters. */
function wholeCharacters(bytes, room) {
  let end = room;
  while (end > 0 && (bytes[end] & 0xc0) === 0x80) end--;
  return end;
}

function swap(size) {
  return function swapBytes() {
    if (this.length % size !== 0) {
      throw codedError(
        RangeError,
        'ERR_INVALID_BUFFER_SIZE',
        `Buffer size must be a multiple of ${size * 8}-bits`,
      );
    }
    for (let at = 0; at < this.length; at += size) this.subarray(at, at + size).reverse();
    return this;
  };
}
Object.assign(methods, { swap16: swap(2), swap32: swap(4), swap64: swap(8) });
for (const encoding of ['ascii', 'base64', 'base64url', 'hex', 'latin1', 'ucs2', 'utf8']) {
  methods[`${encoding}Slice`] = function slice(start, end) {
    return toText(this, encoding, start, end);
  };
  methods[`${encoding}Write`] = function write(string, offset, length) {
    return this.write(string, offset, length, encoding);
  };
}
defineHidden(Buffer.prototype, methods);
addNumberMethods(Buffer.prototype);
export const constants = { MAX_LENGTH, MAX_STRING_LENGTH: 536_870_888 };

export default {
  Blob,
  File,
  Buffer,
  SlowBuffer: Buffer.allocUnsafe,
  get INSPECT_MAX_BYTES() {
    return shownBytes;
  },
  set INSPECT_MAX_BYTES(count) {
    validateNumber(count, 'INSPECT_MAX_BYTES');
    if (!(count >= 0)) throw outOfRange('INSPECT_MAX_BYTES', '>= 0', count);
    shownBytes = count;
  },
  atob: globalThis.atob,
  btoa: globalThis.btoa,
  constants,
  kMaxLength: MAX_LENGTH,
  kStringMaxLength: constants.MAX_STRING_LENGTH,
  transcode: (source, from, to) => Buffer.from(Buffer.from(source).toString(from), to),
};
