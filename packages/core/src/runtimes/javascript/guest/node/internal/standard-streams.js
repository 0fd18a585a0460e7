/** `process.stdin`, `process.stdout` and `process.stderr`. Writing is synchronous, so no output is lost at the end. */
import { host } from '../../host-calls.js';
import { load } from '../../node-modules.js';
import { addTick } from '../../program-events.js';
import { Buffer } from '../buffer.js';
import EventEmitter from '../events.js';
import { invalidArgType } from './errors.js';
import { writeAll } from './file-access.js';

/** A writable stream without buffer. It has the methods of `stream.Writable` that programs use on standard output. */
export class StandardOutput extends EventEmitter {
  #fd;

  constructor(fd) {
    super();
    this.#fd = fd;
    Object.assign(this, { fd, isTTY: undefined, writable: true, destroyed: false, _type: 'pipe' });
    delete this.isTTY;
  }

  write(chunk, encoding = undefined, callback = undefined) {
    const done = typeof encoding === 'function' ? encoding : callback;
    if (
      typeof chunk === 'string' &&
      (encoding === undefined || typeof encoding === 'function' || /^utf-?8$/i.test(encoding))
    ) {
      host.writeText(this.#fd, chunk);
    } else if (typeof chunk === 'string') writeAll(this.#fd, Buffer.from(chunk, encoding));
    else if (chunk instanceof Uint8Array) writeAll(this.#fd, chunk);
    else throw invalidArgType('chunk', ['string', 'Buffer', 'Uint8Array'], chunk);
    if (typeof done === 'function') addTick(() => done());
    return true;
  }

  end(chunk = undefined, encoding = undefined, callback = undefined) {
    const done = [chunk, encoding, callback].find((one) => typeof one === 'function');
    if (chunk !== undefined && chunk !== null && typeof chunk !== 'function') this.write(chunk, encoding);
    if (done !== undefined) addTick(() => done());
    addTick(() => this.emit('finish'));
    return this;
  }

  cork() {}
  uncork() {}
  destroy() {
    return this;
  }
  setDefaultEncoding() {
    return this;
  }
  getColorDepth() {
    return 1;
  }
  hasColors() {
    return false;
  }
}
Object.assign(StandardOutput.prototype, {
  writableLength: 0,
  writableHighWaterMark: 16_384,
  writableEnded: false,
  writableFinished: false,
  writableNeedDrain: false,
  writableObjectMode: false,
});

/** Standard input is a readable stream, which is created on first use, because `stream` is large. */
let input;
function createInput() {
  const { Readable } = load('node:stream');
  const { completeLater } = load('boot:timers');
  let isDeferred = false;
  // Reading blocks the program, so it begins after the callbacks that are due, and not while the stream is paused.
  const readLater = () =>
    completeLater(() => {
      isDeferred = stream.readableFlowing === false && stream.listenerCount('readable') === 0;
      if (isDeferred) return;
      const chunk = Buffer.allocUnsafe(65_536);
      const count = host.read(0, chunk.buffer, chunk.byteOffset, chunk.length);
      stream.push(count > 0 ? chunk.subarray(0, count) : null);
    });
  const stream = new Readable({ highWaterMark: 65_536, read: readLater });
  stream.on('resume', () => {
    if (isDeferred) readLater();
    isDeferred = false;
  });
  input = stream;
  Object.assign(input, { fd: 0, setRawMode: () => input, ref: () => input, unref: () => input });
  return input;
}

/** Every program of a session has standard input of its own. */
export function resetInput() {
  input = undefined;
}

export const stdin = new Proxy(
  {},
  {
    get(_target, name) {
      if (name === 'fd') return 0;
      if (name === 'isTTY') return undefined;
      const stream = input ?? createInput();
      const value = Reflect.get(stream, name, stream);
      return typeof value === 'function' ? value.bind(stream) : value;
    },
    set(_target, name, value) {
      return Reflect.set(input ?? createInput(), name, value);
    },
    has: (_target, name) => name in (input ?? createInput()),
    getPrototypeOf: () => Object.getPrototypeOf(input ?? createInput()),
  },
);
