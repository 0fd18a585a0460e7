/**
 * The channel between this process and one that runs workers: a socket with frames. What that process sends is not trusted, so
 * a frame is bounded before it is kept, and its values are counted while they are decoded. The built-in channel of Node.js has
 * no bounds in either respect.
 *
 * A frame is a u48 length and a body. The body of an untrusted frame is a u32 length, values of that length, and the bytes of
 * the byte arrays among the values, one after another.
 */
import { Reader, Writer } from '../../wasm/binary-io.ts';

const LENGTH_BYTES = 6;
/** More than the largest report and the longest list of files have together. */
const MAX_VALUES = 2_000_000;
const MAX_DEPTH = 500;

const TAG = {
  undefined: 0,
  null: 1,
  true: 2,
  false: 3,
  number: 4,
  latin1: 5,
  utf16: 6,
  bytes: 7,
  array: 8,
  object: 9,
};
const LATIN1 = /^[\0-\xff]*$/;

/** A body that no process of this version sends. */
export class ChannelError extends Error {}

/** Splits what a socket receives into the bodies of frames. */
export class MessageFrames {
  #chunks: Buffer[] = [];
  #size = 0;
  #wanted: number | undefined;

  constructor(
    readonly maxBytes: () => number,
    readonly receive: (body: Buffer) => void,
  ) {}

  /** Throws ChannelError if a frame is too large. */
  push(chunk: Buffer): void {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
    for (;;) {
      if (this.#wanted === undefined) {
        if (this.#size < LENGTH_BYTES) return;
        this.#wanted = this.#take(LENGTH_BYTES).readUIntLE(0, LENGTH_BYTES);
        if (this.#wanted > this.maxBytes()) throw new ChannelError('the frame is too large');
      }
      if (this.#size < this.#wanted) return;
      const body = this.#take(this.#wanted);
      this.#wanted = undefined;
      this.receive(body);
    }
  }

  #take(bytes: number): Buffer {
    const all = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks, this.#size);
    const rest = all.subarray(bytes);
    this.#chunks = rest.length === 0 ? [] : [rest];
    this.#size = rest.length;
    return all.subarray(0, bytes);
  }
}

/** A frame with this body. */
export function frame(...parts: readonly Uint8Array[]): Buffer {
  const bytes = parts.reduce((sum, { length }) => sum + length, 0);
  const all = Buffer.allocUnsafeSlow(LENGTH_BYTES + bytes);
  all.writeUIntLE(bytes, 0, LENGTH_BYTES);
  let at = LENGTH_BYTES;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

/** A frame with plain data: texts, numbers, booleans, byte arrays, and arrays and objects of these. */
export function encodeUntrusted(value: unknown): Buffer {
  const values = new Writer(1024);
  const attachments: Uint8Array[] = [];
  encode(value, values, attachments);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(values.length);
  return frame(length, values.view(), ...attachments);
}

function encode(value: unknown, to: Writer, attachments: Uint8Array[]): void {
  if (value === undefined) to.u8(TAG.undefined);
  else if (value === null) to.u8(TAG.null);
  else if (typeof value === 'boolean') to.u8(value ? TAG.true : TAG.false);
  else if (typeof value === 'number') {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleLE(value);
    to.u8(TAG.number).bytes(bytes);
  } else if (typeof value === 'string') encodeText(value, to);
  else if (value instanceof Uint8Array) {
    attachments.push(value);
    to.u8(TAG.bytes).u32(value.length);
  } else if (Array.isArray(value)) {
    to.u8(TAG.array).u32(value.length);
    for (const item of value) encode(item, to, attachments);
  } else {
    const entries = Object.entries(value as object);
    to.u8(TAG.object).u32(entries.length);
    for (const [key, item] of entries) {
      encodeText(key, to);
      encode(item, to, attachments);
    }
  }
}

function encodeText(text: string, to: Writer): void {
  const isLatin1 = LATIN1.test(text);
  const bytes = Buffer.from(text, isLatin1 ? 'latin1' : 'utf16le');
  to.u8(isLatin1 ? TAG.latin1 : TAG.utf16)
    .u32(bytes.length)
    .bytes(bytes);
}

/** The data of a frame. Throws ChannelError if there are too many values, or none that can be decoded. */
export function decodeUntrusted(body: Buffer): unknown {
  if (body.length < 4) throw new ChannelError('the body is too short');
  const end = 4 + body.readUInt32LE(0);
  if (end > body.length) throw new ChannelError('the values are cut off');
  try {
    return new ValueDecoder(body.subarray(4, end), body.subarray(end)).decode();
  } catch (cause) {
    throw cause instanceof ChannelError ? cause : new ChannelError('the values are damaged', { cause });
  }
}

class ValueDecoder {
  readonly #from: Reader;
  #attachmentAt = 0;
  #values = 0;

  constructor(
    readonly values: Buffer,
    readonly attachments: Buffer,
  ) {
    this.#from = new Reader(values);
  }

  decode(): unknown {
    const value = this.#value(0);
    if (!this.#from.done || this.#attachmentAt !== this.attachments.length)
      throw new ChannelError('the body has extra bytes');
    return value;
  }

  #value(depth: number): unknown {
    if (++this.#values > MAX_VALUES || depth > MAX_DEPTH) throw new ChannelError('there are too many values');
    const from = this.#from;
    const tag = from.u8();
    switch (tag) {
      case TAG.undefined:
        return undefined;
      case TAG.null:
        return null;
      case TAG.true:
      case TAG.false:
        return tag === TAG.true;
      case TAG.number:
        from.skip(8);
        return this.values.readDoubleLE(from.pos - 8);
      case TAG.latin1:
      case TAG.utf16:
        return this.#text(tag);
      case TAG.bytes:
        return this.#attachment(from.u32());
      case TAG.array:
        return this.#array(from.u32(), depth);
      case TAG.object:
        return this.#object(from.u32(), depth);
      default:
        throw new ChannelError('there is an unknown value');
    }
  }

  #text(tag: number): string {
    const length = this.#from.u32();
    const start = this.#from.pos;
    this.#from.skip(length);
    return this.values.toString(tag === TAG.latin1 ? 'latin1' : 'utf16le', start, start + length);
  }

  #attachment(length: number): Uint8Array {
    const end = this.#attachmentAt + length;
    if (end > this.attachments.length) throw new ChannelError('bytes are cut off');
    const { buffer, byteOffset } = this.attachments;
    const bytes = new Uint8Array(buffer, byteOffset + this.#attachmentAt, length);
    this.#attachmentAt = end;
    return bytes;
  }

  #array(count: number, depth: number): unknown[] {
    const items: unknown[] = [];
    for (let i = 0; i < count; i++) items.push(this.#value(depth + 1));
    return items;
  }

  #object(count: number, depth: number): object {
    const found: object = {};
    for (let i = 0; i < count; i++) {
      const tag = this.#from.u8();
      if (tag !== TAG.latin1 && tag !== TAG.utf16) throw new ChannelError('a key is not a text');
      const key = this.#text(tag);
      // An assignment to the key __proto__ would change the prototype.
      Object.defineProperty(found, key, {
        value: this.#value(depth + 1),
        enumerable: true,
        configurable: true,
        writable: true,
      });
    }
    return found;
  }
}
