/** The part of Web Crypto that provides random values. */
import { host } from './host-calls.js';
import { load } from './node-modules.js';

const MAX_BYTES = 65_536;

export class Crypto {
  constructor() {
    throw Object.assign(new TypeError('Illegal constructor'), { code: 'ERR_ILLEGAL_CONSTRUCTOR' });
  }
  getRandomValues(array) {
    if (!ArrayBuffer.isView(array) || array instanceof Float32Array || array instanceof Float64Array) {
      throw new TypeError('getRandomValues requires an integer typed array');
    }
    if (array.byteLength > MAX_BYTES) {
      throw new DOMException(
        `getRandomValues returns at most ${MAX_BYTES} bytes per call`,
        'QuotaExceededError',
      );
    }
    host.random(array.buffer, array.byteOffset, array.byteLength);
    return array;
  }
  randomUUID() {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    const hex = bytes.toHex();
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
  }
  /** Loaded on first use. */
  get subtle() {
    return load('node:internal/subtle').subtle;
  }
  get [Symbol.toStringTag]() {
    return 'Crypto';
  }
}
export const crypto = Object.create(Crypto.prototype);
