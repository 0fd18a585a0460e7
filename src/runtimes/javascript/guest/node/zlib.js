/** The module `zlib`: gzip, deflate and their inverses, which the host computes. Brotli is not available. */
import { host } from '../host-calls.js';
import { completeLater } from '../timers.js';
import { Buffer } from './buffer.js';
import {
  codedError,
  invalidArgType,
  outOfRange,
  validateFunction,
  validateNumber,
} from './internal/errors.js';
import { promisify } from './internal/promisify.js';
import { Transform } from './stream.js';

const constants = {
  Z_NO_FLUSH: 0,
  Z_PARTIAL_FLUSH: 1,
  Z_SYNC_FLUSH: 2,
  Z_FULL_FLUSH: 3,
  Z_FINISH: 4,
  Z_OK: 0,
  Z_STREAM_END: 1,
  Z_NEED_DICT: 2,
  Z_DATA_ERROR: -3,
  Z_BUF_ERROR: -5,
  Z_NO_COMPRESSION: 0,
  Z_BEST_SPEED: 1,
  Z_BEST_COMPRESSION: 9,
  Z_DEFAULT_COMPRESSION: -1,
  Z_FILTERED: 1,
  Z_HUFFMAN_ONLY: 2,
  Z_RLE: 3,
  Z_FIXED: 4,
  Z_DEFAULT_STRATEGY: 0,
  Z_MIN_WINDOWBITS: 8,
  Z_MAX_WINDOWBITS: 15,
  Z_DEFAULT_WINDOWBITS: 15,
};
/** Formats as the host numbers them: raw data, with a header of zlib, of gzip, or of one of these two. */
const [RAW, ZLIB, GZIP, EITHER] = [0, 1, 2, 3];
const CODES = {
  'unexpected end of file': 'Z_BUF_ERROR',
  'Missing dictionary': 'Z_NEED_DICT',
  'Bad dictionary': 'Z_NEED_DICT',
};
const MAX_LENGTH = Number.MAX_SAFE_INTEGER;
/** Options in the order in which the host expects them, with their ranges and defaults. */
const OPTIONS = [
  ['level', -1, 9, -1],
  ['windowBits', 8, 15, 15],
  ['memLevel', 1, 9, 8],
  ['strategy', 0, 4, 0],
  ['maxOutputLength', 1, MAX_LENGTH, MAX_LENGTH],
];
/** Sizes of the first buffer for expanded data. Most data fits; otherwise a second one has the exact size. */
const EXPANSION = 5;
const MIN_EXPANDED = 4096;

function bytesOf(data) {
  if (typeof data === 'string') return Buffer.from(data);
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  throw invalidArgType('buffer', ['string', 'Buffer', 'TypedArray', 'DataView', 'ArrayBuffer'], data);
}

function failure(message) {
  const code = CODES[message] ?? 'Z_DATA_ERROR';
  return Object.assign(new Error(message), { errno: constants[code], code });
}

function optionOf(options, [name, min, max, usual]) {
  const value = options?.[name];
  if (value === undefined || Number.isNaN(value)) return usual;
  validateNumber(value, `options.${name}`);
  // Zero leaves the window size to the header.
  if (name === 'windowBits' && value === 0) return usual;
  if (value >= min && value <= max) return Math.trunc(value);
  throw outOfRange(
    `options.${name}`,
    Number.isFinite(value) ? `>= ${min} and <= ${max}` : 'a finite number',
    value,
  );
}

/** Calls the host with the data and the options. */
function convert(call, data, format, options, result) {
  const { buffer, byteOffset, byteLength } = bytesOf(data);
  const settings = Float64Array.of(format, ...OPTIONS.map((option) => optionOf(options, option)));
  // As in zlib, only its own header allows the smallest window.
  if (call === host.deflate && format !== ZLIB) settings[2] = Math.max(9, settings[2]);
  const dictionary = options?.dictionary && bytesOf(options.dictionary).slice().buffer;
  const size = call(buffer, byteOffset, byteLength, settings.buffer, dictionary, result);
  if (size < 0) throw failure('invalid argument');
  return size;
}

function compress(format, data, options) {
  const { byteLength } = bytesOf(data);
  // Data that cannot be compressed becomes larger.
  const result = new ArrayBuffer(byteLength + (byteLength >>> 3) + (byteLength >>> 6) + 128);
  return Buffer.from(result.slice(0, convert(host.deflate, data, format, options, result)));
}

function expand(format, data, options) {
  const limit = optionOf(options, OPTIONS.at(-1));
  let result = new ArrayBuffer(Math.min(limit, Math.max(MIN_EXPANDED, EXPANSION * bytesOf(data).byteLength)));
  let size = convert(host.inflate, data, format, options, result);
  if (typeof size === 'string') throw failure(size);
  if (size > limit)
    throw codedError(RangeError, 'ERR_BUFFER_TOO_LARGE', `Cannot create a Buffer larger than ${limit} bytes`);
  if (size > result.byteLength) {
    result = undefined;
    result = new ArrayBuffer(size);
    size = convert(host.inflate, data, format, options, result);
  }
  return Buffer.from(size === result.byteLength ? result : result.slice(0, size));
}

const CALLS = {
  deflate: (data, options) => compress(ZLIB, data, options),
  deflateRaw: (data, options) => compress(RAW, data, options),
  gzip: (data, options) => compress(GZIP, data, options),
  inflate: (data, options) => expand(ZLIB, data, options),
  inflateRaw: (data, options) => expand(RAW, data, options),
  gunzip: (data, options) => expand(GZIP, data, options),
  unzip: (data, options) => expand(EITHER, data, options),
};
const CLASS_NAMES = {
  deflate: 'Deflate',
  deflateRaw: 'DeflateRaw',
  gzip: 'Gzip',
  inflate: 'Inflate',
  inflateRaw: 'InflateRaw',
  gunzip: 'Gunzip',
  unzip: 'Unzip',
};

/** A stream that converts its whole input at its end. */
function streamClass(call) {
  return class extends Transform {
    #chunks = [];
    #options;
    constructor(options = {}) {
      super();
      this.#options = options;
    }
    _transform(chunk, _encoding, callback) {
      this.#chunks.push(chunk);
      callback();
    }
    _flush(callback) {
      try {
        this.push(call(Buffer.concat(this.#chunks), this.#options));
        callback();
      } catch (error) {
        callback(error);
      }
    }
  };
}

let table;
function crc32(data, value = 0) {
  table ??= Array.from({ length: 256 }, (_, n) => {
    let c = n;
    for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
    return c;
  });
  let crc = ~value;
  for (const byte of bytesOf(data)) crc = table[(crc ^ byte) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}

const zlib = {
  constants,
  codes: { Z_OK: 0, Z_STREAM_END: 1, Z_NEED_DICT: 2, Z_DATA_ERROR: -3, Z_BUF_ERROR: -5 },
  crc32,
  ...constants,
};
for (const [name, call] of Object.entries(CALLS)) {
  const type = streamClass(call);
  Object.defineProperty(type, 'name', { value: CLASS_NAMES[name] });
  zlib[`${name}Sync`] = (data, options) => call(data, options);
  zlib[name] = (data, ...rest) => {
    const callback = rest.pop();
    validateFunction(callback, 'callback');
    const input = bytesOf(data);
    let values;
    try {
      values = [null, call(input, rest[0])];
    } catch (error) {
      values = [error];
    }
    completeLater(() => callback(...values));
  };
  zlib[CLASS_NAMES[name]] = type;
  zlib[`create${CLASS_NAMES[name]}`] = (options) => new type(options);
}
for (const name of [
  'brotliCompress',
  'brotliCompressSync',
  'brotliDecompress',
  'brotliDecompressSync',
  'createBrotliCompress',
  'createBrotliDecompress',
]) {
  zlib[name] = () => {
    throw codedError(
      Error,
      'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM',
      `zlib.${name} is not available in the sandbox. Use gzip or deflate.`,
    );
  };
}
zlib.promises = Object.fromEntries(Object.keys(CALLS).map((name) => [name, promisify(zlib[name])]));

export default zlib;
