/** The module `zlib`: gzip, deflate and their inverses, which the host computes. Brotli is not available. */
import { host } from '../host-calls.js';
import { completeLater } from '../timers.js';
import { Buffer } from './buffer.js';
import {
  codedError,
  invalidArgType,
  outOfRange,
  unavailable,
  validateFunction,
  validateInteger,
  validateNumber,
} from './internal/errors.js';
import { promisify } from './internal/promisify.js';
import { finished, Transform } from './stream.js';

/** The names of consecutive constants from a number on. */
const numbered = (first, names) => names.split(' ').map((name, i) => [`Z_${name}`, first + i]);
const constants = Object.fromEntries([
  ...numbered(0, 'NO_FLUSH PARTIAL_FLUSH SYNC_FLUSH FULL_FLUSH FINISH BLOCK'),
  ...numbered(0, 'OK STREAM_END NEED_DICT'),
  ...numbered(-6, 'VERSION_ERROR BUF_ERROR MEM_ERROR DATA_ERROR STREAM_ERROR ERRNO').reverse(),
  ...[...numbered(0, 'NO_COMPRESSION BEST_SPEED'), ['Z_BEST_COMPRESSION', 9], ['Z_DEFAULT_COMPRESSION', -1]],
  ...[...numbered(1, 'FILTERED HUFFMAN_ONLY RLE FIXED'), ['Z_DEFAULT_STRATEGY', 0]],
  ...[['Z_MIN_WINDOWBITS', 8], ...['MAX', 'DEFAULT'].map((name) => [`Z_${name}_WINDOWBITS`, 15])],
  ...[
    ['Z_MIN_CHUNK', 64],
    ['Z_MAX_CHUNK', Number.POSITIVE_INFINITY],
    ['Z_DEFAULT_CHUNK', 16384],
  ],
  ...[
    ['Z_MIN_MEMLEVEL', 1],
    ['Z_MAX_MEMLEVEL', 9],
    ['Z_DEFAULT_MEMLEVEL', 8],
  ],
  ...[
    ['Z_MIN_LEVEL', -1],
    ['Z_MAX_LEVEL', 9],
    ['Z_DEFAULT_LEVEL', -1],
  ],
]);
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

/** A number within a range; the usual value if there is none. `max` may be infinite. */
function rangeOption(name, value, [min, max, usual]) {
  if (value === undefined || Number.isNaN(value)) return usual;
  validateNumber(value, name);
  if (Number.isFinite(value) && value >= min && value <= max) return Math.trunc(value);
  const range = max === Number.POSITIVE_INFINITY ? `>= ${min}` : `>= ${min} and <= ${max}`;
  throw outOfRange(name, Number.isFinite(value) ? range : 'a finite number', value);
}

function optionOf(options, [name, min, max, usual]) {
  return rangeOption(`options.${name}`, options?.[name], [min, max, usual]);
}

/** Options of streams that the conversion does not need. */
const STREAM_OPTIONS = [
  ['chunkSize', 64, Number.POSITIVE_INFINITY, 16384],
  ['flush', 0, 5, 0],
  ['finishFlush', 0, 5, 4],
];

/** Throws if an option of a conversion is invalid, and returns the options with their values. */
function checkOptions(options, format, isExpanding) {
  if (options === null || typeof options !== 'object') return checkOptions({}, format, isExpanding);
  const checked = { ...options };
  for (const option of [...STREAM_OPTIONS, ...OPTIONS]) {
    const [name, min, ...rest] = option;
    const isWindow = name === 'windowBits';
    // Zero leaves the window size to the header. Only the header of zlib allows the smallest window.
    if (isWindow && isExpanding && !options.windowBits) checked.windowBits = 15;
    else checked[name] = optionOf(options, [name, isWindow && format === GZIP ? 9 : min, ...rest]);
  }
  const { dictionary } = options;
  if (dictionary !== undefined && !ArrayBuffer.isView(dictionary) && !(dictionary instanceof ArrayBuffer))
    throw invalidArgType(
      'options.dictionary',
      ['Buffer', 'TypedArray', 'DataView', 'ArrayBuffer'],
      dictionary,
    );
  return checked;
}

/** Calls the host with the data and the options. */
function convert(call, data, format, options, result) {
  const { buffer, byteOffset, byteLength } = bytesOf(data);
  const checked = checkOptions(options, format, call === host.inflate);
  const settings = Float64Array.of(format, ...OPTIONS.map(([name]) => checked[name]));
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
  deflate: ['Deflate', compress, ZLIB],
  deflateRaw: ['DeflateRaw', compress, RAW],
  gzip: ['Gzip', compress, GZIP],
  inflate: ['Inflate', expand, ZLIB],
  inflateRaw: ['InflateRaw', expand, RAW],
  gunzip: ['Gunzip', expand, GZIP],
  unzip: ['Unzip', expand, EITHER],
};

/** The methods of all streams of this module. A stream converts its whole input at its end. */
function ZlibBase(options, format, isExpanding) {
  const checked = checkOptions(options, format, isExpanding);
  Transform.call(this, { autoDestroy: true, ...options, objectMode: false, encoding: null });
  this._handle = { chunks: [] };
  this._chunkSize = checked.chunkSize;
  this._level = checked.level;
  this._strategy = checked.strategy;
  this._options = checked;
  this.bytesWritten = 0;
}
Object.setPrototypeOf(ZlibBase, Transform);
ZlibBase.prototype = Object.create(Transform.prototype, {
  constructor: { value: ZlibBase, configurable: true, writable: true },
  _closed: {
    configurable: true,
    get() {
      return this._handle === null;
    },
  },
  bytesRead: {
    configurable: true,
    get() {
      return this.bytesWritten;
    },
    set(value) {
      this.bytesWritten = value;
    },
  },
});
Object.assign(ZlibBase.prototype, {
  _transform(chunk, _encoding, callback) {
    this._handle?.chunks.push(chunk);
    this.bytesWritten += chunk.byteLength;
    callback();
  },
  _flush(callback) {
    if (this._handle === null) return callback();
    try {
      const result = this._convert(Buffer.concat(this._handle.chunks));
      for (let at = 0; at < result.length; at += this._chunkSize)
        this.push(result.subarray(at, at + this._chunkSize));
    } catch (error) {
      return callback(error);
    }
    return callback();
  },
  _destroy(error, callback) {
    this._handle = null;
    callback(error);
  },
  /** Calls back when what was written before is processed. All output comes at the end. */
  flush(kind, callback) {
    const done = typeof kind === 'function' ? kind : callback;
    if (this.writableEnded) {
      if (done !== undefined) globalThis.process.nextTick(done);
    } else this.write(Buffer.alloc(0), '', done);
  },
  close(callback) {
    if (callback !== undefined) finished(this, callback);
    this.destroy();
  },
});

/** The class of a stream, which programs may call without `new`. */
function streamClass(name, convertAll, format) {
  function Stream(options) {
    if (!(this instanceof Stream)) return new Stream(options);
    ZlibBase.call(this, options, format, convertAll === expand);
    return this;
  }
  Object.setPrototypeOf(Stream, ZlibBase);
  Stream.prototype = Object.create(ZlibBase.prototype, {
    constructor: { value: Stream, configurable: true, writable: true },
    _convert: {
      value(data) {
        return convertAll(format, data, this._options);
      },
    },
  });
  Object.defineProperty(Stream, 'name', { value: name });
  return Stream;
}

let table;
function crc32(data, value = 0) {
  if (typeof data !== 'string' && !ArrayBuffer.isView(data))
    throw invalidArgType('data', ['string', 'Buffer', 'TypedArray', 'DataView'], data);
  validateInteger(value, 'value', 0, 0xffffffff);
  table ??= Array.from({ length: 256 }, (_, n) => {
    let c = n;
    for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
    return c;
  });
  let crc = ~value;
  for (const byte of bytesOf(data)) crc = table[(crc ^ byte) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}

const CODE_NAMES =
  'OK STREAM_END NEED_DICT ERRNO STREAM_ERROR DATA_ERROR MEM_ERROR BUF_ERROR VERSION_ERROR'.split(' ');
const codes = {};
for (const name of CODE_NAMES.map((one) => `Z_${one}`)) {
  codes[name] = constants[name];
  codes[constants[name]] = name;
}

const zlib = { crc32, ...constants };
const fixed = { enumerable: true, configurable: false, writable: false };
Object.defineProperty(zlib, 'constants', { ...fixed, value: Object.freeze(constants) });
Object.defineProperty(zlib, 'codes', { ...fixed, value: Object.freeze(codes) });
for (const [name, [className, convertAll, format]] of Object.entries(CALLS)) {
  const type = streamClass(className, convertAll, format);
  const call = (data, options) => {
    const buffer = convertAll(format, data, options);
    return options?.info ? { buffer, engine: new type(options) } : buffer;
  };
  zlib[`${name}Sync`] = (data, options) => call(data, options);
  zlib[name] = (data, ...rest) => {
    const callback = rest.pop();
    validateFunction(callback, 'callback');
    const input = bytesOf(data);
    // Options that are invalid are an error of the call, not of the conversion.
    checkOptions(rest[0], format, convertAll === expand);
    let values;
    try {
      values = [null, call(input, rest[0])];
    } catch (error) {
      values = [error];
    }
    completeLater(() => callback(...values));
  };
  zlib[className] = type;
  zlib[`create${className}`] = (options) => new type(options);
}
const BROTLI =
  'brotliCompress brotliCompressSync brotliDecompress brotliDecompressSync createBrotliCompress createBrotliDecompress';
for (const name of BROTLI.split(' ')) {
  zlib[name] = () => {
    throw unavailable(`zlib.${name} is not available in the sandbox. Use gzip or deflate.`);
  };
}
zlib.promises = Object.fromEntries(Object.keys(CALLS).map((name) => [name, promisify(zlib[name])]));

export default zlib;
