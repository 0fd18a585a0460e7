/** Decodes the format of v8.serialize. The data is untrusted: anything invalid throws. */
import { Buffer } from '../buffer.js';
import { ERRORS, FLAGS, VERSION, VERSION_TAG, VIEWS } from './v8-format.js';

const OLDEST_VERSION = 13;
const invalidData = () => new Error('Unable to deserialize cloned data.');

class Reader {
  #bytes;
  #at = 0;
  #objects = [];

  constructor(bytes) {
    this.#bytes = bytes;
  }
  #byte() {
    if (this.#at >= this.#bytes.length) throw invalidData();
    return this.#bytes[this.#at++];
  }
  #take(count) {
    if (count > this.#bytes.length - this.#at) throw invalidData();
    this.#at += count;
    // A copy, because what it is read as must be aligned.
    return this.#bytes.slice(this.#at - count, this.#at);
  }
  #varint() {
    let value = 0;
    for (let factor = 1; factor < 2 ** 35; factor *= 128) {
      const byte = this.#byte();
      value += (byte & 127) * factor;
      if (byte < 128) return value % 2 ** 32;
    }
    throw invalidData();
  }
  #double() {
    return new DataView(this.#take(8).buffer).getFloat64(0, true);
  }
  /** The next tag, without the zeros that align strings. */
  #tag() {
    let byte = this.#byte();
    while (byte === 0) byte = this.#byte();
    return String.fromCharCode(byte);
  }
  header() {
    const [tag, version] = this.#bytes;
    if (tag !== VERSION_TAG || !(version >= OLDEST_VERSION && version <= VERSION))
      throw new Error('Unable to deserialize cloned data due to invalid or unsupported version.');
    this.#at = 2;
  }
  #text(tag) {
    if (tag === 'S') return new TextDecoder().decode(this.#take(this.#varint()));
    const bytes = this.#take(this.#varint());
    if (tag === '"') return Buffer.from(bytes.buffer).latin1Slice();
    if (tag !== 'c' || bytes.length % 2 === 1) throw invalidData();
    return Buffer.from(bytes.buffer).ucs2Slice();
  }
  #string() {
    return this.#text(this.#tag());
  }
  #bigint() {
    const bits = this.#varint();
    const digits = this.#take(Math.floor(bits / 2));
    let value = 0n;
    for (let i = digits.length - 1; i >= 0; i--) value = (value << 8n) | BigInt(digits[i]);
    return bits % 2 === 1 ? -value : value;
  }
  #add(object) {
    this.#objects.push(object);
    return object;
  }

  value(tag = this.#tag()) {
    switch (tag) {
      case '_':
        return undefined;
      case '0':
        return null;
      case 'T':
        return true;
      case 'F':
        return false;
      case 'I': {
        const bits = this.#varint();
        return (bits >>> 1) ^ -(bits & 1);
      }
      case 'U':
        return this.#varint();
      case 'N':
        return this.#double();
      case 'Z':
        return this.#bigint();
      case '"':
      case 'c':
      case 'S':
        return this.#text(tag);
      case '^': {
        const id = this.#varint();
        if (id >= this.#objects.length) throw invalidData();
        return this.#objects[id];
      }
      case 'y':
        return this.#add(Object(true));
      case 'x':
        return this.#add(Object(false));
      case 'n':
        return this.#add(Object(this.#double()));
      case 'z':
        return this.#add(Object(this.#bigint()));
      case 's':
        return this.#add(Object(this.#string()));
      case 'D':
        return this.#add(new Date(this.#double()));
      case 'R':
        return this.#add(this.#pattern());
      case 'B':
        return this.#add(this.#take(this.#varint()).buffer);
      case 'o':
        return this.#properties(this.#add({}), '{');
      case 'A':
      case 'a':
        return this.#array(tag === 'A');
      case ';':
        return this.#map();
      case "'":
        return this.#set();
      case 'r':
        return this.#error();
      case '\\':
        return this.#view();
      default:
        throw invalidData();
    }
  }

  #properties(object, end) {
    let count = 0;
    for (let tag = this.#tag(); tag !== end; tag = this.#tag(), count++) {
      const key = this.value(tag);
      if (typeof key !== 'string' && typeof key !== 'number') throw invalidData();
      Object.defineProperty(object, key, {
        value: this.value(),
        writable: true,
        enumerable: true,
        configurable: true,
      });
    }
    if (this.#varint() !== count) throw invalidData();
    return object;
  }

  #array(isDense) {
    const length = this.#varint();
    // Every element takes at least a byte.
    if (isDense && length > this.#bytes.length - this.#at) throw invalidData();
    const array = this.#add([]);
    array.length = length;
    if (isDense) for (let i = 0; i < length; i++) array[i] = this.value();
    this.#properties(array, isDense ? '$' : '@');
    if (this.#varint() !== length) throw invalidData();
    return array;
  }

  #map() {
    const map = this.#add(new Map());
    let count = 0;
    for (let tag = this.#tag(); tag !== ':'; tag = this.#tag(), count += 2) {
      const key = this.value(tag);
      map.set(key, this.value());
    }
    if (this.#varint() !== count) throw invalidData();
    return map;
  }

  #set() {
    const set = this.#add(new Set());
    let count = 0;
    for (let tag = this.#tag(); tag !== ','; tag = this.#tag(), count++) set.add(this.value(tag));
    if (this.#varint() !== count) throw invalidData();
    return set;
  }

  #pattern() {
    const source = this.#string();
    const bits = this.#varint();
    const flags = Object.keys(FLAGS).filter((flag) => (bits & FLAGS[flag]) !== 0);
    try {
      return new RegExp(source, flags.join(''));
    } catch {
      throw invalidData();
    }
  }

  #view() {
    const type = VIEWS[this.#varint()];
    const bytes = this.#take(this.#varint());
    if (type === undefined) throw invalidData();
    if (type === Buffer) return this.#add(Buffer.from(bytes.buffer));
    if (bytes.length % (type.BYTES_PER_ELEMENT ?? 1) !== 0) throw invalidData();
    return this.#add(new type(bytes.buffer));
  }

  #error() {
    const error = this.#add(new Error());
    delete error.message;
    let type = Error;
    const define = (name, value) =>
      Object.defineProperty(error, name, { value, writable: true, enumerable: false, configurable: true });
    define('stack', undefined);
    for (let tag = this.#tag(); tag !== '.'; tag = this.#tag()) {
      if (Object.hasOwn(ERRORS, tag)) type = ERRORS[tag];
      else if (tag === 'm') define('message', this.#string());
      else if (tag === 's') define('stack', this.#string());
      else if (tag === 'c') define('cause', this.value());
      else throw invalidData();
    }
    return Object.setPrototypeOf(error, type.prototype);
  }
}

export function decodeValue(bytes) {
  const reader = new Reader(bytes);
  reader.header();
  return reader.value();
}
