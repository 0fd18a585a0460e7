/** The module `stream/web`: the streams of the WHATWG standard from the package web-streams-polyfill. */

import * as streams from 'web-streams-polyfill';
import { defineHidden } from '../../define.js';
import { customInspect, inspect } from '../../inspect.js';
import { load } from '../../node-modules.js';
import { TextDecoder, TextEncoder } from '../../text-encoding.js';

const { ReadableByteStreamController, ReadableStream, TransformStream, WritableStream } = streams;

/** Streams are shown as in Node.js, without the fields of the package. */
function showAs(type, fieldsOf) {
  defineHidden(type.prototype, {
    [customInspect](depth, options) {
      return depth < 0 || this === type.prototype ? this : `${type.name} ${inspect(fieldsOf(this), options)}`;
    },
  });
}
showAs(ReadableStream, ({ locked, _state, _readableStreamController }) => ({
  locked,
  state: _state,
  supportsBYOB: _readableStreamController instanceof ReadableByteStreamController,
}));
showAs(WritableStream, ({ locked, _state }) => ({ locked, state: _state }));
showAs(TransformStream, ({ readable, writable, _backpressure }) => ({
  readable,
  writable,
  backpressure: _backpressure,
}));

/** The two ends of a transformation. */
class Pair {
  #stream;
  constructor(stream) {
    this.#stream = stream;
  }
  get readable() {
    return this.#stream.readable;
  }
  get writable() {
    return this.#stream.writable;
  }
}

class TextEncoderStream extends Pair {
  constructor() {
    const encoder = new TextEncoder();
    super(
      new TransformStream({
        transform: (chunk, controller) => controller.enqueue(encoder.encode(String(chunk))),
      }),
    );
  }
  get encoding() {
    return 'utf-8';
  }
}

class TextDecoderStream extends Pair {
  #decoder;
  constructor(label = 'utf-8', options = {}) {
    const decoder = new TextDecoder(label, options);
    const emit = (text, controller) => {
      if (text !== '') controller.enqueue(text);
    };
    super(
      new TransformStream({
        transform: (chunk, controller) => emit(decoder.decode(chunk, { stream: true }), controller),
        flush: (controller) => emit(decoder.decode(), controller),
      }),
    );
    this.#decoder = decoder;
  }
  get encoding() {
    return this.#decoder.encoding;
  }
  get fatal() {
    return this.#decoder.fatal;
  }
  get ignoreBOM() {
    return this.#decoder.ignoreBOM;
  }
}

const FORMATS = {
  gzip: ['gzipSync', 'gunzipSync'],
  deflate: ['deflateSync', 'inflateSync'],
  'deflate-raw': ['deflateRawSync', 'inflateRawSync'],
};

/** A stream that converts all of its input at the end. */
function convertAtEnd(format, direction) {
  if (!Object.hasOwn(FORMATS, format)) {
    const error = new TypeError(
      `The argument 'format' must be one of: 'deflate', 'deflate-raw', 'gzip'. Received ${inspect(format)}`,
    );
    throw Object.assign(error, { code: 'ERR_INVALID_ARG_VALUE' });
  }
  const parts = [];
  return new TransformStream({
    transform(chunk) {
      parts.push(ArrayBuffer.isView(chunk) ? chunk : new Uint8Array(chunk));
    },
    flush(controller) {
      const convert = load('node:zlib')[FORMATS[format][direction]];
      const bytes = new Uint8Array(convert(load('node:buffer').Buffer.concat(parts)));
      if (bytes.length > 0) controller.enqueue(bytes);
    },
  });
}

class CompressionStream extends Pair {
  constructor(format) {
    super(convertAtEnd(format, 0));
  }
}

class DecompressionStream extends Pair {
  constructor(format) {
    super(convertAtEnd(format, 1));
  }
}

export default { ...streams, CompressionStream, DecompressionStream, TextEncoderStream, TextDecoderStream };
