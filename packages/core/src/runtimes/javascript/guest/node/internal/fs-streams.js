/**
 * fs.createReadStream, fs.createWriteStream and fs.Dir. Streams call the functions of `fs`, or those of their option `fs`, so that
 * programs can replace them.
 */
import { load } from '../../node-modules.js';
import { completeLater } from '../../timers.js';
import { Buffer } from '../buffer.js';
import { finished, Readable, Writable } from '../stream.js';
import {
  codedError,
  invalidArgType,
  outOfRange,
  validateBoolean,
  validateFunction,
  validateInteger,
} from './errors.js';
import { readdirSync } from './fs-sync.js';
import { descriptorOf, optionsOf, pathOf } from './fs-values.js';

const calls = Symbol('fs');
const isBusy = Symbol('isBusy');
/** Emitted when the operation that was running at the time of `destroy` has ended. */
const idle = Symbol('idle');

/** The functions of `fs` for an open FileHandle. */
function handleCalls(handle) {
  const settle = (promise, count, callback) =>
    promise.then(
      (result) => callback(null, result?.[count]),
      (error) => callback(error, 0),
    );
  return {
    close: (_, callback) => settle(handle.close(), '', callback),
    fsync: (_, callback) => settle(handle.sync(), '', callback),
    read: (_, buffer, offset, length, position, callback) =>
      settle(handle.read(buffer, offset, length, position), 'bytesRead', callback),
    write: (_, buffer, offset, length, position, callback) =>
      settle(handle.write(buffer, offset, length, position), 'bytesWritten', callback),
    writev: (_, buffers, position, callback) =>
      settle(handle.writev(buffers, position), 'bytesWritten', callback),
  };
}

/** Sets the descriptor or the path of a stream, and the functions that it calls. */
function setFile(stream, path, settings, flags) {
  const { fd } = settings;
  const isHandle = typeof fd === 'object' && fd !== null && typeof fd.fd === 'number';
  if (isHandle && settings.fs)
    throw codedError(Error, 'ERR_METHOD_NOT_IMPLEMENTED', 'The FileHandle with fs method is not implemented');
  stream[calls] = isHandle ? handleCalls(fd) : settings.fs || load('node:fs');
  stream[isBusy] = false;
  stream.pos = undefined;
  if (fd === undefined || fd === null) {
    validateFunction(stream[calls].open, 'options.fs.open');
    stream.fd = null;
    stream.path = typeof path === 'object' && path?.href !== undefined ? pathOf(path) : path;
    pathOf(path);
    stream.flags = settings.flags ?? flags;
    stream.mode = settings.mode ?? 0o666;
    return;
  }
  if (!isHandle && typeof fd !== 'number') throw invalidArgType('options.fd', ['number', 'FileHandle'], fd);
  stream.fd = descriptorOf(isHandle ? fd.fd : fd);
  if (isHandle) fd.on('close', () => stream.close());
}

/** A copy of the options with those that they inherit. */
function settingsOf(options) {
  const settings = optionsOf(options);
  if (typeof options === 'object') for (const name in options) settings[name] = options[name];
  return settings;
}

function setStart(stream, { start }) {
  stream.start = start;
  if (start === undefined) return;
  validateInteger(start, 'start', 0);
  stream.pos = start;
}

/** The method `open`, which does nothing. A program may replace it and emit "open" itself. */
function open() {}

function construct(callback) {
  if (typeof this.fd === 'number') {
    callback();
    return;
  }
  if (this.open === open) {
    this[calls].open(this.path, this.flags, this.mode, (error, fd) => {
      if (error) {
        callback(error);
        return;
      }
      this.fd = fd;
      callback();
      this.emit('open', fd);
      this.emit('ready');
    });
    return;
  }
  const { emit } = this;
  this.emit = function emitOpened(name, ...args) {
    if (name !== 'open' && name !== 'error') return emit.call(this, name, ...args);
    this.emit = emit;
    callback(name === 'error' ? args[0] : undefined);
    return name === 'open' && emit.call(this, name, ...args);
  };
  this.open();
}

function closeFile(stream, error, callback) {
  const { fd } = stream;
  if (fd === null || fd === undefined) {
    callback(error);
    return;
  }
  const close = (failure) => {
    stream[calls].close(fd, (another) => callback(error || failure || another));
    stream.fd = null;
  };
  if (stream.flush) stream[calls].fsync(fd, close);
  else close();
}

function destroy(error, callback) {
  if (this[isBusy]) this.once(idle, (failure) => closeFile(this, error || failure, callback));
  else closeFile(this, error, callback);
}

/** As in Node.js, a program may call it without `new`, also for an object of its own class. */
export function ReadStream(path, options) {
  if (!(this instanceof ReadStream)) return new ReadStream(path, options);
  const settings = settingsOf(options);
  setFile(this, path, settings, 'r');
  const { highWaterMark = 65_536, autoClose = true, end = Number.POSITIVE_INFINITY } = settings;
  validateFunction(this[calls].read, 'options.fs.read');
  if (autoClose) validateFunction(this[calls].close, 'options.fs.close');
  this.bytesRead = 0;
  setStart(this, settings);
  this.end = end;
  if (end !== Number.POSITIVE_INFINITY) validateInteger(end, 'end', 0);
  if (this.start > end) throw outOfRange('start', `<= "end" (here: ${end})`, this.start);
  Readable.call(this, {
    ...settings,
    highWaterMark,
    autoDestroy: autoClose,
    encoding: settings.encoding ?? undefined,
  });
}
Object.setPrototypeOf(ReadStream.prototype, Readable.prototype);
Object.setPrototypeOf(ReadStream, Readable);

Object.assign(ReadStream.prototype, {
  open,
  _construct: construct,
  _destroy: destroy,
  _read(size) {
    const wanted = Math.min(size, this.end - (this.pos ?? this.bytesRead) + 1);
    if (wanted <= 0) {
      this.push(null);
      return;
    }
    const buffer = Buffer.allocUnsafe(wanted);
    this[isBusy] = true;
    this[calls].read(this.fd, buffer, 0, wanted, this.pos, (error, count) => {
      this[isBusy] = false;
      if (this.destroyed) this.emit(idle, error);
      else if (error) this.destroy(error);
      else if (count > 0) {
        if (this.pos !== undefined) this.pos += count;
        this.bytesRead += count;
        // A copy does not keep the memory of a large buffer for few bytes.
        this.push(count === wanted ? buffer : Buffer.from(buffer.subarray(0, count)));
      } else this.push(null);
    });
  },
  close(callback) {
    if (typeof callback === 'function') finished(this, callback);
    this.destroy();
  },
});

export function WriteStream(path, options) {
  if (!(this instanceof WriteStream)) return new WriteStream(path, options);
  const settings = settingsOf(options);
  setFile(this, path, settings, 'w');
  const { autoClose = true, flush } = settings;
  const { write, writev } = this[calls];
  if (write || !writev) validateFunction(write, 'options.fs.write');
  if (writev) validateFunction(writev, 'options.fs.writev');
  if (autoClose) validateFunction(this[calls].close, 'options.fs.close');
  this.flush = flush ?? false;
  validateBoolean(this.flush, 'options.flush');
  if (flush !== undefined && flush !== null) validateFunction(this[calls].fsync, 'options.fs.fsync');
  if (!write) this._write = null;
  if (!writev) this._writev = null;
  this.bytesWritten = 0;
  setStart(this, settings);
  Writable.call(this, { ...settings, decodeStrings: true, autoDestroy: autoClose });
  if (settings.encoding) this.setDefaultEncoding(settings.encoding);
}
Object.setPrototypeOf(WriteStream.prototype, Writable.prototype);
Object.setPrototypeOf(WriteStream, Writable);

/** Ends a write: reports the failure, or calls `next` if a part was not written. */
function written(stream, size, { error, count }, { next, callback }) {
  if (!error && !stream.destroyed) {
    stream.bytesWritten += count;
    if (stream.pos !== undefined) stream.pos += count;
    if (count > 0 && count < size) {
      next(count);
      return;
    }
  }
  stream[isBusy] = false;
  callback(error);
  if (stream.destroyed) stream.emit(idle, error);
}

Object.assign(WriteStream.prototype, {
  open,
  _construct: construct,
  _destroy: destroy,
  _write(chunk, _encoding, callback) {
    this[isBusy] = true;
    this[calls].write(this.fd, chunk, 0, chunk.length, this.pos, (error, count) => {
      const next = (done) => this._write(chunk.subarray(done), _encoding, callback);
      written(this, chunk.length, { error, count }, { next, callback });
    });
  },
  _writev(data, callback) {
    const chunks = data.map(({ chunk }) => chunk);
    const size = chunks.reduce((sum, { length }) => sum + length, 0);
    this[isBusy] = true;
    this[calls].writev(this.fd, chunks, this.pos, (error, count) => {
      const next = (done) => this._writev([{ chunk: Buffer.concat(chunks).subarray(done) }], callback);
      written(this, size, { error, count }, { next, callback });
    });
  },
  close(callback) {
    if (callback !== undefined) {
      if (this.closed) {
        globalThis.process.nextTick(callback);
        return;
      }
      this.on('close', callback);
    }
    // Without it, a stream that is not closed by its end would stay open.
    if (!this.autoClose) this.on('finish', this.destroy);
    this.end();
  },
  destroySoon: Writable.prototype.end,
});

for (const [type, state] of [
  [ReadStream, '_readableState'],
  [WriteStream, '_writableState'],
]) {
  Object.defineProperties(type.prototype, {
    autoClose: {
      get() {
        return this[state].autoDestroy;
      },
      set(value) {
        this[state].autoDestroy = value;
      },
      configurable: true,
    },
    pending: {
      get() {
        return this.fd === null;
      },
      configurable: true,
    },
  });
}

const closedError = () => codedError(Error, 'ERR_DIR_CLOSED', 'Directory handle was closed');

export class Dir {
  #entries;
  constructor(path, options) {
    this.path = path;
    this.#entries = readdirSync(path, { ...optionsOf(options), withFileTypes: true });
  }
  readSync() {
    if (this.#entries === undefined) throw closedError();
    return this.#entries.shift() ?? null;
  }
  closeSync() {
    if (this.#entries === undefined) throw closedError();
    this.#entries = undefined;
  }
  #later(action, callback) {
    if (callback === undefined) return new Promise((resolve) => resolve(action()));
    validateFunction(callback, 'callback');
    const value = action();
    completeLater(() => (value === undefined ? callback(null) : callback(null, value)));
    return undefined;
  }
  read(callback) {
    return this.#later(() => this.readSync(), callback);
  }
  close(callback) {
    return this.#later(() => this.closeSync(), callback);
  }
  async *[Symbol.asyncIterator]() {
    try {
      for (let entry = this.readSync(); entry !== null; entry = this.readSync()) yield entry;
    } finally {
      if (this.#entries !== undefined) this.closeSync();
    }
  }
}
