/** The module `stream`: the streams of Node.js from the package readable-stream. */

import Stream from 'readable-stream/lib/stream.js';
import { defineHidden } from '../define.js';
import { load } from '../node-modules.js';
import { AbortError, unavailable } from './internal/errors.js';
import promises from './stream/promises.js';

Object.defineProperty(Stream, 'promises', { value: promises, configurable: true, enumerable: true });
/** Two streams: what is written to one can be read from the other. */
function duplexPair(options) {
  const sides = [];
  /** For each side, the callback of a write that the other side has not read yet. */
  const waiting = [undefined, undefined];
  for (const own of [0, 1]) {
    const other = 1 - own;
    const side = new Stream.Duplex({
      ...options,
      read() {
        const callback = waiting[own];
        waiting[own] = undefined;
        callback?.();
      },
      write(chunk, _encoding, callback) {
        if (chunk.length === 0) {
          globalThis.process.nextTick(callback);
          return;
        }
        waiting[other] = callback;
        sides[other].push(chunk);
      },
      final(callback) {
        sides[other].on('end', callback);
        sides[other].push(null);
      },
    });
    sides.push(side);
  }
  return sides;
}
Stream.duplexPair = duplexPair;

/** Loaded on first use, because the streams of the web are large. */
const web = () => load('node:internal/web-streams');
Stream.Readable.toWeb = (readable, options) => web().readableToWeb(readable, options);
Stream.Readable.fromWeb = (stream, options) => web().readableFromWeb(stream, options);
for (const [type, name, instead] of [
  [Stream.Writable, 'toWeb', 'new WritableStream({ write: (chunk) => void writable.write(chunk) })'],
  [Stream.Writable, 'fromWeb', 'stream.getWriter()'],
  [Stream.Duplex, 'toWeb', 'Readable.toWeb'],
  [Stream.Duplex, 'fromWeb', 'Readable.fromWeb'],
])
  type[name] = () => {
    throw unavailable(`stream.${type.name}.${name} is not available in the sandbox. Use ${instead}.`);
  };

defineHidden(Stream.Writable.prototype, {
  [Symbol.asyncDispose]() {
    if (!this.destroyed) this.destroy(this.writableFinished ? null : new AbortError());
    return new Promise((resolve, reject) => {
      Stream.finished(this, (error) =>
        error && error.name !== 'AbortError' ? reject(error) : resolve(null),
      );
    });
  },
});

export const { Readable, Writable, Duplex, Transform, PassThrough, pipeline, finished } = Stream;
export default Stream;
