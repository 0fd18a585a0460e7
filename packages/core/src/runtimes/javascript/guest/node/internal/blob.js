/** Blob and File. The bytes are in memory. */
import { customInspect, inspect } from '../../inspect.js';
import { load } from '../../node-modules.js';
import { decodeUtf8, encodeUtf8 } from '../../text-encoding.js';

function bytesOf(part, endings) {
  if (part instanceof Blob) return part._bytes;
  if (part instanceof ArrayBuffer || part instanceof SharedArrayBuffer) return new Uint8Array(part.slice(0));
  if (ArrayBuffer.isView(part))
    return new Uint8Array(part.buffer.slice(part.byteOffset, part.byteOffset + part.byteLength));
  const text = String(part);
  return new Uint8Array(encodeUtf8(endings === 'native' ? text.replace(/\r\n?/g, '\n') : text));
}

export function concatBytes(parts) {
  const whole = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

export class Blob {
  #bytes;
  #type;

  constructor(parts = [], options = {}) {
    if (typeof parts?.[Symbol.iterator] !== 'function' || typeof parts === 'string') {
      throw Object.assign(new TypeError('The "sources" argument must be an instance of Sequence.'), {
        code: 'ERR_INVALID_ARG_TYPE',
      });
    }
    if (options !== null && typeof options !== 'object' && typeof options !== 'function')
      throw Object.assign(new TypeError('The "options" argument must be of type object.'), {
        code: 'ERR_INVALID_ARG_TYPE',
      });
    const endings = options?.endings === undefined ? 'transparent' : String(options.endings);
    if (endings !== 'transparent' && endings !== 'native')
      throw Object.assign(new TypeError(`The property 'options.endings' is invalid. Received '${endings}'`), {
        code: 'ERR_INVALID_ARG_VALUE',
      });
    this.#bytes = concatBytes(Array.from(parts, (part) => bytesOf(part, endings)));
    const type = options?.type === undefined ? '' : String(options.type);
    this.#type = /[^\x20-\x7e]/.test(type) ? '' : type.toLowerCase();
  }

  get _bytes() {
    return this.#bytes;
  }
  get size() {
    return this.#bytes.length;
  }
  get type() {
    return this.#type;
  }

  slice(start = 0, end = this.size, contentType = '') {
    const blob = new Blob([], { type: contentType });
    blob.#bytes = this.#bytes.slice(start, end);
    return blob;
  }

  async arrayBuffer() {
    return this.#bytes.slice().buffer;
  }
  async bytes() {
    return this.#bytes.slice();
  }
  async text() {
    const text = decodeUtf8(this.#bytes);
    return text.startsWith('\ufeff') ? text.slice(1) : text;
  }

  stream() {
    const { ReadableStream } = load('node:stream/web');
    const bytes = this.#bytes.slice();
    return new ReadableStream({
      type: 'bytes',
      start(controller) {
        if (bytes.length > 0) controller.enqueue(bytes);
        controller.close();
      },
    });
  }

  get [Symbol.toStringTag]() {
    return 'Blob';
  }
  [customInspect](depth, options) {
    if (depth < 0) return this;
    return `Blob ${inspect({ size: this.size, type: this.type }, options)}`;
  }
}
Object.defineProperty(Blob.prototype, '_bytes', { enumerable: false });

export class File extends Blob {
  #name;
  #lastModified;

  constructor(...args) {
    const [parts, name, options = {}] = args;
    if (args.length < 2) {
      throw Object.assign(new TypeError('The "fileBits" and "fileName" arguments must be specified'), {
        code: 'ERR_MISSING_ARGS',
      });
    }
    super(parts, options);
    this.#name = String(name);
    this.#lastModified = options?.lastModified === undefined ? Date.now() : Number(options.lastModified);
  }

  get name() {
    return this.#name;
  }
  get lastModified() {
    return this.#lastModified;
  }
  get [Symbol.toStringTag]() {
    return 'File';
  }
  [customInspect](depth, options) {
    if (depth < 0) return this;
    const { size, type, name, lastModified } = this;
    return `File ${inspect({ size, type, name, lastModified }, options)}`;
  }
}
