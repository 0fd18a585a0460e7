/** The module `stream/web`: the streams of the WHATWG standard from the package web-streams-polyfill. */
import * as streams from 'web-streams-polyfill';
import { TextDecoder, TextEncoder } from '../../text-encoding.js';

const { TransformStream } = streams;

class TextEncoderStream {
  #stream;
  constructor() {
    const encoder = new TextEncoder();
    this.#stream = new TransformStream({
      transform: (chunk, controller) => controller.enqueue(encoder.encode(String(chunk))),
    });
  }
  get encoding() {
    return 'utf-8';
  }
  get readable() {
    return this.#stream.readable;
  }
  get writable() {
    return this.#stream.writable;
  }
}

class TextDecoderStream {
  #stream;
  #decoder;
  constructor(label = 'utf-8', options = {}) {
    const decoder = new TextDecoder(label, options);
    this.#decoder = decoder;
    const emit = (text, controller) => {
      if (text !== '') controller.enqueue(text);
    };
    this.#stream = new TransformStream({
      transform: (chunk, controller) => emit(decoder.decode(chunk, { stream: true }), controller),
      flush: (controller) => emit(decoder.decode(), controller),
    });
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
  get readable() {
    return this.#stream.readable;
  }
  get writable() {
    return this.#stream.writable;
  }
}

export default { ...streams, TextEncoderStream, TextDecoderStream };
