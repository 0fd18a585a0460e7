/** The module `zlib`: gzip, deflate and their inverses, with pako. Brotli is not available. */
import { deflate, deflateRaw, gzip, Inflate } from 'pako';
import { completeLater } from '../timers.js';
import { Buffer } from './buffer.js';
import { codedError, invalidArgType, validateFunction } from './internal/errors.js';
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
const COMPRESSORS = { deflate, deflateRaw, gzip };
/** Byte of the header of gzip that names the operating system: Unix. */
const OS_BYTE = 9;
const CODES = {
  'incorrect header check': 'Z_DATA_ERROR',
  'unexpected end of file': 'Z_BUF_ERROR',
};

function bytesOf(data) {
  if (typeof data === 'string') return new Uint8Array(Buffer.from(data));
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  throw invalidArgType('buffer', ['string', 'Buffer', 'TypedArray', 'DataView', 'ArrayBuffer'], data);
}

function failure(cause) {
  const message = typeof cause === 'string' ? cause : (cause?.message ?? String(cause));
  const code = CODES[message] ?? 'Z_DATA_ERROR';
  return Object.assign(new Error(message), { errno: constants[code], code });
}

function optionsOf(options = {}) {
  const { level, windowBits, memLevel, strategy, dictionary } = options ?? {};
  const given = { level, windowBits, memLevel, strategy, dictionary: dictionary && bytesOf(dictionary) };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
}

function compress(name, data, options) {
  const bytes = COMPRESSORS[name](bytesOf(data), optionsOf(options));
  if (name === 'gzip') bytes[OS_BYTE] = 3;
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** pako reports input that ends too early as a full buffer. */
function messageOf({ err, msg }) {
  return err === constants.Z_BUF_ERROR ? 'unexpected end of file' : msg || 'incorrect header check';
}

function expand(name, data, options) {
  const input = bytesOf(data);
  const inflater = new Inflate({
    ...optionsOf(options),
    ...(name === 'inflateRaw' && { raw: true }),
    ...(name === 'ungzip' && { windowBits: 15 + 32 }),
  });
  inflater.push(input, true);
  if (inflater.err) throw failure(messageOf(inflater));
  if (!inflater.ended || inflater.result === undefined) throw failure('unexpected end of file');
  const { result } = inflater;
  if (options?.maxOutputLength !== undefined && result.length > options.maxOutputLength) {
    throw codedError(
      RangeError,
      'ERR_BUFFER_TOO_LARGE',
      `Cannot create a Buffer larger than ${options.maxOutputLength} bytes`,
    );
  }
  return Buffer.from(result.buffer, result.byteOffset, result.byteLength);
}

const CALLS = {
  deflate: (data, options) => compress('deflate', data, options),
  deflateRaw: (data, options) => compress('deflateRaw', data, options),
  gzip: (data, options) => compress('gzip', data, options),
  inflate: (data, options) => expand('inflate', data, options),
  inflateRaw: (data, options) => expand('inflateRaw', data, options),
  gunzip: (data, options) => expand('ungzip', data, options),
  unzip: (data, options) => expand('ungzip', data, options),
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
  codes: { Z_OK: 0, Z_STREAM_END: 1, Z_DATA_ERROR: -3, Z_BUF_ERROR: -5 },
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
