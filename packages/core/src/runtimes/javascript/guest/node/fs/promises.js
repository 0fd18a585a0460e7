/** The module `fs/promises`. Each function calls its synchronous form; its promise settles in a later turn. */
import { load } from '../../node-modules.js';
import { completeLater } from '../../timers.js';
import { Buffer } from '../buffer.js';
import EventEmitter from '../events.js';
import { AbortError, unavailable } from '../internal/errors.js';
import * as sync from '../internal/fs-sync.js';
import { constants, flagsOf, optionsOf } from '../internal/fs-values.js';

/** Calls a synchronous function and settles with its result in a later turn, like an asynchronous operation. */
function later(action, signal) {
  return new Promise((resolve, reject) => {
    let settle;
    const abort = () => reject(new AbortError(undefined, { cause: signal.reason }));
    if (signal?.aborted) {
      abort();
      return;
    }
    try {
      const value = action();
      settle = () => resolve(value);
    } catch (error) {
      if (typeof error?.code === 'string' && error.code.startsWith('ERR_')) {
        reject(error);
        return;
      }
      settle = () => reject(error);
    }
    completeLater(() => (signal?.aborted ? abort() : settle()));
  });
}
/** The options of functions that can be aborted. */
const signalOf = (options) => {
  const signal = typeof options === 'object' ? options?.signal : undefined;
  return typeof signal === 'object' && signal !== null ? signal : undefined;
};

let withHandle;

export class FileHandle extends EventEmitter {
  #fd;
  static {
    withHandle = (handle, syscall, action) => handle.#with(syscall, action);
  }
  constructor(fd) {
    super();
    this.#fd = fd;
  }
  get fd() {
    return this.#fd;
  }
  #with(syscall, action, signal) {
    return later(() => {
      if (this.#fd < 0) throw Object.assign(new Error('file closed'), { code: 'EBADF', syscall });
      return action(this.#fd);
    }, signal);
  }
  close() {
    if (this.#fd < 0) return Promise.resolve();
    return this.#with('close', (fd) => {
      this.#fd = -1;
      sync.closeSync(fd);
      this.emit('close');
    });
  }
  read(bufferOrOptions, offset, length, position) {
    return this.#with('read', (fd) => {
      const isBuffer = ArrayBuffer.isView(bufferOrOptions);
      const options = isBuffer
        ? typeof offset === 'object' && offset !== null
          ? offset
          : { offset, length, position }
        : (bufferOrOptions ?? {});
      const buffer = isBuffer ? bufferOrOptions : (options.buffer ?? Buffer.alloc(16_384));
      return {
        bytesRead: sync.readSync(
          fd,
          buffer,
          options.offset ?? 0,
          options.length ?? undefined,
          options.position,
        ),
        buffer,
      };
    });
  }
  write(data, ...rest) {
    return this.#with('write', (fd) => ({ bytesWritten: sync.writeSync(fd, data, ...rest), buffer: data }));
  }
  readFile(options) {
    return this.#with('readFile', (fd) => sync.readFileSync(fd, options), signalOf(options));
  }
  writeFile(data, options) {
    return this.#fd < 0 ? this.#with('writeFile', () => {}) : promises.writeFile(this, data, options);
  }
  appendFile(data, options) {
    return this.#with('writeFile', (fd) => sync.writeFileSync(fd, data, options), signalOf(options));
  }
  createReadStream(options) {
    return load('node:fs').createReadStream(null, { ...options, fd: this });
  }
  createWriteStream(options) {
    return load('node:fs').createWriteStream(null, { ...options, fd: this });
  }
  readLines(options) {
    return load('node:readline').createInterface({
      input: this.createReadStream(options),
      crlfDelay: Number.POSITIVE_INFINITY,
    });
  }
  async [Symbol.asyncDispose]() {
    await this.close();
  }
}

const define = (method, syscall, call) => {
  FileHandle.prototype[method] = function (...args) {
    return withHandle(this, syscall, (fd) => call(fd, ...args));
  };
};
/** Methods that call a function with the descriptor. */
const CALLS = {
  chmod: 'fchmod',
  chown: 'fchown',
  utimes: 'futimes',
  stat: 'fstat',
  truncate: 'ftruncate',
  sync: 'fsync',
  datasync: 'fsync',
};
for (const [method, name] of Object.entries(CALLS)) define(method, name, sync[`${name}Sync`]);
define('writev', 'writev', (fd, buffers, at) => ({
  bytesWritten: sync.writevSync(fd, buffers, at),
  buffers,
}));
define('readv', 'readv', (fd, buffers, at) => ({ bytesRead: sync.readvSync(fd, buffers, at), buffers }));

const promises = { constants };
for (const [name, call] of Object.entries(sync)) {
  const plain = name.slice(0, -'Sync'.length);
  if (/^(?:f[a-z]+|close|exists|read|write|readv|writev|open)$/.test(plain) && !['fsync'].includes(plain))
    continue;
  promises[plain] = (...args) =>
    later(() => call(...args), plain.endsWith('File') ? signalOf(args.at(-1)) : undefined);
  Object.defineProperty(promises[plain], 'name', { value: plain });
}
Object.assign(promises, {
  open: (path, flags, mode) => later(() => new FileHandle(sync.openSync(path, flags, mode))),
  async writeFile(file, data, options) {
    // Data may be a stream or another iterable of chunks.
    if (
      typeof data === 'string' ||
      ArrayBuffer.isView(data) ||
      (!data?.[Symbol.asyncIterator] && !data?.[Symbol.iterator])
    ) {
      return later(() => sync.writeFileSync(file, data, options), signalOf(options));
    }
    const { encoding, flag, mode, signal } = optionsOf(options, { flag: 'w' });
    const fd = file?.fd ?? sync.openSync(file, flagsOf(flag), mode);
    try {
      for await (const chunk of data) {
        if (signal?.aborted) throw new AbortError(undefined, { cause: signal.reason });
        sync.writeSync(fd, typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk);
      }
    } finally {
      if (typeof file?.fd !== 'number') sync.closeSync(fd);
    }
    return undefined;
  },
  opendir: (path) => later(() => load('node:fs').opendirSync(path)),
  lchmod: (path, mode) => later(() => sync.chmodSync(path, mode)),
  lutimes: (path, accessed, modified) => later(() => sync.utimesSync(path, accessed, modified)),
  watch() {
    throw unavailable('fs.watch is not available in the sandbox. No other process changes files.');
  },
});
delete promises.fsync;

export default promises;
