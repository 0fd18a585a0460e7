/** The encodings of Buffer: text to bytes and back. */
import { decodeUtf8, encodeUtf8 } from '../../text-encoding.js';

const NAMES = {
  utf8: 'utf8',
  'utf-8': 'utf8',
  hex: 'hex',
  ascii: 'ascii',
  latin1: 'latin1',
  binary: 'latin1',
  base64: 'base64',
  base64url: 'base64url',
  ucs2: 'utf16le',
  'ucs-2': 'utf16le',
  utf16le: 'utf16le',
  'utf-16le': 'utf16le',
};
/** Characters that String.fromCharCode receives at once. */
const CHUNK = 8192;

export function encodingOf(name) {
  if (name === undefined || name === null) return 'utf8';
  const lower = String(name).toLowerCase();
  return Object.hasOwn(NAMES, lower) ? NAMES[lower] : undefined;
}

function fromCodes(codes) {
  let text = '';
  for (let at = 0; at < codes.length; at += CHUNK)
    text += String.fromCharCode.apply(null, codes.subarray(at, at + CHUNK));
  return text;
}

/** Base64 as lenient as Node.js: both alphabets, characters outside of them are skipped, padding is optional. */
function decodeBase64(text) {
  const end = text.indexOf('=');
  const clean = (end < 0 ? text : text.slice(0, end))
    .replace(/[^A-Za-z0-9+/_-]/g, '')
    .replaceAll('-', '+')
    .replaceAll('_', '/');
  const whole = clean.length % 4 === 1 ? clean.slice(0, -1) : clean;
  return Uint8Array.fromBase64(whole, { lastChunkHandling: 'loose' });
}

function decodeHex(text) {
  const found = /^(?:[0-9a-fA-F]{2})*/.exec(text)[0];
  return Uint8Array.fromHex(found);
}

function decodeUtf16(bytes) {
  const length = bytes.length >> 1;
  const codes = new Uint16Array(length);
  for (let i = 0; i < length; i++) codes[i] = bytes[2 * i] | (bytes[2 * i + 1] << 8);
  return fromCodes(codes);
}

function encodeCodes(text, mask) {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i) & mask;
  return bytes;
}

export function encodeText(text, encoding) {
  switch (encoding) {
    case 'utf8':
      return new Uint8Array(encodeUtf8(text));
    case 'hex':
      return decodeHex(text);
    case 'base64':
    case 'base64url':
      return decodeBase64(text);
    case 'utf16le': {
      const bytes = new Uint8Array(text.length * 2);
      for (let i = 0; i < text.length; i++) {
        const code = text.charCodeAt(i);
        bytes[2 * i] = code & 255;
        bytes[2 * i + 1] = code >> 8;
      }
      return bytes;
    }
    default:
      return encodeCodes(text, 255);
  }
}

export function decodeText(bytes, encoding) {
  const plain = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  switch (encoding) {
    case 'utf8':
      return decodeUtf8(plain);
    case 'hex':
      return plain.toHex();
    case 'base64':
      return plain.toBase64();
    case 'base64url':
      return plain.toBase64({ alphabet: 'base64url', omitPadding: true });
    case 'utf16le':
      return decodeUtf16(plain);
    case 'ascii':
      return fromCodes(plain.map((byte) => byte & 127));
    default:
      return fromCodes(plain);
  }
}

/** The number of bytes of a text. As in Node.js, the length of Base64 is computed from the number of characters. */
export function textLength(text, encoding) {
  switch (encoding) {
    case 'utf8':
      return encodeUtf8(text).length;
    case 'hex':
      return text.length >>> 1;
    case 'utf16le':
      return text.length * 2;
    case 'base64':
    case 'base64url':
      return Math.floor((text.replace(/={1,2}$/, '').length * 3) / 4);
    default:
      return text.length;
  }
}
