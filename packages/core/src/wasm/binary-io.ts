/**
 * Reads and writes the primitive values of the WebAssembly binary format.
 * Invariant: a Reader never reads outside its range, and every error is a SandboxError with the byte offset.
 */
import { SandboxError } from '../errors.ts';

/** The error for a module that cannot be used. `problem` is a clause such as "unknown opcode 0xff". */
export function invalid(
  problem: string,
  offset?: number,
  remedy = 'Use an intact module that uses only supported features.',
): SandboxError {
  const location = offset === undefined ? '' : ` at byte 0x${offset.toString(16)}`;
  return new SandboxError('module_invalid', `Invalid WebAssembly module: ${problem}${location}. ${remedy}`);
}

const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A cursor over the half-open range [pos, end) of `bytes`. */
export class Reader {
  readonly bytes: Uint8Array;
  pos: number;
  readonly end: number;

  constructor(bytes: Uint8Array, pos = 0, end = bytes.length) {
    this.bytes = bytes;
    this.pos = pos;
    this.end = end;
  }

  get done(): boolean {
    return this.pos >= this.end;
  }

  u8(): number {
    if (this.pos >= this.end) throw invalid('unexpected end', this.pos);
    return this.bytes[this.pos++]!;
  }

  /** Unsigned LEB128, at most 32 bits. */
  u32(): number {
    const first = this.u8();
    if (first < 0x80) return first;
    let value = first & 0x7f;
    for (let shift = 7; shift < 35; shift += 7) {
      const byte = this.u8();
      if (shift === 28 && byte > 0x0f) break;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw invalid('an integer does not fit into 32 bits', this.pos - 1);
  }

  /** Signed LEB128, at most 33 bits, as block types use it. */
  s33(): number {
    let value = 0;
    let scale = 1;
    for (let count = 1; count <= 5; count++) {
      const byte = this.u8();
      value += (byte & 0x7f) * scale;
      scale *= 0x80;
      if (byte < 0x80) return byte & 0x40 ? value - scale : value;
    }
    throw invalid('an integer does not fit into 33 bits', this.pos - 1);
  }

  s32(): number {
    const at = this.pos;
    const value = this.s33();
    if (value !== (value | 0)) throw invalid('an integer does not fit into 32 bits', at);
    return value;
  }

  /** Skips a signed LEB128 of at most 64 bits. */
  skipS64(): void {
    for (let count = 1; count <= 10; count++) {
      const byte = this.u8();
      if (byte >= 0x80) continue;
      if (count === 10 && byte !== 0 && byte !== 0x7f) break;
      return;
    }
    throw invalid('an integer does not fit into 64 bits', this.pos - 1);
  }

  /** Length of a vector of `items`. Each item takes at least one byte, so the rest of the range limits the count. */
  count(items: string): number {
    const at = this.pos;
    const count = this.u32();
    if (count > this.end - this.pos)
      throw invalid(`it is too short for the declared number of ${items} (${count})`, at);
    return count;
  }

  skip(length: number): void {
    if (length > this.end - this.pos) throw invalid('unexpected end', this.end);
    this.pos += length;
  }

  take(length: number): Uint8Array {
    const start = this.pos;
    this.skip(length);
    return this.bytes.subarray(start, this.pos);
  }

  name(): string {
    const at = this.pos;
    const raw = this.take(this.count('bytes of a name'));
    try {
      return text.decode(raw);
    } catch {
      throw invalid('a name is not UTF-8', at);
    }
  }

  /** Skips `length` bytes and returns a reader for them. */
  part(length: number): Reader {
    const start = this.pos;
    this.skip(length);
    return new Reader(this.bytes, start, this.pos);
  }
}

/** A byte buffer that grows. */
export class Writer {
  private buffer: Uint8Array;
  length = 0;

  constructor(capacity = 256) {
    this.buffer = new Uint8Array(capacity);
  }

  private reserve(more: number): void {
    const needed = this.length + more;
    if (needed <= this.buffer.length) return;
    const grown = new Uint8Array(Math.max(needed, this.buffer.length * 2));
    grown.set(this.buffer.subarray(0, this.length));
    this.buffer = grown;
  }

  u8(byte: number): this {
    if (this.length === this.buffer.length) this.reserve(1);
    this.buffer[this.length++] = byte;
    return this;
  }

  u32(value: number): this {
    let rest = value >>> 0;
    while (rest >= 0x80) {
      this.u8((rest & 0x7f) | 0x80);
      rest >>>= 7;
    }
    return this.u8(rest);
  }

  /** Signed LEB128 of a safe integer. */
  signed(value: number): this {
    let rest = value;
    while (rest < -0x40 || rest > 0x3f) {
      this.u8((rest - Math.floor(rest / 0x80) * 0x80) | 0x80);
      rest = Math.floor(rest / 0x80);
    }
    return this.u8(rest & 0x7f);
  }

  bytes(source: Uint8Array, start = 0, end = source.length): this {
    const length = end - start;
    this.reserve(length);
    if (length < 16) {
      for (let i = 0; i < length; i++) this.buffer[this.length + i] = source[start + i]!;
    } else {
      this.buffer.set(
        start === 0 && end === source.length ? source : source.subarray(start, end),
        this.length,
      );
    }
    this.length += length;
    return this;
  }

  name(value: string): this {
    const raw = new TextEncoder().encode(value);
    return this.u32(raw.length).bytes(raw);
  }

  /** A vector: the number of items, then each item as `write` appends it. */
  vector<T>(items: readonly T[], write: (to: this, item: T, index: number) => unknown): this {
    this.u32(items.length);
    for (const [i, item] of items.entries()) write(this, item, i);
    return this;
  }

  section(id: number, contents: Uint8Array): this {
    return this.u8(id).u32(contents.length).bytes(contents);
  }

  /** A view of the bytes written so far, valid until the next write. */
  view(): Uint8Array {
    return this.buffer.subarray(0, this.length);
  }

  clear(): this {
    this.length = 0;
    return this;
  }
}
