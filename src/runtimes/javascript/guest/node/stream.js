/** The module `stream`: the streams of Node.js from the package readable-stream. */
import Stream from 'readable-stream/lib/stream.js';
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

export const { Readable, Writable, Duplex, Transform, PassThrough, pipeline, finished } = Stream;
export default Stream;
