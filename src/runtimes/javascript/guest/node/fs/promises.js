/** The module `fs/promises`. Each function calls its synchronous form; its promise settles in a later turn. */
import { load } from '../../node-modules.js';
import { completeLater } from '../../timers.js';
import { Buffer } from '../buffer.js';
import EventEmitter from '../events.js';
import { codedError } from '../internal/errors.js';
import * as sync from '../internal/fs-sync.js';
import { constants, flagsOf, optionsOf } from '../internal/fs-values.js';

/** Calls a synchronous function and settles with its result in a later turn, like an asynchronous operation. */
function later(action) {
  return new Promise((resolve, reject) => {
    let settle;
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
    completeLater(settle);
  });
}

export class FileHandle extends EventEmitter {
  #fd;
  constructor(fd) {
    super();
    this.#fd = fd;
  }
  get fd() {
    return this.#fd;
  }
  #with(action) {
    return later(() => {
      if (this.#fd < 0) throw codedError(Error, 'EBADF', 'file closed');
      return action(this.#fd);
    });
  }
  close() {
    return this.#with((fd) => {
      this.#fd = -1;
      sync.closeSync(fd);
      this.emit('close');
    });
  }
  read(bufferOrOptions, offset, length, position) {
    return this.#with((fd) => {
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
    return this.#with((fd) => ({ bytesWritten: sync.writeSync(fd, data, ...rest), buffer: data }));
  }
  readFile(options) {
    return this.#with((fd) => sync.readFileSync(fd, options));
  }
  writeFile(data, options) {
    return this.#with((fd) => sync.writeFileSync(fd, data, options));
  }
  appendFile(data, options) {
    return this.#with((fd) => sync.writeFileSync(fd, data, options));
  }
  stat(options) {
    return this.#with((fd) => sync.fstatSync(fd, options));
  }
  truncate(length) {
    return this.#with((fd) => sync.ftruncateSync(fd, length));
  }
  writev(buffers, position) {
    return this.#with((fd) => ({ bytesWritten: sync.writevSync(fd, buffers, position), buffers }));
  }
  readv(buffers, position) {
    return this.#with((fd) => ({ bytesRead: sync.readvSync(fd, buffers, position), buffers }));
  }
  sync() {
    return this.#with((fd) => sync.fsyncSync(fd));
  }
  datasync() {
    return this.sync();
  }
  createReadStream(options) {
    return load('node:fs').createReadStream(null, { ...options, fd: this.#fd, autoClose: false });
  }
  createWriteStream(options) {
    return load('node:fs').createWriteStream(null, { ...options, fd: this.#fd, autoClose: false });
  }
  readLines(options) {
    return load('node:readline').createInterface({
      input: this.createReadStream(options).once('close', () => this.close()),
      crlfDelay: Number.POSITIVE_INFINITY,
    });
  }
  async [Symbol.asyncDispose]() {
    await this.close();
  }
}

const promises = { constants };
for (const [name, call] of Object.entries(sync)) {
  const plain = name.slice(0, -'Sync'.length);
  if (/^(?:f[a-z]+|close|exists|read|write|readv|writev|open)$/.test(plain) && !['fsync'].includes(plain))
    continue;
  promises[plain] = (...args) => later(() => call(...args));
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
      return later(() => sync.writeFileSync(file, data, options));
    }
    const { encoding, flag, mode } = optionsOf(options, { flag: 'w' });
    const fd = file?.fd ?? sync.openSync(file, flagsOf(flag), mode);
    try {
      for await (const chunk of data)
        sync.writeSync(fd, typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk);
    } finally {
      if (typeof file?.fd !== 'number') sync.closeSync(fd);
    }
    return undefined;
  },
  opendir: (path) => later(() => load('node:fs').opendirSync(path)),
  lchmod: (path, mode) => later(() => sync.chmodSync(path, mode)),
  lutimes: (path, accessed, modified) => later(() => sync.utimesSync(path, accessed, modified)),
  watch() {
    throw codedError(
      Error,
      'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM',
      'fs.watch is not available in the sandbox. No other process changes files.',
    );
  },
});
delete promises.fsync;

export default promises;
