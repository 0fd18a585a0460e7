/**
 * TextEncoder and TextDecoder of the Encoding Standard. UTF-16LE and windows-1252, to which the labels "latin1" and "ascii"
 * refer, are converted here; the host converts UTF-8 and all other encodings.
 */
import { host, MAX_DECODE_BYTES } from './host-calls.js';

const LABELS = {
  'utf-8': ['utf-8', 'utf8', 'unicode-1-1-utf-8', 'unicode11utf8', 'unicode20utf8', 'x-unicode20utf8'],
  'utf-16le': ['utf-16le', 'utf-16', 'ucs-2', 'iso-10646-ucs-2', 'unicode', 'unicodefeff', 'csunicode'],
  'windows-1252': [
    'windows-1252',
    'latin1',
    'iso-8859-1',
    'iso8859-1',
    'ascii',
    'us-ascii',
    'cp1252',
    'l1',
    'x-cp1252',
  ],
};
/** Bytes that one `decodeText` call accepts. */
const MAX_HOST_BYTES = 1 << 24;
const encodings = new Map(
  Object.entries(LABELS).flatMap(([name, labels]) => labels.map((label) => [label, name])),
);

/** Code points of the bytes 0x80 to 0x9F in windows-1252. */
const HIGH =
  '\u20ac\x81\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\x8d\u017d\x8f\x90\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\x9d\u017e\u0178';

export function encodeUtf8(text) {
  const buffer = host.encodeUtf8(text);
  if (typeof buffer === 'number') throw new RangeError('out of memory');
  return new Uint8Array(buffer);
}

/** The bytes of a BufferSource. */
function bytesOf(source) {
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  if (source instanceof ArrayBuffer || source instanceof SharedArrayBuffer) return new Uint8Array(source);
  throw new TypeError('The "input" argument must be an ArrayBuffer or a view of one');
}

/** The number of bytes at the end that may start an incomplete character. */
function incompleteBytes(bytes, end) {
  for (let back = 1; back <= 3 && back <= end; back++) {
    const byte = bytes[end - back];
    if (byte >= 0xc2 && byte <= 0xf4) {
      const needed = byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
      return needed > back && startsCharacter(bytes, end - back, back) ? back : 0;
    }
    if ((byte & 0xc0) !== 0x80) return 0;
  }
  return 0;
}

/** Whether the byte after a lead byte can be part of a valid character. */
function startsCharacter(bytes, at, length) {
  if (length < 2) return true;
  const lead = bytes[at];
  const second = bytes[at + 1];
  if (lead === 0xe0) return second >= 0xa0;
  if (lead === 0xed) return second <= 0x9f;
  if (lead === 0xf0) return second >= 0x90;
  return lead !== 0xf4 || second <= 0x8f;
}

function invalidData(encoding) {
  const error = new TypeError(`The encoded data was not valid for encoding ${encoding}`);
  return Object.assign(error, { code: 'ERR_ENCODING_INVALID_ENCODED_DATA' });
}

/** Decodes UTF-8 in chunks that do not split characters. */
export function decodeUtf8(bytes, fatal = false) {
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    let size = Math.min(MAX_DECODE_BYTES, bytes.length - at);
    if (at + size < bytes.length) size -= incompleteBytes(bytes.subarray(at, at + size), size);
    const chunk = host.decodeUtf8(bytes.buffer, bytes.byteOffset + at, size, fatal ? 1 : 0);
    if (typeof chunk === 'number') throw invalidData('utf-8');
    text += chunk;
    at += size;
  }
  return text;
}

function decodeUnits(bytes, unitAt, count) {
  let text = '';
  for (let at = 0; at < count; at += 4096) {
    const units = [];
    for (let i = at; i < Math.min(count, at + 4096); i++) units.push(unitAt(bytes, i));
    text += String.fromCharCode.apply(null, units);
  }
  return text;
}

const latinUnit = (bytes, i) =>
  bytes[i] >= 0x80 && bytes[i] < 0xa0 ? HIGH.charCodeAt(bytes[i] - 0x80) : bytes[i];
const wideUnit = (bytes, i) => bytes[2 * i] | (bytes[2 * i + 1] << 8);

/** Decodes with the tables of the host. */
function decodeOnHost(encoding, bytes, fatal) {
  if (bytes.length > MAX_HOST_BYTES)
    throw new RangeError(
      `Decode at most ${MAX_HOST_BYTES} bytes of ${encoding} at once, with { stream: true }`,
    );
  const text = host.decodeText(encoding, bytes.buffer, bytes.byteOffset, bytes.length, fatal ? 1 : 0);
  if (typeof text === 'number') throw invalidData(encoding);
  return text;
}

const isValidOnHost = (encoding, bytes) =>
  typeof host.decodeText(encoding, bytes.buffer, bytes.byteOffset, bytes.length, 1) === 'string';

/** An encoding of the host. Trailing bytes are held if the others are valid without them. */
const hostDecoder = (encoding) => ({
  held: (bytes) =>
    Math.max(
      0,
      [0, 1, 2, 3].findIndex((held) => isValidOnHost(encoding, bytes.subarray(0, bytes.length - held))),
    ),
  decode: (bytes, fatal) => decodeOnHost(encoding, bytes, fatal),
});

/** Decoders by encoding. `held` is the number of bytes at the end to keep for the next chunk of a stream. */
const DECODERS = {
  'utf-8': { held: (bytes) => incompleteBytes(bytes, bytes.length), decode: decodeUtf8 },
  'windows-1252': { held: () => 0, decode: (bytes) => decodeUnits(bytes, latinUnit, bytes.length) },
  'utf-16le': {
    held(bytes) {
      const odd = bytes.length % 2;
      const even = bytes.length - odd;
      const isHigh = even >= 2 && (bytes[even - 1] & 0xfc) === 0xd8;
      return odd + (isHigh ? 2 : 0);
    },
    decode(bytes, fatal) {
      const text = decodeUnits(bytes, wideUnit, bytes.length >> 1) + (bytes.length % 2 ? '\ufffd' : '');
      if (fatal && (bytes.length % 2 || !text.isWellFormed())) {
        throw invalidData('utf-16le');
      }
      return text.toWellFormed();
    },
  },
};

export class TextEncoder {
  get encoding() {
    return 'utf-8';
  }

  encode(text = '') {
    return encodeUtf8(String(text));
  }

  encodeInto(text, target) {
    let read = 0;
    let written = 0;
    for (const character of String(text)) {
      const bytes = encodeUtf8(character);
      if (written + bytes.length > target.length) break;
      target.set(bytes, written);
      written += bytes.length;
      read += character.length;
    }
    return { read, written };
  }

  get [Symbol.toStringTag]() {
    return 'TextEncoder';
  }
}

export class TextDecoder {
  #encoding;
  #fatal;
  #ignoreBOM;
  #held = new Uint8Array();
  #started = false;

  constructor(label = 'utf-8', { fatal = false, ignoreBOM = false } = {}) {
    const name = String(label).trim().toLowerCase();
    this.#encoding = encodings.get(name) ?? host.encodingOf(name);
    if (typeof this.#encoding === 'number') {
      const error = new RangeError(`The "${label}" encoding is not supported`);
      throw Object.assign(error, { code: 'ERR_ENCODING_NOT_SUPPORTED' });
    }
    this.#fatal = Boolean(fatal);
    this.#ignoreBOM = Boolean(ignoreBOM);
  }

  get encoding() {
    return this.#encoding;
  }

  get fatal() {
    return this.#fatal;
  }

  get ignoreBOM() {
    return this.#ignoreBOM;
  }

  decode(input = new Uint8Array(), { stream = false } = {}) {
    let bytes = bytesOf(input);
    if (this.#held.length > 0) {
      const joined = new Uint8Array(this.#held.length + bytes.length);
      joined.set(this.#held);
      joined.set(bytes, this.#held.length);
      bytes = joined;
    }
    const { held, decode } = DECODERS[this.#encoding] ?? hostDecoder(this.#encoding);
    const end = bytes.length - (stream ? held(bytes) : 0);
    this.#held = stream ? bytes.slice(end) : new Uint8Array();
    let text = decode(bytes.subarray(0, end), this.#fatal);
    if (
      !this.#started &&
      !this.#ignoreBOM &&
      text.charCodeAt(0) === 0xfeff &&
      this.#encoding.startsWith('utf-')
    ) {
      text = text.slice(1);
      this.#started = stream;
    } else {
      this.#started = stream && (this.#started || text !== '');
    }
    return text;
  }

  get [Symbol.toStringTag]() {
    return 'TextDecoder';
  }
}
