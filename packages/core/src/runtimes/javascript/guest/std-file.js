/**
 * The FILE objects of QuickJS. Reads are buffered, because getline would otherwise make a system call per byte. Writes are
 * not, so that no output is lost when a program is stopped.
 */
import { host, status, statusBuffer } from './host-calls.js';
import { decodeUtf8 } from './text-encoding.js';

const BUFFER_BYTES = 4096;
const NEWLINE = 10;
export const SEEK = { SEEK_SET: 0, SEEK_CUR: 1, SEEK_END: 2 };

/** Converts a mode of fopen(3) to flags of open(2). */
export function openFlags(mode) {
  if (!/^[rwa][+bx]*$/.test(mode)) throw new TypeError(`invalid file mode '${mode}'`);
  const access = mode.includes('+') ? 2 : mode[0] === 'r' ? 0 : 1;
  const creation = { r: 0, w: 0o1100, a: 0o2100 }[mode[0]];
  return access | creation | (mode.includes('x') ? 0o200 : 0);
}

export class FILE {
  #fd;
  #buffer = new Uint8Array(BUFFER_BYTES);
  #start = 0;
  #end = 0;
  #eof = false;
  #failed = false;

  constructor(fd) {
    this.#fd = fd;
  }

  get [Symbol.toStringTag]() {
    return 'FILE';
  }

  #open() {
    if (this.#fd < 0) throw new TypeError('invalid file handle');
    return this.#fd;
  }

  /** Returns the result of a system call and sets the error flag if it failed. */
  #checked(result) {
    if (result < 0) this.#failed = true;
    return result;
  }

  /** Discards the buffer and moves the descriptor back to the position that the program sees. */
  #discardBuffer() {
    if (this.#start < this.#end) host.seek(this.#fd, this.#start - this.#end, SEEK.SEEK_CUR);
    this.#start = this.#end = 0;
  }

  #fill() {
    const count = this.#readInto(this.#buffer);
    this.#start = 0;
    this.#end = Math.max(0, count);
    return count > 0;
  }

  #write(bytes) {
    this.#open();
    this.#discardBuffer();
    let done = 0;
    while (done < bytes.length) {
      const count = this.#checked(
        host.write(this.#fd, bytes.buffer, bytes.byteOffset + done, bytes.length - done),
      );
      if (count <= 0) break;
      done += count;
    }
    return done;
  }

  close() {
    const result = host.close(this.#open());
    this.#fd = -1;
    return result;
  }

  puts(...texts) {
    this.#open();
    this.#discardBuffer();
    for (const text of texts) {
      const string = `${text}`;
      if (this.#checked(host.writeText(this.#fd, string)) < string.length) return -1;
    }
    return 0;
  }

  flush() {
    this.#open();
    return 0;
  }

  seek(offset, whence = SEEK.SEEK_SET) {
    this.#open();
    this.#discardBuffer();
    this.#eof = false;
    return Math.min(0, host.seek(this.#fd, Number(offset), Number(whence)));
  }

  tell() {
    const position = host.seek(this.#open(), 0, SEEK.SEEK_CUR);
    return position < 0 ? position : position - (this.#end - this.#start);
  }

  eof() {
    return this.#eof;
  }

  error() {
    return this.#failed;
  }

  read(buffer, position = 0, length = buffer.byteLength - position) {
    if (!(buffer instanceof ArrayBuffer)) throw new TypeError('ArrayBuffer object expected');
    this.#open();
    const target = new Uint8Array(buffer, position, length);
    let done = this.#takeBuffered(target);
    while (done < target.length) {
      const rest = target.subarray(done);
      // Large reads bypass the buffer.
      const count =
        rest.length >= BUFFER_BYTES ? this.#readInto(rest) : this.#fill() ? this.#takeBuffered(rest) : 0;
      if (count <= 0) break;
      done += count;
    }
    return done;
  }

  #takeBuffered(target) {
    const count = Math.min(target.length, this.#end - this.#start);
    target.set(this.#buffer.subarray(this.#start, this.#start + count));
    this.#start += count;
    return count;
  }

  #readInto(target) {
    const count = this.#checked(host.read(this.#open(), target.buffer, target.byteOffset, target.length));
    if (count === 0) this.#eof = true;
    return count;
  }

  write(buffer, position = 0, length = buffer.byteLength - position) {
    if (!(buffer instanceof ArrayBuffer)) throw new TypeError('ArrayBuffer object expected');
    return this.#write(new Uint8Array(buffer, position, length));
  }

  getline() {
    this.#open();
    const parts = [];
    let isWhole = false;
    while (!isWhole && (this.#start < this.#end || this.#fill())) {
      const found = this.#buffer.subarray(0, this.#end).indexOf(NEWLINE, this.#start);
      isWhole = found >= 0;
      const end = isWhole ? found : this.#end;
      parts.push(this.#buffer.slice(this.#start, end));
      this.#start = isWhole ? end + 1 : end;
    }
    return parts.length === 0 ? null : decodeUtf8(joined(parts));
  }

  readAsString(limit = Number.POSITIVE_INFINITY) {
    return decodeUtf8(this.readAsBytes(limit));
  }

  readAsArrayBuffer(limit = Number.POSITIVE_INFINITY) {
    return this.readAsBytes(limit).buffer;
  }

  /** Not part of QuickJS. */
  readAsBytes(limit) {
    this.#open();
    const known = host.fstat(this.#fd, statusBuffer) === 0 ? status[3] - Math.max(0, this.tell()) : 0;
    const parts = [];
    let left = limit;
    for (let step = Math.max(known + 1, BUFFER_BYTES); left > 0; step = BUFFER_BYTES * 16) {
      const buffer = new ArrayBuffer(Math.min(step, left));
      const count = this.read(buffer);
      if (count > 0) parts.push(new Uint8Array(buffer, 0, count));
      if (count < buffer.byteLength) break;
      left -= count;
    }
    return joined(parts);
  }
}

/** What to use instead of the methods that throw. */
const INSTEAD = {
  printf: 'puts and a template literal',
  tello: 'tell',
  clearerr: 'seek',
  fileno: 'os.open',
  getByte: 'read',
  putByte: 'write',
};
for (const [name, instead] of Object.entries(INSTEAD))
  FILE.prototype[name] = () => {
    throw new Error(`FILE.${name} is not available in the sandbox. Use ${instead}.`);
  };

function joined(parts) {
  if (parts.length === 1) return parts[0].slice();
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
