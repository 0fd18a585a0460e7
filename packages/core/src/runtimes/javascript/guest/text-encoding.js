/**
 * TextEncoder and TextDecoder of the Encoding Standard. UTF-16 and windows-1252, to which the labels "latin1" and "ascii" refer, are
 * converted here. The host converts UTF-8, and a package the other encodings.
 */
import { host, MAX_DECODE_BYTES } from './host-calls.js';
import { load } from './node-modules.js';

const LABELS = {
  'utf-8': 'utf-8 utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8',
  'utf-16le': 'utf-16le utf-16 ucs-2 iso-10646-ucs-2 unicode unicodefeff csunicode',
  'utf-16be': 'utf-16be unicodefffe',
  'windows-1252':
    'windows-1252 latin1 iso-8859-1 iso8859-1 iso88591 iso_8859-1 iso_8859-1:1987 iso-ir-100 csisolatin1 ascii us-ascii ansi_x3.4-1968 cp1252 x-cp1252 cp819 ibm819 l1',
};
const encodings = new Map(
  Object.entries(LABELS).flatMap(([name, labels]) => labels.split(' ').map((label) => [label, name])),
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

export const heldUtf8 = (bytes) => incompleteBytes(bytes, bytes.length);

/** Decodes on the host in pieces of limited size. Incomplete characters at the end of a piece are part of the next one. */
export function decodeUtf8(bytes, fatal = false) {
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    let piece = bytes.subarray(at, at + MAX_DECODE_BYTES);
    if (at + piece.length < bytes.length) piece = piece.subarray(0, piece.length - heldUtf8(piece));
    const decoded = host.decodeUtf8(piece.buffer, piece.byteOffset, piece.length, fatal ? 1 : 0);
    if (typeof decoded === 'number') throw invalidData('utf-8');
    text += decoded;
    at += piece.length;
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
const swappedUnit = (bytes, i) => (bytes[2 * i] << 8) | bytes[2 * i + 1];

/** UTF-16, of which `unitAt` reads a code unit. `high` is the position of the more significant byte in a unit. */
const wideDecoder = (name, unitAt, high) => ({
  held(bytes) {
    const odd = bytes.length % 2;
    const even = bytes.length - odd;
    const isHigh = even >= 2 && (bytes[even - 2 + high] & 0xfc) === 0xd8;
    return odd + (isHigh ? 2 : 0);
  },
  decode(bytes, fatal) {
    const text = decodeUnits(bytes, unitAt, bytes.length >> 1) + (bytes.length % 2 ? '\ufffd' : '');
    if (fatal && (bytes.length % 2 || !text.isWellFormed())) throw invalidData(name);
    return text.toWellFormed();
  },
});

/** Decoders by encoding. `held` is the number of bytes at the end to keep for the next chunk of a stream. */
const DECODERS = {
  'utf-8': { held: heldUtf8, decode: decodeUtf8 },
  'windows-1252': { held: () => 0, decode: (bytes) => decodeUnits(bytes, latinUnit, bytes.length) },
  'utf-16le': wideDecoder('utf-16le', wideUnit, 1),
  'utf-16be': wideDecoder('utf-16be', swappedUnit, 0),
};

/** The package asks the global TextDecoder first, which must not ask the package. */
let isInPackage = false;

/** A decoder of the package for a label that is not in LABELS. */
function legacyDecoder(label, options) {
  const { createDecoder } = load('node:internal/legacy-encodings');
  try {
    if (isInPackage) throw new RangeError();
    return createDecoder(label, options);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    const failure = new RangeError(`The "${label}" encoding is not supported`);
    throw Object.assign(failure, { code: 'ERR_ENCODING_NOT_SUPPORTED' });
  }
}

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
  #decoder;
  #legacy;
  #fatal;
  #ignoreBOM;
  #held = new Uint8Array();
  #started = false;

  constructor(label = 'utf-8', { fatal = false, ignoreBOM = false } = {}) {
    this.#fatal = Boolean(fatal);
    this.#ignoreBOM = Boolean(ignoreBOM);
    const name = String(label).trim().toLowerCase();
    this.#encoding = encodings.get(name);
    this.#decoder = DECODERS[this.#encoding];
    if (this.#decoder !== undefined) return;
    this.#legacy = legacyDecoder(name, { fatal: this.#fatal });
    this.#encoding = this.#legacy.encoding;
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
    if (this.#legacy !== undefined) return this.#decodeLegacy(bytes, stream);
    if (this.#held.length > 0) {
      const joined = new Uint8Array(this.#held.length + bytes.length);
      joined.set(this.#held);
      joined.set(bytes, this.#held.length);
      bytes = joined;
    }
    const { held, decode } = this.#decoder;
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

  #decodeLegacy(bytes, stream) {
    isInPackage = true;
    try {
      return this.#legacy.decode(bytes, { stream });
    } catch (error) {
      throw error instanceof TypeError ? invalidData(this.#encoding) : error;
    } finally {
      isInPackage = false;
    }
  }

  get [Symbol.toStringTag]() {
    return 'TextDecoder';
  }
}
