/** The module `stream`: the streams of Node.js from the package readable-stream. */
import Stream from 'readable-stream/lib/stream.js';
import promises from './stream/promises.js';

Object.defineProperty(Stream, 'promises', { value: promises, configurable: true, enumerable: true });
export const { Readable, Writable, Duplex, Transform, PassThrough, pipeline, finished } = Stream;
export default Stream;
