/** crypto.subtle: digests, HMAC, AES and key derivation. Keys are held as bytes. Loaded on first use. */
import { Buffer } from '../buffer.js';
import { Cipheriv, Decipheriv } from './ciphers.js';
import { bytesOf, digest, digestOf, hkdf, hmac, pbkdf2 } from './crypto-bytes.js';
import { codedError, unavailable } from './errors.js';

const keyBytes = new WeakMap();
const AES = ['AES-CBC', 'AES-CTR', 'AES-GCM'];
const DERIVATIONS = ['PBKDF2', 'HKDF'];
const KNOWN = ['HMAC', ...AES, ...DERIVATIONS];
/** Key lengths of generated HMAC keys, in bits. */
const BLOCK_BITS = { 'SHA-1': 512, 'SHA-256': 512, 'SHA-384': 1024, 'SHA-512': 1024 };

export class CryptoKey {
  constructor(bytes, algorithm, extractable, usages) {
    this.type = 'secret';
    this.extractable = Boolean(extractable);
    this.algorithm = algorithm;
    this.usages = [...usages];
    keyBytes.set(this, bytes);
  }
  get [Symbol.toStringTag]() {
    return 'CryptoKey';
  }
}

const failure = (name, message) => new DOMException(message, name);
const buffer = (bytes) => bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);

/** The canonical name of an algorithm. Public-key algorithms are not available. */
function nameOf(algorithm) {
  const given = typeof algorithm === 'string' ? algorithm : algorithm?.name;
  const name = `${given}`.toUpperCase();
  if (KNOWN.includes(name)) return name;
  throw unavailable(
    `crypto.subtle does not support the algorithm ${given} in the sandbox. It supports ${KNOWN.join(', ')} and digests.`,
  );
}

function hashName(hash) {
  const name = `${typeof hash === 'string' ? hash : hash?.name}`.toUpperCase();
  if (!/^SHA-(?:1|256|384|512)$/.test(name))
    throw failure('NotSupportedError', 'Unrecognized algorithm name');
  return name;
}

function bytesFor(key, usage, name) {
  if (!(key instanceof CryptoKey)) throw new TypeError('The "key" argument must be a CryptoKey');
  if (key.algorithm.name !== name) throw failure('InvalidAccessError', 'Key algorithm mismatch');
  if (!key.usages.includes(usage))
    throw failure('InvalidAccessError', `The requested operation is not valid for the provided key`);
  return keyBytes.get(key);
}

function createKey(name, algorithm, bytes, extractable, usages) {
  if (AES.includes(name)) {
    if (![16, 24, 32].includes(bytes.length)) throw failure('DataError', 'Invalid key length');
    return new CryptoKey(bytes, { name, length: bytes.length * 8 }, extractable, usages);
  }
  if (name !== 'HMAC') return new CryptoKey(bytes, { name }, false, usages);
  const details = { name, hash: { name: hashName(algorithm.hash) }, length: bytes.length * 8 };
  return new CryptoKey(bytes, details, extractable, usages);
}

function aes(Type, usage, algorithm, key, data) {
  const name = nameOf(algorithm);
  const bytes = bytesFor(key, usage, name);
  const iv = name === 'AES-CTR' ? algorithm.counter : algorithm.iv;
  if (iv === undefined) throw new TypeError(`${name}: the initialization vector is missing`);
  const cipher = new Type(`aes-${bytes.length * 8}-${name.slice(4)}`, bytes, bytesOf(iv));
  let input = bytesOf(data);
  if (name === 'AES-GCM') {
    if (algorithm.additionalData !== undefined) cipher.setAAD(bytesOf(algorithm.additionalData));
    const tagBytes = (algorithm.tagLength ?? 128) / 8;
    if (usage === 'encrypt') {
      const text = Buffer.concat([cipher.update(input), cipher.final()]);
      return buffer(Buffer.concat([text, cipher.getAuthTag().subarray(0, tagBytes)]));
    }
    cipher.setAuthTag(input.subarray(input.length - tagBytes));
    input = input.subarray(0, input.length - tagBytes);
  }
  try {
    return buffer(Buffer.concat([cipher.update(input), cipher.final()]));
  } catch (cause) {
    throw Object.assign(failure('OperationError', 'The operation failed for an operation-specific reason'), {
      cause,
    });
  }
}

const mac = (algorithm, key, usage, data) =>
  hmac(digestOf(key.algorithm.hash.name), bytesFor(key, usage, nameOf(algorithm)), bytesOf(data));

function derive(algorithm, key, bits, usage) {
  const name = nameOf(algorithm);
  if (!DERIVATIONS.includes(name)) throw failure('NotSupportedError', 'Unrecognized algorithm name');
  const bytes = bytesFor(key, usage, name);
  const hash = digestOf(hashName(algorithm.hash));
  if (!(bits > 0) || bits % 8 !== 0) throw failure('OperationError', 'length must be a multiple of 8');
  const salt = bytesOf(algorithm.salt);
  if (name === 'HKDF') return hkdf(hash, bytes, salt, bytesOf(algorithm.info), bits / 8);
  return pbkdf2(hash, bytes, salt, algorithm.iterations, bits / 8);
}

const toJwk = (key) => {
  const { name, length, hash } = key.algorithm;
  const alg = name === 'HMAC' ? `HS${hash.name.slice(4)}` : `A${length}${name.slice(4)}`;
  const k = Buffer.from(keyBytes.get(key)).toString('base64url');
  return { key_ops: [...key.usages], ext: key.extractable, kty: 'oct', k, alg };
};

const methods = {
  async digest(algorithm, data) {
    return buffer(digest(digestOf(hashName(algorithm)), bytesOf(data)));
  },
  async importKey(format, data, algorithm, extractable, usages) {
    const name = nameOf(algorithm);
    if (format === 'raw') return createKey(name, algorithm, bytesOf(data).slice(), extractable, usages);
    if (format === 'jwk' && data?.kty === 'oct')
      return createKey(
        name,
        algorithm,
        new Uint8Array(Buffer.from(data.k, 'base64url')),
        extractable,
        usages,
      );
    throw failure('NotSupportedError', `Unable to import ${name} key using ${format} format`);
  },
  async exportKey(format, key) {
    if (!key.extractable) throw failure('InvalidAccessError', 'key is not extractable');
    if (format === 'raw') return buffer(keyBytes.get(key));
    if (format === 'jwk') return toJwk(key);
    throw failure('NotSupportedError', `Unable to export a secret key using ${format} format`);
  },
  async generateKey(algorithm, extractable, usages) {
    const name = nameOf(algorithm);
    if (DERIVATIONS.includes(name)) throw failure('NotSupportedError', 'Unrecognized algorithm name');
    const bits = algorithm.length ?? BLOCK_BITS[hashName(algorithm.hash)];
    const bytes = globalThis.crypto.getRandomValues(new Uint8Array(bits / 8));
    return createKey(name, algorithm, bytes, extractable, usages);
  },
  async sign(algorithm, key, data) {
    return buffer(mac(algorithm, key, 'sign', data));
  },
  async verify(algorithm, key, signature, data) {
    const [expected, given] = [mac(algorithm, key, 'verify', data), bytesOf(signature)];
    if (expected.length !== given.length) return false;
    return expected.reduce((difference, byte, i) => difference | (byte ^ given[i]), 0) === 0;
  },
  async encrypt(algorithm, key, data) {
    return aes(Cipheriv, 'encrypt', algorithm, key, data);
  },
  async decrypt(algorithm, key, data) {
    return aes(Decipheriv, 'decrypt', algorithm, key, data);
  },
  async deriveBits(algorithm, key, length) {
    return buffer(derive(algorithm, key, length, 'deriveBits'));
  },
  async deriveKey(algorithm, key, derived, extractable, usages) {
    const name = nameOf(derived);
    const bits = derived.length ?? BLOCK_BITS[hashName(derived.hash)];
    return createKey(name, derived, derive(algorithm, key, bits, 'deriveKey'), extractable, usages);
  },
};
for (const name of ['wrapKey', 'unwrapKey']) {
  methods[name] = async () => {
    throw unavailable(`crypto.subtle.${name} is not available in the sandbox. Use exportKey and encrypt.`);
  };
}

export class SubtleCrypto {
  constructor() {
    throw codedError(TypeError, 'ERR_ILLEGAL_CONSTRUCTOR', 'Illegal constructor');
  }
  get [Symbol.toStringTag]() {
    return 'SubtleCrypto';
  }
}
for (const [name, value] of Object.entries(methods))
  Object.defineProperty(SubtleCrypto.prototype, name, {
    value,
    writable: true,
    configurable: true,
    enumerable: true,
  });
export const subtle = Object.create(SubtleCrypto.prototype);
