/**
 * One output stream of a guest. At most `limit` bytes are stored; the rest is counted and dropped, so that the memory
 * used on the host is bounded no matter how much the guest writes.
 */
import { utf8Length } from '../fs/file-names.ts';

export class CappedOutput {
  #buffer = new Uint8Array(0);
  #length = 0;
  dropped = 0;

  constructor(readonly limit: number) {}

  /** Stores the bytes that fit and returns them. */
  push(bytes: Uint8Array): Uint8Array {
    const accepted = bytes.subarray(0, Math.max(0, this.limit - this.#length));
    this.dropped += bytes.length - accepted.length;
    if (accepted.length === 0) return accepted;
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

  /**
   * The output as text. Invalid UTF-8 becomes U+FFFD, and a character cut off by the cap is omitted. The text also
   * obeys the cap: U+FFFD takes three bytes, so bytes at the end are dropped when replacements make the text too long.
   */
  text(): string {
    let text = decode(this.#buffer.subarray(0, this.#length), this.truncated);
    if (this.#length * 3 <= this.limit || utf8Length(text) <= this.limit) return text;
    let [fits, tooLong] = [Math.floor(this.limit / 3), this.#length];
    while (tooLong - fits > 1) {
      const middle = (fits + tooLong) >>> 1;
      text = decode(this.#buffer.subarray(0, middle), true);
      if (utf8Length(text) <= this.limit) fits = middle;
      else tooLong = middle;
    }
    this.dropped += this.#length - fits;
    this.#length = fits;
    return decode(this.#buffer.subarray(0, fits), true);
  }
}

function decode(bytes: Uint8Array, isTruncated: boolean): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(
    isTruncated ? withoutPartialCharacter(bytes) : bytes,
  );
}

/** Removes an incomplete UTF-8 sequence from the end. */
function withoutPartialCharacter(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if ((byte & 0xc0) === 0x80) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needed > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}
