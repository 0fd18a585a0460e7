/** Converts streams of Node.js to streams of the web and back: toWeb and fromWeb of Readable, Writable and Duplex. */
import { Buffer } from '../buffer.js';
import { CountQueuingStrategy, ReadableStream, WritableStream } from '../stream/web.js';
import Stream from '../stream.js';
import { AbortError, invalidArgType, validateObject } from './errors.js';

const { Readable, Writable, Duplex, finished } = Stream;

const strategyOf = (isObjectMode, highWaterMark) =>
  isObjectMode ? new CountQueuingStrategy({ highWaterMark }) : { highWaterMark };

export function readableToWeb(readable, { strategy } = {}) {
  if (typeof readable?._readableState !== 'object')
    throw invalidArgType('streamReadable', 'stream.Readable', readable);
  const { readableObjectMode, readableHighWaterMark } = readable;
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
    strategy ?? strategyOf(readableObjectMode, readableHighWaterMark),
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

export function writableToWeb(writable) {
  if (typeof writable?._writableState !== 'object')
    throw invalidArgType('streamWritable', 'stream.Writable', writable);
  const { writableObjectMode, writableHighWaterMark } = writable;
  let isEnded = false;
  return new WritableStream(
    {
      start(controller) {
        finished(writable, { readable: false }, (error) => {
          if (!isEnded && error) controller.error(error);
          isEnded = true;
        });
      },
      write: (chunk) =>
        new Promise((resolve, reject) => {
          writable.write(chunk, (error) => (error ? reject(error) : resolve()));
        }),
      abort: (reason) => void writable.destroy(reason),
      close: () =>
        new Promise((resolve, reject) => {
          isEnded = true;
          finished(writable, { readable: false }, (error) => (error ? reject(error) : resolve()));
          writable.end();
        }),
    },
    strategyOf(writableObjectMode, writableHighWaterMark),
  );
}

/** The methods of a Writable that write to a stream of the web. */
function writerMethods(writer) {
  return {
    write(chunk, _encoding, callback) {
      writer.ready.then(() => writer.write(chunk)).then(() => callback(), callback);
    },
    final(callback) {
      writer.close().then(() => callback(), callback);
    },
  };
}

export function writableFromWeb(stream, options = {}) {
  if (typeof stream?.getWriter !== 'function')
    throw invalidArgType('writableStream', 'WritableStream', stream);
  validateObject(options, 'options');
  const writer = stream.getWriter();
  let isClosed = false;
  const writable = new Writable({
    ...options,
    ...writerMethods(writer),
    destroy(error, callback) {
      const end = () => globalThis.process.nextTick(callback, error);
      if (isClosed) end();
      else (error ? writer.abort(error) : writer.close()).then(end, end);
    },
  });
  writer.closed.then(
    () => {
      isClosed = true;
    },
    (error) => {
      isClosed = true;
      writable.destroy(error);
    },
  );
  return writable;
}

export const duplexToWeb = (duplex) => ({
  readable: readableToWeb(duplex),
  writable: writableToWeb(duplex),
});

export function duplexFromWeb(pair, options = {}) {
  validateObject(pair, 'pair');
  const readable = readableFromWeb(pair.readable, options);
  const writable = writableFromWeb(pair.writable, options);
  return Duplex.from({ readable, writable });
}
