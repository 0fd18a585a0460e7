/** The module `string_decoder`: decodes bytes that arrive in pieces. */
import { heldUtf8 } from '../text-encoding.js';
import { Buffer } from './buffer.js';
import { encodingOf } from './internal/encodings.js';
import { codedError, invalidArgType } from './internal/errors.js';

function incompleteUtf16(bytes) {
  const odd = bytes.length % 2;
  const last = bytes.length - odd - 2;
  const isHighSurrogate = last >= 0 && (bytes[last + 1] & 0xfc) === 0xd8;
  return odd + (isHighSurrogate ? 2 : 0);
}

const INCOMPLETE = {
  utf8: heldUtf8,
  utf16le: incompleteUtf16,
  base64: (bytes) => bytes.length % 3,
  base64url: (bytes) => bytes.length % 3,
};

/** The bytes of a character that is not complete. */
const rest = Symbol('rest');

/** As in Node.js, a program may call it for an object of its own. */
export function StringDecoder(encoding = 'utf8') {
  const found = encodingOf(encoding);
  if (found === undefined)
    throw codedError(TypeError, 'ERR_UNKNOWN_ENCODING', `Unknown encoding: ${encoding}`);
  const decoder = this ?? Object.create(StringDecoder.prototype);
  decoder.encoding = found;
  Object.defineProperty(decoder, rest, { value: Buffer.alloc(0), writable: true, configurable: true });
  return decoder;
}

Object.assign(StringDecoder.prototype, {
  write(chunk) {
    if (typeof chunk === 'string') return chunk;
    if (!ArrayBuffer.isView(chunk)) throw invalidArgType('buf', ['Buffer', 'TypedArray', 'DataView'], chunk);
    const part = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    const bytes = this[rest].length === 0 ? part : Buffer.concat([this[rest], part]);
    const kept = INCOMPLETE[this.encoding]?.(bytes) ?? 0;
    this[rest] = Buffer.from(bytes.subarray(bytes.length - kept));
    return bytes.toString(this.encoding, 0, bytes.length - kept);
  },

  end(chunk = undefined) {
    const text = chunk === undefined ? '' : this.write(chunk);
    const last = this[rest].toString(this.encoding);
    this[rest] = Buffer.alloc(0);
    return text + (this.encoding === 'utf8' && last !== '' ? '\ufffd' : last);
  },
});

for (const [name, read] of [
  ['lastNeed', () => 0],
  ['lastTotal', (decoder) => decoder[rest].length],
]) {
  Object.defineProperty(StringDecoder.prototype, name, {
    get() {
      return read(this);
    },
    configurable: true,
    enumerable: true,
  });
}

export default { StringDecoder };
