/**
 * Globals that are loaded when a program first uses them. Each is an accessor that replaces itself with the value;
 * assigning to the name replaces it too.
 */
import { load } from './node-modules.js';

/** The globals by the module that exports them. */
const SOURCES = {
  'node:buffer': 'Buffer',
  'node:internal/intl': 'Intl',
  'node:internal/temporal': 'Temporal',
  'node:internal/blob': 'Blob File',
  'node:internal/subtle': 'CryptoKey SubtleCrypto',
  'node:internal/abort': 'AbortController AbortSignal Event EventTarget CustomEvent',
  'node:internal/fetch': 'fetch FormData Headers Request Response',
  'node:internal/message-channel': 'MessageChannel MessageEvent MessagePort',
  'node:perf_hooks': 'performance PerformanceEntry PerformanceMark PerformanceMeasure PerformanceObserver',
  'node:stream/web': `ReadableStream ReadableStreamDefaultReader ReadableByteStreamController ReadableStreamBYOBReader
ReadableStreamBYOBRequest ReadableStreamDefaultController WritableStream WritableStreamDefaultWriter
WritableStreamDefaultController TransformStream TransformStreamDefaultController ByteLengthQueuingStrategy
CountQueuingStrategy CompressionStream DecompressionStream TextEncoderStream TextDecoderStream`,
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
  defineLazily('process', () => load('node:process'));
  for (const [module, names] of Object.entries(SOURCES))
    for (const name of names.split(/\s/)) defineLazily(name, () => load(module)[name]);
}
