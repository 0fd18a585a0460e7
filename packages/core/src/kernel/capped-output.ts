/**
 * One output stream of a guest. At most `limit` bytes are accepted; the rest is counted and dropped, so that the memory
 * used on the host is bounded no matter how much the guest writes. The limit applies to the bytes and to the text: each
 * invalid UTF-8 sequence becomes U+FFFD, which takes three bytes. Bytes are checked as they arrive, so that reading the
 * text takes one pass over at most `limit` bytes.
 */

const REPLACEMENT_BYTES = 3;
const EMPTY: Uint8Array = new Uint8Array(0);

export class CappedOutput {
  #buffer = EMPTY;
  #length = 0;
  /** Bytes that the text may still grow by. */
  #room: number;
  /** The beginning of a character whose other bytes have not arrived. */
  #partial: Uint8Array = EMPTY;
  dropped = 0;

  constructor(readonly limit: number) {
    this.#room = limit;
  }

  /** Stores what fits and returns it: complete characters, which may have begun in an earlier call. */
  push(bytes: Uint8Array): Uint8Array {
    if (this.truncated) {
      this.dropped += bytes.length;
      return EMPTY;
    }
    const input = this.#partial.length === 0 ? bytes : concatenate(this.#partial, bytes);
    this.#partial = EMPTY;
    let at = 0;
    while (at < input.length) {
      const size = input[at]! < 0x80 ? 1 : characterBytes(input, at);
      if (size === 0) {
        this.#partial = input.slice(at);
        return this.#store(input.subarray(0, at));
      }
      const cost = size > 0 ? size : REPLACEMENT_BYTES;
      if (cost > this.#room) break;
      this.#room -= cost;
      at += Math.abs(size);
    }
    this.dropped += input.length - at;
    return this.#store(input.subarray(0, at));
  }

  /** Ends the output: stores a character that was never completed, if it fits, and returns its bytes. */
  finish(): Uint8Array {
    const partial = this.#partial;
    this.#partial = EMPTY;
    if (partial.length === 0) return EMPTY;
    if (this.#room < REPLACEMENT_BYTES) {
      this.dropped += partial.length;
      return EMPTY;
    }
    this.#room -= REPLACEMENT_BYTES;
    return this.#store(partial);
  }

  #store(accepted: Uint8Array): Uint8Array {
    const needed = this.#length + accepted.length;
    if (needed > this.#buffer.length) {
      const grown = new Uint8Array(Math.min(this.limit, Math.max(needed, this.#buffer.length * 2, 1024)));
      grown.set(this.#buffer.subarray(0, this.#length));
      this.#buffer = grown;
    }
    this.#buffer.set(accepted, this.#length);
    this.#length = needed;
    return accepted;
  }

  get truncated(): boolean {
    return this.dropped > 0;
  }

  /** The finished output as text. */
  text(): string {
    this.finish();
    if (this.#length === 0) return '';
    return new TextDecoder('utf-8', { ignoreBOM: true }).decode(this.#buffer.subarray(0, this.#length));
  }
}

function concatenate(a: Uint8Array, b: Uint8Array): Uint8Array {
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
}

/**
 * The length of the multi-byte character at a position; 0 if more bytes are needed to tell; for an invalid sequence,
 * minus the number of bytes that decoders replace with one U+FFFD.
 */
function characterBytes(bytes: Uint8Array, at: number): number {
  const lead = bytes[at]!;
  const size = lead < 0xc2 || lead > 0xf4 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (size === 0) return -1;
  for (let i = 1; i < size; i++) {
    if (at + i === bytes.length) return 0;
    const byte = bytes[at + i]!;
    // Some lead bytes limit the second byte, which excludes overlong forms, surrogates and code points above U+10FFFF.
    const least = i > 1 ? 0x80 : lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
    const most = i > 1 ? 0xbf : lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
    if (byte < least || byte > most) return -i;
  }
  return size;
}
