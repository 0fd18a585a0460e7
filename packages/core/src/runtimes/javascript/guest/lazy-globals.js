/** Globals that are loaded when a program first uses them. */
import { defineLazily } from './define.js';
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

export function defineLazyGlobals() {
  defineLazily(globalThis, 'process', () => load('node:process'));
  for (const [module, names] of Object.entries(SOURCES))
    for (const name of names.split(/\s/)) defineLazily(globalThis, name, () => load(module)[name]);
}
