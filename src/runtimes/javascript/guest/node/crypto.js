/** The module `crypto`: hashes, HMAC, key derivation, random values. Ciphers and crypto.subtle are loaded on first use. */
import { hkdf } from '@noble/hashes/hkdf.js';
import { hmac } from '@noble/hashes/hmac.js';
import { pbkdf2 } from '@noble/hashes/pbkdf2.js';
import { scrypt } from '@noble/hashes/scrypt.js';
import { crypto as webcrypto } from '../crypto.js';
import { host } from '../host-calls.js';
import { load } from '../node-modules.js';
import { completeLater } from '../timers.js';
import { Buffer } from './buffer.js';
import { ALGORITHMS, algorithmOf, bytesOf, KeyObject, output } from './internal/crypto-bytes.js';
import {
  codedError,
  invalidArgType,
  outOfRange,
  validateFunction,
  validateInteger,
} from './internal/errors.js';
import { Transform } from './stream.js';

const RANDOM_BYTES = 65_536;

/** A hash or HMAC. It is also a stream. */
class Digest extends Transform {
  #state;
  #isFinished = false;

  constructor(state) {
    super();
    this.#state = state;
  }
  update(data, encoding = undefined) {
    if (this.#isFinished) throw codedError(Error, 'ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');
    this.#state.update(bytesOf(data, encoding));
    return this;
  }
  digest(encoding = undefined) {
    if (this.#isFinished) throw codedError(Error, 'ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');
    this.#isFinished = true;
    return output(this.#state.digest(), encoding);
  }
  _copyState() {
    return this.#state.clone();
  }
  _transform(chunk, encoding, callback) {
    this.update(chunk, encoding);
    callback();
  }
  _flush(callback) {
    this.push(this.digest());
    callback();
  }
}

export class Hash extends Digest {
  copy() {
    return new Hash(this._copyState());
  }
}
export class Hmac extends Digest {}

function fillRandom(bytes) {
  for (let at = 0; at < bytes.length; at += RANDOM_BYTES) {
    host.random(bytes.buffer, bytes.byteOffset + at, Math.min(RANDOM_BYTES, bytes.length - at));
  }
  return bytes;
}

/** Calls back later with the value of `action`, or returns it if there is no callback. */
function syncOrLater(callback, action) {
  if (callback === undefined) return action();
  validateFunction(callback, 'callback');
  const value = action();
  completeLater(() => callback(null, value));
  return undefined;
}

function randomBytes(size, callback = undefined) {
  if (typeof size !== 'number') throw invalidArgType('size', 'number', size);
  if (!(size >= 0 && size <= 2 ** 31 - 1)) throw outOfRange('size', '>= 0 && <= 2147483647', size);
  return syncOrLater(callback, () => fillRandom(Buffer.alloc(size)));
}

function randomInt(minOrMax, maxOrCallback = undefined, callbackValue = undefined) {
  const hasMin = typeof maxOrCallback === 'number';
  const [min, max] = hasMin ? [minOrMax, maxOrCallback] : [0, minOrMax];
  const callback = hasMin ? callbackValue : maxOrCallback;
  for (const [name, value] of [
    ['min', min],
    ['max', max],
  ])
    if (!Number.isSafeInteger(value)) throw invalidArgType(name, 'a safe integer', value);
  if (max <= min) throw outOfRange('max', `greater than the value of "min" (${min})`, max);
  const range = max - min;
  if (range > 2 ** 48 - 1) throw outOfRange(hasMin ? 'max - min' : 'max', `<= ${2 ** 48 - 1}`, range);
  return syncOrLater(callback, () => {
    const limit = 2 ** 48 - (2 ** 48 % range);
    for (;;) {
      const value = fillRandom(Buffer.alloc(6)).readUIntBE(0, 6);
      if (value < limit) return min + (value % range);
    }
  });
}

function randomFillSync(buffer, offset = 0, size = buffer.byteLength - offset) {
  fillRandom(new Uint8Array(buffer.buffer ?? buffer, (buffer.byteOffset ?? 0) + offset, size));
  return buffer;
}

function timingSafeEqual(a, b) {
  for (const [name, value] of [
    ['buf1', a],
    ['buf2', b],
  ]) {
    if (!ArrayBuffer.isView(value) && !(value instanceof ArrayBuffer))
      throw invalidArgType(name, ['ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'], value);
  }
  const [left, right] = [bytesOf(a), bytesOf(b)];
  if (left.length !== right.length)
    throw codedError(
      RangeError,
      'ERR_CRYPTO_TIMING_SAFE_EQUAL_LENGTH',
      'Input buffers must have the same byte length',
    );
  let difference = 0;
  for (let i = 0; i < left.length; i++) difference |= left[i] ^ right[i];
  return difference === 0;
}

function pbkdf2Sync(password, salt, iterations, length, digest) {
  validateInteger(iterations, 'iterations', 1, 2 ** 31 - 1);
  validateInteger(length, 'keylen', 0, 2 ** 31 - 1);
  return output(
    pbkdf2(algorithmOf(digest), bytesOf(password), bytesOf(salt), { c: iterations, dkLen: length }),
  );
}

function scryptSync(password, salt, length, options = {}) {
  const N = options.N ?? options.cost ?? 16_384;
  const r = options.r ?? options.blockSize ?? 8;
  const p = options.p ?? options.parallelization ?? 1;
  const maxmem = options.maxmem ?? 32 * 1024 * 1024;
  if (128 * N * r > maxmem)
    throw codedError(
      RangeError,
      'ERR_CRYPTO_INVALID_SCRYPT_PARAMS',
      'Invalid scrypt params: memory limit exceeded',
    );
  return output(
    scrypt(bytesOf(password), bytesOf(salt), { N, r, p, dkLen: length, maxmem: maxmem + 1024 * 1024 }),
  );
}

const hkdfSync = (digest, key, salt, info, length) => {
  const bytes = hkdf(algorithmOf(digest), bytesOf(key), bytesOf(salt), bytesOf(info), length);
  return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);
};

const withCallback =
  (call) =>
  (...args) => {
    const callback = args.pop();
    validateFunction(callback, 'callback');
    const value = call(...args);
    completeLater(() => callback(null, value));
  };

const ciphers = () => load('node:internal/ciphers');

const crypto = {
  createHash: (algorithm) => new Hash(algorithmOf(algorithm).create()),
  createHmac: (algorithm, key) => {
    if (key === undefined || key === null)
      throw invalidArgType(
        'key',
        ['string', 'ArrayBuffer', 'Buffer', 'TypedArray', 'DataView', 'KeyObject', 'CryptoKey'],
        key,
      );
    return new Hmac(hmac.create(algorithmOf(algorithm), bytesOf(key)));
  },
  createSecretKey: (key, encoding) => new KeyObject(bytesOf(key, encoding)),
  hash: (algorithm, data, encoding = 'hex') => output(algorithmOf(algorithm)(bytesOf(data)), encoding),
  getHashes: () => Object.keys(ALGORITHMS),
  getCiphers: () => ciphers().CIPHERS,
  createCipheriv: (...args) => ciphers().createCipher(ciphers().Cipheriv, ...args),
  createDecipheriv: (...args) => ciphers().createCipher(ciphers().Decipheriv, ...args),
  getCurves: () => [],
  getFips: () => 0,
  randomBytes,
  pseudoRandomBytes: randomBytes,
  randomInt,
  randomUUID: () => webcrypto.randomUUID(),
  randomFillSync,
  randomFill: withCallback(randomFillSync),
  getRandomValues: (array) => webcrypto.getRandomValues(array),
  timingSafeEqual,
  pbkdf2Sync,
  pbkdf2: withCallback(pbkdf2Sync),
  scryptSync,
  scrypt: withCallback(scryptSync),
  hkdfSync,
  hkdf: withCallback(hkdfSync),
  Hash,
  Hmac,
  KeyObject,
  webcrypto,
  get subtle() {
    return load('node:internal/subtle').subtle;
  },
  constants: {},
};
for (const name of [
  'createSign',
  'createVerify',
  'sign',
  'verify',
  'generateKeyPair',
  'generateKeyPairSync',
  'generateKey',
  'generateKeySync',
  'createDiffieHellman',
  'createECDH',
  'publicEncrypt',
  'privateDecrypt',
  'createPrivateKey',
  'createPublicKey',
]) {
  crypto[name] = () => {
    throw codedError(
      Error,
      'ERR_FEATURE_UNAVAILABLE_ON_PLATFORM',
      `crypto.${name} is not available in the sandbox. Hashes, HMAC, pbkdf2, scrypt, hkdf, AES ciphers and random values are.`,
    );
  };
}

export default crypto;
