/**
 * Globals that are loaded when a program first uses them. Each is an accessor that replaces itself with the value;
 * assigning to the name replaces it too.
 */
import { load } from './node-modules.js';

/** Module and export of each global. */
const SOURCES = {
  process: ['node:process'],
  Buffer: ['node:buffer', 'Buffer'],
  Intl: ['node:internal/intl', 'Intl'],
  Temporal: ['node:internal/temporal', 'Temporal'],
  Blob: ['node:internal/blob', 'Blob'],
  CryptoKey: ['node:internal/subtle', 'CryptoKey'],
  SubtleCrypto: ['node:internal/subtle', 'SubtleCrypto'],
  File: ['node:internal/blob', 'File'],
  AbortController: ['node:internal/abort', 'AbortController'],
  AbortSignal: ['node:internal/abort', 'AbortSignal'],
  Event: ['node:internal/abort', 'Event'],
  EventTarget: ['node:internal/abort', 'EventTarget'],
  CustomEvent: ['node:internal/abort', 'CustomEvent'],
  fetch: ['node:internal/fetch', 'fetch'],
  FormData: ['node:internal/fetch', 'FormData'],
  Headers: ['node:internal/fetch', 'Headers'],
  Request: ['node:internal/fetch', 'Request'],
  Response: ['node:internal/fetch', 'Response'],
  MessageChannel: ['node:internal/message-channel', 'MessageChannel'],
  MessageEvent: ['node:internal/message-channel', 'MessageEvent'],
  MessagePort: ['node:internal/message-channel', 'MessagePort'],
  performance: ['node:perf_hooks', 'performance'],
  PerformanceEntry: ['node:perf_hooks', 'PerformanceEntry'],
  PerformanceMark: ['node:perf_hooks', 'PerformanceMark'],
  PerformanceMeasure: ['node:perf_hooks', 'PerformanceMeasure'],
  PerformanceObserver: ['node:perf_hooks', 'PerformanceObserver'],
  ReadableStream: ['node:stream/web', 'ReadableStream'],
  ReadableStreamDefaultReader: ['node:stream/web', 'ReadableStreamDefaultReader'],
  ReadableByteStreamController: ['node:stream/web', 'ReadableByteStreamController'],
  ReadableStreamBYOBReader: ['node:stream/web', 'ReadableStreamBYOBReader'],
  ReadableStreamBYOBRequest: ['node:stream/web', 'ReadableStreamBYOBRequest'],
  ReadableStreamDefaultController: ['node:stream/web', 'ReadableStreamDefaultController'],
  WritableStream: ['node:stream/web', 'WritableStream'],
  WritableStreamDefaultWriter: ['node:stream/web', 'WritableStreamDefaultWriter'],
  WritableStreamDefaultController: ['node:stream/web', 'WritableStreamDefaultController'],
  TransformStream: ['node:stream/web', 'TransformStream'],
  TransformStreamDefaultController: ['node:stream/web', 'TransformStreamDefaultController'],
  ByteLengthQueuingStrategy: ['node:stream/web', 'ByteLengthQueuingStrategy'],
  CountQueuingStrategy: ['node:stream/web', 'CountQueuingStrategy'],
  CompressionStream: ['node:stream/web', 'CompressionStream'],
  DecompressionStream: ['node:stream/web', 'DecompressionStream'],
  TextEncoderStream: ['node:stream/web', 'TextEncoderStream'],
  TextDecoderStream: ['node:stream/web', 'TextDecoderStream'],
};

export function defineLazily(name, get) {
  const replace = (value) =>
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  Object.defineProperty(globalThis, name, {
    get() {
      const value = get();
      replace(value);
      return value;
    },
    set: replace,
    configurable: true,
    enumerable: false,
  });
}

export function defineLazyGlobals() {
  for (const [name, [module, property]] of Object.entries(SOURCES)) {
    defineLazily(name, () => (property === undefined ? load(module) : load(module)[property]));
  }
}
