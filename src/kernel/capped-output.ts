/**
 * One output stream of a guest, capped as it arrives: at most `limit` bytes are ever held, the rest is counted and
 * dropped, so a flood costs the host neither memory nor disk.
 */
import { utf8Length } from '../fs/file-names.ts';

export class CappedOutput {
  #buffer = new Uint8Array(0);
  #length = 0;
  dropped = 0;

  constructor(readonly limit: number) {}

  /** Keeps what fits and returns just that part. */
  push(bytes: Uint8Array): Uint8Array {
    const kept = bytes.subarray(0, Math.max(0, this.limit - this.#length));
    this.dropped += bytes.length - kept.length;
    if (kept.length === 0) return kept;
    const needed = this.#length + kept.length;
    if (needed > this.#buffer.length) {
      const grown = new Uint8Array(Math.min(this.limit, Math.max(needed, this.#buffer.length * 2, 1024)));
      grown.set(this.#buffer.subarray(0, this.#length));
      this.#buffer = grown;
    }
    this.#buffer.set(kept, this.#length);
    this.#length = needed;
    return kept;
  }

  get truncated(): boolean {
    return this.dropped > 0;
  }

  /**
   * The text so far; bytes that are not UTF-8 become U+FFFD, and a character cut by the cap is left out. The text keeps
   * to the cap as well, although U+FFFD takes three bytes: what that pushes out is dropped.
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

function decode(bytes: Uint8Array, isCut: boolean): string {
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(isCut ? withoutPartialCharacter(bytes) : bytes);
}

/** Takes off an incomplete UTF-8 sequence at the end. */
function withoutPartialCharacter(bytes: Uint8Array): Uint8Array {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if ((byte & 0xc0) === 0x80) continue;
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
    return needed > back ? bytes.subarray(0, bytes.length - back) : bytes;
  }
  return bytes;
}
