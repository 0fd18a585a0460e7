/**
 * Encodes values in the format of v8.serialize: a tag for each value, followed by its contents. Views of buffers are encoded as
 * in Node.js, which copies their bytes.
 */
import { Buffer } from '../buffer.js';
import { ERRORS, FLAGS, VERSION, VERSION_TAG, VIEWS } from './v8-format.js';

const HOST_OBJECT = 0x5c;
const UNCLONEABLE = [WeakMap, WeakSet, WeakRef, Promise];
const isInt32 = (value) => (value | 0) === value && !Object.is(value, -0);
const isIndex = (key) => /^(?:0|[1-9]\d{0,9})$/.test(key) && Number(key) < 2 ** 32 - 1;

const notCloneable = (value) =>
  new Error(
    `${typeof value === 'object' ? `#<${value.constructor?.name ?? 'Object'}>` : String(value)} could not be cloned.`,
  );
class Writer {
  #bytes = new Uint8Array(256);
  #size = 0;
  #ids = new Map();

  result() {
    return this.#bytes.slice(0, this.#size);
  }
  #space(count) {
    const end = this.#size + count;
    if (end > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(end, this.#bytes.length * 2));
      larger.set(this.#bytes);
      this.#bytes = larger;
    }
    this.#size = end;
    return end - count;
  }
  #byte(value) {
    const at = this.#space(1);
    this.#bytes[at] = value;
  }
  tag(letter) {
    this.#byte(letter.charCodeAt(0));
  }
  #raw(bytes) {
    const at = this.#space(bytes.length);
    this.#bytes.set(bytes, at);
  }
  #varint(value) {
    let rest = value;
    while (rest > 127) {
      this.#byte((rest % 128) | 128);
      rest = Math.floor(rest / 128);
    }
    this.#byte(rest);
  }
  #double(value) {
    const bytes = new Uint8Array(8);
    new DataView(bytes.buffer).setFloat64(0, value, true);
    this.#raw(bytes);
  }
  header() {
    this.#byte(VERSION_TAG);
    this.#byte(VERSION);
  }
  #number(value) {
    if (isInt32(value)) {
      this.tag('I');
      this.#varint(((value << 1) ^ (value >> 31)) >>> 0);
    } else {
      this.tag('N');
      this.#double(value);
    }
  }
  #string(text) {
    const { length } = text;
    let isLatin1 = true;
    for (let i = 0; isLatin1 && i < length; i++) isLatin1 = text.charCodeAt(i) < 256;
    if (isLatin1) {
      this.tag('"');
      this.#varint(length);
      const at = this.#space(length);
      for (let i = 0; i < length; i++) this.#bytes[at + i] = text.charCodeAt(i);
      return;
    }
    const varintSize = length * 2 < 128 ? 1 : Math.ceil((Math.floor(Math.log2(length * 2)) + 1) / 7);
    // The characters are aligned.
    if ((this.#size + 1 + varintSize) % 2 === 1) this.#byte(0);
    this.tag('c');
    this.#varint(length * 2);
    const at = this.#space(length * 2);
    for (let i = 0; i < length; i++) {
      const unit = text.charCodeAt(i);
      this.#bytes[at + i * 2] = unit & 255;
      this.#bytes[at + i * 2 + 1] = unit >> 8;
    }
  }
  #bigint(value) {
    const digits = [];
    for (let rest = value < 0n ? -value : value; rest > 0n; rest >>= 64n)
      digits.push(rest & 0xffff_ffff_ffff_ffffn);
    this.#varint(digits.length * 16 + (value < 0n ? 1 : 0));
    this.#raw(new Uint8Array(BigUint64Array.from(digits).buffer));
  }

  value(value) {
    switch (typeof value) {
      case 'undefined':
        return this.tag('_');
      case 'boolean':
        return this.tag(value ? 'T' : 'F');
      case 'number':
        return this.#number(value);
      case 'bigint':
        this.tag('Z');
        return this.#bigint(value);
      case 'string':
        return this.#string(value);
      case 'object':
        return value === null ? this.tag('0') : this.#object(value);
      default:
        throw notCloneable(value);
    }
  }

  #object(value) {
    const id = this.#ids.get(value);
    if (id !== undefined) {
      this.tag('^');
      return this.#varint(id);
    }
    this.#ids.set(value, this.#ids.size);
    if (Array.isArray(value)) return this.#array(value);
    if (ArrayBuffer.isView(value)) return this.#view(value);
    if (value instanceof ArrayBuffer) {
      this.tag('B');
      this.#varint(value.byteLength);
      return this.#raw(new Uint8Array(value));
    }
    if (value instanceof Date) {
      this.tag('D');
      return this.#double(value.getTime());
    }
    if (value instanceof RegExp) {
      this.tag('R');
      this.#string(value.source);
      return this.#varint([...value.flags].reduce((sum, flag) => sum + FLAGS[flag], 0));
    }
    if (value instanceof Map) {
      this.tag(';');
      const entries = [...value].flat();
      for (const one of entries) this.value(one);
      this.tag(':');
      return this.#varint(entries.length);
    }
    if (value instanceof Set) {
      this.tag("'");
      const entries = [...value];
      for (const one of entries) this.value(one);
      this.tag(',');
      return this.#varint(entries.length);
    }
    if (value instanceof Error) return this.#error(value);
    if (
      value instanceof Number ||
      value instanceof String ||
      value instanceof Boolean ||
      value instanceof BigInt
    )
      return this.#boxed(value.valueOf());
    if (UNCLONEABLE.some((type) => value instanceof type)) throw notCloneable(value);
    this.tag('o');
    const keys = Object.keys(value);
    this.#properties(value, keys);
    this.tag('{');
    this.#varint(keys.length);
  }

  #properties(value, keys) {
    for (const key of keys) {
      if (isIndex(key)) this.#number(Number(key));
      else this.#string(key);
      this.value(value[key]);
    }
  }

  #array(value) {
    const { length } = value;
    const keys = Object.keys(value);
    const isDense = length === 0 || keys[length - 1] === String(length - 1);
    this.tag(isDense ? 'A' : 'a');
    this.#varint(length);
    if (isDense) for (let i = 0; i < length; i++) this.value(value[i]);
    const others = isDense ? keys.slice(length) : keys;
    this.#properties(value, others);
    this.tag(isDense ? '$' : '@');
    this.#varint(others.length);
    this.#varint(length);
  }

  #view(value) {
    const type = Buffer.isBuffer(value)
      ? Buffer
      : VIEWS.find((one) => one !== Buffer && value instanceof one);
    if (type === undefined) throw notCloneable(value);
    this.#byte(HOST_OBJECT);
    this.#varint(VIEWS.indexOf(type));
    this.#varint(value.byteLength);
    this.#raw(new Uint8Array(value.buffer, value.byteOffset, value.byteLength));
  }

  #error(value) {
    this.tag('r');
    const letter = Object.keys(ERRORS).find((one) => ERRORS[one].prototype.name === value.name);
    if (letter !== undefined) this.tag(letter);
    if (Object.hasOwn(value, 'message')) {
      this.tag('m');
      this.#string(String(value.message));
    }
    if (Object.hasOwn(value, 'cause')) {
      this.tag('c');
      this.value(value.cause);
    }
    if (typeof value.stack === 'string') {
      this.tag('s');
      this.#string(value.stack);
    }
    this.tag('.');
  }

  #boxed(value) {
    switch (typeof value) {
      case 'boolean':
        return this.tag(value ? 'y' : 'x');
      case 'number':
        this.tag('n');
        return this.#double(value);
      case 'bigint':
        this.tag('z');
        return this.#bigint(value);
      default:
        this.tag('s');
        return this.#string(value);
    }
  }
}

export function encodeValue(value) {
  const writer = new Writer();
  writer.header();
  writer.value(value);
  return writer.result();
}
