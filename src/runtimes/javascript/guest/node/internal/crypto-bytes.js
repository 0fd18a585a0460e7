/** Shared by the parts of the module `crypto`: hash algorithms, and the conversion of arguments and results. */
import { blake2b, blake2s } from '@noble/hashes/blake2.js';
import { md5, ripemd160, sha1 } from '@noble/hashes/legacy.js';
import { sha224, sha256, sha384, sha512, sha512_224, sha512_256 } from '@noble/hashes/sha2.js';
import { sha3_224, sha3_256, sha3_384, sha3_512 } from '@noble/hashes/sha3.js';
import { Buffer } from '../buffer.js';
import { invalidArgType, validateString } from './errors.js';

export const ALGORITHMS = {
  md5,
  sha1,
  sha224,
  sha256,
  sha384,
  sha512,
  'sha512-224': sha512_224,
  'sha512-256': sha512_256,
  'sha3-224': sha3_224,
  'sha3-256': sha3_256,
  'sha3-384': sha3_384,
  'sha3-512': sha3_512,
  blake2b512: blake2b,
  blake2s256: blake2s,
  ripemd160,
  rmd160: ripemd160,
};

export function algorithmOf(name) {
  validateString(name, 'algorithm');
  const lower = name
    .toLowerCase()
    .replace(/^(?:rsa-|ssl3-)/, '')
    .replace(/^sha-(?=\d)/, 'sha');
  if (!Object.hasOwn(ALGORITHMS, lower)) {
    throw new Error('Digest method not supported');
  }
  return ALGORITHMS[lower];
}

export function bytesOf(data, encoding, name = 'data') {
  if (typeof data === 'string')
    return new Uint8Array(Buffer.from(data, encoding === 'buffer' ? 'utf8' : encoding));
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof KeyObject) return data.bytes;
  throw invalidArgType(name, ['string', 'Buffer', 'TypedArray', 'DataView'], data);
}

export const output = (bytes, encoding) => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return encoding === undefined || encoding === null || encoding === 'buffer'
    ? buffer
    : buffer.toString(encoding);
};

export class KeyObject {
  constructor(bytes) {
    this.type = 'secret';
    Object.defineProperty(this, 'bytes', { value: bytes, enumerable: false });
  }
  get symmetricKeySize() {
    return this.bytes.length;
  }
  export() {
    return Buffer.from(this.bytes);
  }
}
