/** fs.createReadStream, fs.createWriteStream and fs.Dir. */
import { completeLater } from '../../timers.js';
import { Buffer } from '../buffer.js';
import { Readable, Writable } from '../stream.js';
import { invalidArgType } from './errors.js';
import { closeSync, openSync, readdirSync, readSync, writeSync } from './fs-sync.js';
import { optionsOf, pathOf } from './fs-values.js';

function open(stream, path, flags, mode, callback) {
  completeLater(() => {
    try {
      stream.fd ??= openSync(path, flags, mode);
    } catch (error) {
      callback(error);
      return;
    }
    callback();
    stream.emit('open', stream.fd);
    stream.emit('ready');
  });
}

function close(stream, error, callback) {
  try {
    if (stream.fd !== null && stream.autoClose !== false) closeSync(stream.fd);
    stream.fd = null;
    callback(error);
  } catch (failure) {
    callback(error ?? failure);
  }
}

export class ReadStream extends Readable {
  constructor(path, options) {
    const settings = optionsOf(options);
    super({ highWaterMark: 65_536, ...settings, encoding: settings.encoding ?? undefined });
    this.fd = settings.fd?.fd ?? settings.fd ?? null;
    this.path = this.fd === null ? pathOf(path) : path;
    this.flags = settings.flags ?? 'r';
    this.mode = settings.mode ?? 0o666;
    this.start = settings.start;
    this.end = settings.end ?? Number.POSITIVE_INFINITY;
    this.pos = settings.start;
    this.bytesRead = 0;
    this.autoClose = settings.autoClose ?? true;
    if (this.start !== undefined && typeof this.start !== 'number')
      throw invalidArgType('start', 'number', this.start);
  }
  _construct(callback) {
    if (this.fd !== null) callback();
    else open(this, this.path, this.flags, this.mode, callback);
  }
  _read(size) {
    const rest = this.end - (this.start ?? 0) + 1 - this.bytesRead;
    const wanted = Math.min(size, rest);
    if (wanted <= 0) {
      this.push(null);
      return;
    }
    completeLater(() => {
      if (this.destroyed) return;
      const chunk = Buffer.allocUnsafe(wanted);
      let count;
      try {
        count = readSync(this.fd, chunk, 0, wanted, this.pos);
      } catch (error) {
        this.destroy(error);
        return;
      }
      if (this.pos !== undefined) this.pos += count;
      this.bytesRead += count;
      this.push(count > 0 ? chunk.subarray(0, count) : null);
    });
  }
  _destroy(error, callback) {
    close(this, error, callback);
  }
  close(callback) {
    if (callback !== undefined) this.once('close', callback);
    this.destroy();
  }
  get pending() {
    return this.fd === null;
  }
}

export class WriteStream extends Writable {
  constructor(path, options) {
    const settings = optionsOf(options);
    super({ ...settings, decodeStrings: true });
    this.fd = settings.fd?.fd ?? settings.fd ?? null;
    this.path = this.fd === null ? pathOf(path) : path;
    this.flags = settings.flags ?? 'w';
    this.mode = settings.mode ?? 0o666;
    this.start = settings.start;
    this.pos = settings.start;
    this.bytesWritten = 0;
    this.autoClose = settings.autoClose ?? true;
    if (settings.encoding) this.setDefaultEncoding(settings.encoding);
  }
  _construct(callback) {
    if (this.fd !== null) callback();
    else open(this, this.path, this.flags, this.mode, callback);
  }
  _write(chunk, _encoding, callback) {
    completeLater(() => {
      try {
        const count = writeSync(this.fd, chunk, 0, chunk.length, this.pos);
        this.bytesWritten += count;
        if (this.pos !== undefined) this.pos += count;
        callback();
      } catch (error) {
        callback(error);
      }
    });
  }
  _destroy(error, callback) {
    close(this, error, callback);
  }
  close(callback) {
    if (callback !== undefined) this.once('close', callback);
    this.end();
  }
  get pending() {
    return this.fd === null;
  }
}
WriteStream.prototype.destroySoon = WriteStream.prototype.end;

export class Dir {
  #entries;
  constructor(path) {
    this.path = path;
    this.#entries = readdirSync(path, { withFileTypes: true });
  }
  readSync() {
    return this.#entries.shift() ?? null;
  }
  read(callback) {
    const entry = this.readSync();
    if (callback === undefined) return Promise.resolve(entry);
    return completeLater(() => callback(null, entry));
  }
  closeSync() {}
  close(callback) {
    return callback === undefined ? Promise.resolve() : completeLater(() => callback(null));
  }
  async *[Symbol.asyncIterator]() {
    for (let entry = this.readSync(); entry !== null; entry = this.readSync()) yield entry;
  }
}
