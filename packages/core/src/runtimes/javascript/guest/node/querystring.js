/** The module `querystring`. */
import { Buffer } from './buffer.js';
import { codedError } from './internal/errors.js';

const MAX_KEYS = 1000;

export function escape(value) {
  const text = typeof value === 'string' ? value : typeof value === 'object' ? String(value) : `${value}`;
  try {
    return encodeURIComponent(text);
  } catch (cause) {
    throw cause instanceof URIError ? codedError(URIError, 'ERR_INVALID_URI', 'URI malformed') : cause;
  }
}

/** Decodes percent escapes; invalid ones stay. */
export function unescapeBuffer(text) {
  const bytes = [];
  const source = Buffer.from(text);
  for (let i = 0; i < source.length; i++) {
    const hex = source[i] === 37 ? source.toString('latin1', i + 1, i + 3) : '';
    if (/^[0-9a-fA-F]{2}$/.test(hex)) {
      bytes.push(Number.parseInt(hex, 16));
      i += 2;
    } else bytes.push(source[i]);
  }
  return Buffer.from(bytes);
}

export function unescape(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return unescapeBuffer(text).toString();
  }
}

function primitive(value) {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' && Number.isFinite(value)) return `${value}`;
  return typeof value === 'bigint' || typeof value === 'boolean' ? `${value}` : '';
}

export function stringify(object, separator = '&', equals = '=', options = {}) {
  const sep = separator || '&';
  const eq = equals || '=';
  const encode = options?.encodeURIComponent ?? module.escape;
  if (object === null || typeof object !== 'object') return '';
  return Object.keys(object)
    .flatMap((key) => {
      const name = encode(primitive(key)) + eq;
      const value = object[key];
      return Array.isArray(value)
        ? value.map((one) => name + encode(primitive(one)))
        : [name + encode(primitive(value))];
    })
    .join(sep);
}

export function parse(text, separator = '&', equals = '=', options = {}) {
  const result = Object.create(null);
  if (typeof text !== 'string' || text.length === 0) return result;
  const sep = separator || '&';
  const eq = equals || '=';
  const decode = options?.decodeURIComponent ?? module.unescape;
  const decodeSafely = (part) => {
    const plain = part.replaceAll('+', ' ');
    if (!plain.includes('%') && options?.decodeURIComponent === undefined) return plain;
    try {
      return decode(plain);
    } catch {
      return unescape(plain);
    }
  };
  const max = typeof options?.maxKeys === 'number' ? options.maxKeys : MAX_KEYS;
  const parts = text.split(sep);
  for (const part of max > 0 ? parts.slice(0, max) : parts) {
    if (part === '') continue;
    const at = part.indexOf(eq);
    const key = decodeSafely(at < 0 ? part : part.slice(0, at));
    const value = at < 0 ? '' : decodeSafely(part.slice(at + eq.length));
    if (!(key in result)) result[key] = value;
    else if (Array.isArray(result[key])) result[key].push(value);
    else result[key] = [result[key], value];
  }
  return result;
}

const module = { unescapeBuffer, unescape, escape, stringify, encode: stringify, parse, decode: parse };
export default module;
