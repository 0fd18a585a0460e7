/** The module `crypto`: hashes, HMAC, key derivation, random values. Ciphers and crypto.subtle are loaded on first use. */
import { crypto as webcrypto } from '../crypto.js';
import { load } from '../node-modules.js';
import { completeLater } from '../timers.js';
import { Buffer } from './buffer.js';
import {
  bytesOf,
  DigestState,
  digest,
  digestOf,
  fillRandom,
  HASHES,
  hashOf,
  hkdf,
  KEY_TYPES,
  KeyObject,
  output,
  pbkdf2,
  SecretKeyObject,
  scrypt,
} from './internal/crypto-bytes.js';
import {
  codedError,
  invalidArgType,
  invalidArgValue,
  outOfRange,
  unavailable,
  validateBoolean,
  validateFunction,
  validateInteger,
  validateObject,
  validateString,
} from './internal/errors.js';
import { Transform } from './stream.js';

/** A hash or HMAC. It is also a stream. */
class Digest extends Transform {
  #state;
  /** The value that the stream delivered. */
  #result;
  #isFinished = false;

  constructor(state) {
    super();
    this.#state = state;
  }
  update(data, encoding = undefined) {
    if (this.#isFinished) throw codedError(Error, 'ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');
    if (encoding === 'hex' && typeof data === 'string' && data.length % 2 === 1)
      throw codedError(
        TypeError,
        'ERR_INVALID_ARG_VALUE',
        `The argument 'encoding' is invalid for data of length ${data.length}. Received 'hex'`,
      );
    this.#state.update(bytesOf(data, encoding));
    return this;
  }
  digest(encoding = undefined) {
    if (this.#isFinished) throw codedError(Error, 'ERR_CRYPTO_HASH_FINALIZED', 'Digest already called');
    this.#isFinished = true;
    return output(this.#result ?? this.#state.digest(), encoding);
  }
  _copyState() {
    return this.#state.clone();
  }
  _transform(chunk, encoding, callback) {
    this.update(chunk, encoding);
    callback();
  }
  _flush(callback) {
    // The value can be asked for once more, after the stream has delivered it.
    this.#result = this.#state.digest();
    this.push(Buffer.from(this.#result));
    callback();
  }
}

export class Hash extends Digest {
  copy() {
    return new Hash(this._copyState());
  }
}
export class Hmac extends Digest {}

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

function keyOf(value, name) {
  if (value instanceof KeyObject) throw invalidArgType(name, KEY_TYPES, value);
  return bytesOf(value, undefined, name, KEY_TYPES);
}

function pbkdf2Sync(password, salt, iterations, length, digestName) {
  validateString(digestName, 'digest');
  const [secret, salted] = [keyOf(password, 'password'), keyOf(salt, 'salt')];
  validateInteger(iterations, 'iterations', 1, 2 ** 31 - 1);
  validateInteger(length, 'keylen', 0, 2 ** 31 - 1);
  return output(pbkdf2(digestOf(digestName), secret, salted, iterations, length));
}

const scryptError = (reason = '') =>
  codedError(RangeError, 'ERR_CRYPTO_INVALID_SCRYPT_PARAMS', `Invalid scrypt params${reason}`);

/** An option of scrypt, which has two names. */
function scryptOption(options, name, alias, fallback) {
  if (options[name] !== undefined && options[alias] !== undefined)
    throw codedError(Error, 'ERR_CRYPTO_SCRYPT_INVALID_PARAMETER', 'Invalid scrypt parameter');
  const value = options[name] ?? options[alias];
  if (value === undefined) return fallback;
  validateInteger(value, options[name] === undefined ? alias : name, 0, 2 ** 32 - 1);
  return value === 0 ? fallback : value;
}

function scryptSync(password, salt, length, options = {}) {
  const [secret, salted] = [keyOf(password, 'password'), keyOf(salt, 'salt')];
  validateInteger(length, 'keylen', 0, 2 ** 31 - 1);
  const N = scryptOption(options, 'N', 'cost', 16_384);
  const r = scryptOption(options, 'r', 'blockSize', 8);
  const p = scryptOption(options, 'p', 'parallelization', 1);
  const maxmem = options.maxmem ?? 32 * 1024 * 1024;
  validateInteger(maxmem, 'maxmem', 0);
  if (!Number.isInteger(Math.log2(N))) throw scryptError();
  if (N < 2 || 128 * r * (N + p + 2) > maxmem)
    throw scryptError(': error:030000AC:digital envelope routines::memory limit exceeded');
  return output(scrypt(secret, salted, { N, r, p }, length));
}

const hkdfSync = (digestName, key, salt, info, length) => {
  validateString(digestName, 'digest');
  const inputs = [bytesOf(key, undefined, 'ikm', KEY_TYPES), keyOf(salt, 'salt'), keyOf(info, 'info')];
  validateInteger(length, 'length', 0, 2 ** 31 - 1);
  if (inputs[2].length > 1024)
    throw outOfRange('info', 'must not contain more than 1024 bytes', inputs[2].length);
  return hkdf(digestOf(digestName), ...inputs, length).buffer;
};

function createHash(algorithm, options = undefined) {
  const name = hashOf(algorithm);
  const outputLength = options?.outputLength;
  if (outputLength === undefined) return new Hash(new DigestState(name));
  validateInteger(outputLength, 'options.outputLength', 0, 2 ** 32 - 1);
  const state = new DigestState(name, undefined, outputLength);
  if (!name.startsWith('shake') && outputLength !== new DigestState(name).outputBytes)
    throw codedError(
      Error,
      'ERR_OSSL_EVP_NOT_XOF_OR_INVALID_LENGTH',
      'error:030000B2:digital envelope routines::not XOF or invalid length',
    );
  return new Hash(state);
}

function createHmac(algorithm, key) {
  validateString(algorithm, 'hmac');
  if (key === undefined || key === null)
    throw invalidArgType(
      'key',
      ['string', 'ArrayBuffer', 'Buffer', 'TypedArray', 'DataView', 'KeyObject', 'CryptoKey'],
      key,
    );
  return new Hmac(new DigestState(digestOf(algorithm, 'hmac'), bytesOf(key)));
}

/** A class whose instances `create` makes, with `new` and without. */
const callable = (Class, create) =>
  new Proxy(Class, { apply: (_, __, args) => create(...args), construct: (_, args) => create(...args) });

const withCallback =
  (call) =>
  (...args) => {
    const callback = args.pop();
    validateFunction(callback, 'callback');
    const value = call(...args);
    completeLater(() => callback(null, value));
  };

const ciphers = () => load('node:internal/ciphers');

/** The functions and classes for asymmetric keys, certificates and prime numbers. They throw. */
const REFUSED =
  'checkPrime checkPrimeSync createDiffieHellman createDiffieHellmanGroup createECDH createPrivateKey createPublicKey createSign createVerify diffieHellman generateKeyPair generateKeyPairSync generatePrime generatePrimeSync getDiffieHellman privateDecrypt privateEncrypt publicDecrypt publicEncrypt sign verify DiffieHellman DiffieHellmanGroup ECDH Sign Verify X509Certificate';
const refused = Object.fromEntries(
  REFUSED.split(' ').map((name) => {
    const instead = name.includes('Prime')
      ? 'isPrime of the package mathjs'
      : 'createHmac or createCipheriv with a shared key, or a tool that has the key pair';
    const fail = () => {
      throw unavailable(`crypto.${name} is not available in the sandbox. Use ${instead}.`);
    };
    return [name, new Proxy(class {}, { apply: fail, construct: fail })];
  }),
);

function generateKeySync(type, options) {
  validateString(type, 'type');
  validateObject(options, 'options');
  const { length } = options;
  if (type === 'hmac') validateInteger(length, 'options.length', 8, 2 ** 31 - 1);
  else if (type !== 'aes') throw invalidArgValue('type', type, 'must be a supported key type');
  else if (![128, 192, 256].includes(length))
    throw invalidArgValue('options.length', length, 'must be one of: 128, 192, 256');
  return new SecretKeyObject(fillRandom(new Uint8Array(Math.floor(length / 8))));
}

const crypto = {
  createHash,
  createHmac,
  createSecretKey: (key, encoding) => new SecretKeyObject(bytesOf(key, encoding, 'key', KEY_TYPES).slice()),
  hash(algorithm, data, encoding = 'hex') {
    validateString(algorithm, 'algorithm');
    const bytes = bytesOf(data, undefined, 'input');
    validateString(encoding, 'outputEncoding');
    if (encoding !== 'buffer' && !Buffer.isEncoding(encoding))
      throw invalidArgValue('outputEncoding', encoding);
    return output(digest(hashOf(algorithm), bytes), encoding);
  },
  getHashes: () => [...HASHES],
  getCiphers: () => ciphers().CIPHERS,
  createCipheriv: (...args) => ciphers().createCipher(ciphers().Cipheriv, ...args),
  createDecipheriv: (...args) => ciphers().createCipher(ciphers().Decipheriv, ...args),
  getCurves: () => [],
  generateKeySync,
  generateKey: withCallback(generateKeySync),
  ...refused,
  getFips: () => 0,
  randomBytes,
  pseudoRandomBytes: randomBytes,
  randomInt,
  randomUUID(options = {}) {
    validateObject(options, 'options');
    if (options.disableEntropyCache !== undefined)
      validateBoolean(options.disableEntropyCache, 'options.disableEntropyCache');
    return webcrypto.randomUUID();
  },
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
  Hash: callable(Hash, createHash),
  Hmac: callable(Hmac, createHmac),
  KeyObject,
  webcrypto,
  get subtle() {
    return load('node:internal/subtle').subtle;
  },
  constants: {},
};
export default crypto;
