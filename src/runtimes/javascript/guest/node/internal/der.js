/** Reads and writes DER, the binary format of keys and signatures. */

const SEQUENCE = 0x30;
const INTEGER = 2;
const BIT_STRING = 3;
const OCTET_STRING = 4;
const NULL = 5;
const OBJECT_ID = 6;

export const concat = (parts) => {
  const bytes = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
};

export function bigIntOf(bytes) {
  let hex = '';
  for (const byte of bytes) hex += byte.toString(16).padStart(2, '0');
  return hex === '' ? 0n : BigInt(`0x${hex}`);
}

/** The big-endian bytes of a number, with zeros in front if it is shorter than `length`. */
export function bytesOfBigInt(value, length = 0) {
  const hex = value.toString(16);
  const digits = hex.padStart(Math.max(2 * length, hex.length + (hex.length % 2)), '0');
  return Uint8Array.from({ length: digits.length / 2 }, (_, i) =>
    Number(`0x${digits.slice(2 * i, 2 * i + 2)}`),
  );
}

function lengthBytes(length) {
  if (length < 128) return [length];
  const bytes = bytesOfBigInt(BigInt(length));
  return [128 | bytes.length, ...bytes];
}

const encode = (tag, content) => concat([[tag, ...lengthBytes(content.length)], content]);

export const sequence = (...parts) => encode(SEQUENCE, concat(parts));
export const octetString = (bytes) => encode(OCTET_STRING, bytes);
export const bitString = (bytes) => encode(BIT_STRING, concat([[0], bytes]));
export const nothing = () => new Uint8Array([NULL, 0]);
/** A value with a tag of its context, which contains another value. */
export const tagged = (number, content) => encode(0xa0 | number, content);
export function integer(value) {
  const bytes = bytesOfBigInt(BigInt(value));
  return encode(INTEGER, bytes[0] & 0x80 ? concat([[0], bytes]) : bytes);
}

export function objectId(text) {
  const [first, second, ...rest] = text.split('.').map(Number);
  const content = [40 * first + second].concat(
    ...rest.map((number) => {
      const digits = [number % 128];
      for (let left = Math.floor(number / 128); left > 0; left = Math.floor(left / 128))
        digits.unshift(128 | (left % 128));
      return digits;
    }),
  );
  return encode(OBJECT_ID, content);
}

/** A value that was read. Its accessors throw a RangeError if it is of another type. */
class Value {
  constructor(tag, content) {
    this.tag = tag;
    this.content = content;
  }
  #expect(...tags) {
    if (!tags.includes(this.tag)) throw new RangeError(`DER: unexpected tag ${this.tag}`);
    return this.content;
  }
  get children() {
    if ((this.tag & 0x20) === 0) throw new RangeError(`DER: tag ${this.tag} has no parts`);
    return readAll(this.content);
  }
  get integer() {
    return bigIntOf(this.#expect(INTEGER));
  }
  get octets() {
    return this.#expect(OCTET_STRING);
  }
  get bits() {
    return this.#expect(BIT_STRING).subarray(1);
  }
  get objectId() {
    const content = this.#expect(OBJECT_ID);
    const numbers = [Math.min(2, Math.floor(content[0] / 40))];
    numbers.push(content[0] - 40 * numbers[0]);
    let number = 0;
    for (const byte of content.subarray(1)) {
      number = number * 128 + (byte & 127);
      if (byte < 128) {
        numbers.push(number);
        number = 0;
      }
    }
    return numbers.join('.');
  }
}

function readAll(bytes) {
  const values = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes[at];
    let length = bytes[at + 1];
    at += 2;
    if (length > 128) {
      const digits = bytes.subarray(at, at + (length & 127));
      at += digits.length;
      length = Number(bigIntOf(digits));
    }
    if (!(at + length <= bytes.length)) throw new RangeError('DER: the data ends too early');
    values.push(new Value(tag, bytes.subarray(at, at + length)));
    at += length;
  }
  return values;
}

/** The parts of the sequence that the bytes contain. */
export function readSequence(bytes) {
  const [value] = readAll(bytes);
  if (value?.tag !== SEQUENCE) throw new RangeError('DER: a sequence is expected');
  return value.children;
}
