/** Converts readable streams of Node.js to streams of the web and back. */
import { Buffer } from '../buffer.js';
import { CountQueuingStrategy, ReadableStream } from '../stream/web.js';
import Stream from '../stream.js';
import { AbortError, invalidArgType, validateObject } from './errors.js';

const { Readable, finished } = Stream;

export function readableToWeb(readable, { strategy } = {}) {
  if (typeof readable?._readableState !== 'object')
    throw invalidArgType('streamReadable', 'stream.Readable', readable);
  const { readableObjectMode, readableHighWaterMark: highWaterMark } = readable;
  let isEnded = false;
  return new ReadableStream(
    {
      start(controller) {
        readable.pause();
        finished(readable, { writable: false }, (error) => {
          if (isEnded) return;
          isEnded = true;
          if (error && error.code !== 'ERR_STREAM_PREMATURE_CLOSE') controller.error(error);
          else if (error) controller.error(new AbortError(undefined, { cause: error }));
          else controller.close();
        });
        readable.on('data', (chunk) => {
          if (isEnded) return;
          const isBytes = Buffer.isBuffer(chunk) && !readableObjectMode;
          controller.enqueue(isBytes ? new Uint8Array(chunk) : chunk);
          if (controller.desiredSize <= 0) readable.pause();
        });
      },
      pull: () => void readable.resume(),
      cancel(reason) {
        isEnded = true;
        readable.destroy(reason);
      },
    },
    strategy ?? (readableObjectMode ? new CountQueuingStrategy({ highWaterMark }) : { highWaterMark }),
  );
}

export function readableFromWeb(stream, options = {}) {
  if (typeof stream?.getReader !== 'function')
    throw invalidArgType('readableStream', 'ReadableStream', stream);
  validateObject(options, 'options');
  const reader = stream.getReader();
  let isClosed = false;
  const readable = new Readable({
    ...options,
    read() {
      reader.read().then(
        ({ done, value }) => readable.push(done ? null : value),
        (error) => readable.destroy(error),
      );
    },
    destroy(error, callback) {
      const end = () => globalThis.process.nextTick(callback, error);
      if (isClosed) end();
      else reader.cancel(error).then(end, end);
    },
  });
  const close = () => {
    isClosed = true;
  };
  reader.closed.then(close, (error) => {
    close();
    readable.destroy(error);
  });
  return readable;
}
