/** Shared by the parts of the module `crypto`: hashes and key derivation by the host, and the conversion of arguments and results. */
import { LINUX_ERRNO } from '../../../linux-errno.js';
import { host } from '../../host-calls.js';
import { Buffer } from '../buffer.js';
import { codedError, invalidArgType, invalidArgValue, validateString } from './errors.js';

/** Names of digests and the lengths of their hashes; the default length for SHAKE. */
export const DIGEST_BYTES = Object.fromEntries(
  'md5:16 ripemd160:20 sha1:20 sha224:28 sha256:32 sha384:48 sha512:64 sha512-224:28 sha512-256:32 sha3-224:28 sha3-256:32 sha3-384:48 sha3-512:64 blake2b512:64 blake2s256:32 shake128:16 shake256:32'
    .split(' ')
    .map((row) => row.split(':'))
    .map(([name, bytes]) => [name, Number(bytes)]),
);
const ALIASES = { rmd160: 'ripemd160', ripemd: 'ripemd160' };
export const HASHES = [...Object.keys(DIGEST_BYTES), 'rmd160'];
/** Smallest buffer of a hash. */
const MIN_BUFFER_BYTES = 128;

const invalidDigest = (name) => codedError(TypeError, 'ERR_CRYPTO_INVALID_DIGEST', `Invalid digest: ${name}`);

/** The name that the host uses for a digest, or undefined. */
function digestName(name) {
  const lower = name
    .toLowerCase()
    .replace(/^(?:rsa-|ssl3-)/, '')
    .replace(/withrsa(?:encryption)?$/, '')
    .replace(/^sha-(?=\d)/, 'sha')
    .replace('/', '-');
  const known = ALIASES[lower] ?? lower;
  return Object.hasOwn(DIGEST_BYTES, known) ? known : undefined;
}

export function digestOf(name, argument = 'digest') {
  validateString(name, argument);
  const found = digestName(name);
  if (found === undefined) throw invalidDigest(name);
  return found;
}

export function hashOf(name) {
  validateString(name, 'algorithm');
  const found = digestName(name);
  if (found === undefined) throw new Error('Digest method not supported');
  return found;
}

const exact = (bytes) =>
  bytes.byteLength === bytes.buffer.byteLength
    ? bytes.buffer
    : bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength);

/** Bytes that are appended, in one buffer. */
class ByteCollector {
  #bytes = new Uint8Array(MIN_BUFFER_BYTES);
  length = 0;

  append(bytes) {
    const length = this.length + bytes.length;
    if (length > this.#bytes.length) {
      const larger = new Uint8Array(Math.max(length, 2 * this.#bytes.length));
      larger.set(this.#bytes.subarray(0, this.length));
      this.#bytes = larger;
    }
    this.#bytes.set(bytes, this.length);
    this.length = length;
  }
  get buffer() {
    return this.#bytes.buffer;
  }
  clone() {
    const copy = new ByteCollector();
    copy.append(this.#bytes.subarray(0, this.length));
    return copy;
  }
}

/** A hash or, with a key, an HMAC that is being computed. The host keeps no state, so it receives all bytes at the end. */
export class DigestState {
  #input;

  constructor(
    algorithm,
    key = undefined,
    outputBytes = DIGEST_BYTES[algorithm],
    input = new ByteCollector(),
  ) {
    this.algorithm = algorithm;
    this.key = key;
    this.outputBytes = outputBytes;
    this.#input = input;
  }
  update(bytes) {
    this.#input.append(bytes);
    return this;
  }
  digest() {
    const out = new Uint8Array(this.outputBytes);
    const { buffer, length } = this.#input;
    const stored =
      this.key === undefined
        ? host.digest(this.algorithm, buffer, length, out.buffer)
        : host.hmac(this.algorithm, exact(this.key), buffer, length, out.buffer);
    if (stored !== out.length) throw failureOf(stored, this.algorithm);
    return out;
  }
  clone() {
    return new DigestState(this.algorithm, this.key, this.outputBytes, this.#input.clone());
  }
}

export const digest = (algorithm, bytes) => new DigestState(algorithm).update(bytes).digest();
export const hmac = (algorithm, key, bytes) => new DigestState(algorithm, key).update(bytes).digest();

function failureOf(result, algorithm, limit = '') {
  if (result === -LINUX_ERRNO.E2BIG)
    return codedError(
      Error,
      'ERR_CRYPTO_OPERATION_FAILED',
      `This derivation exceeds what the sandbox computes in one call. Reduce ${limit}.`,
    );
  if (result === -LINUX_ERRNO.ENOMEM)
    return codedError(
      RangeError,
      'ERR_CRYPTO_INVALID_SCRYPT_PARAMS',
      'Invalid scrypt params: memory limit exceeded. The sandbox has too little memory for 128 * N * r bytes.',
    );
  return algorithm === undefined
    ? codedError(RangeError, 'ERR_CRYPTO_INVALID_SCRYPT_PARAMS', 'Invalid scrypt params')
    : invalidDigest(algorithm);
}

export function pbkdf2(algorithm, password, salt, iterations, length) {
  const out = new Uint8Array(length);
  const result = host.pbkdf2(algorithm, exact(password), exact(salt), iterations, out.buffer);
  if (length > 0 && result !== length) throw failureOf(result, algorithm, 'the number of iterations');
  return out;
}

export function scrypt(password, salt, { N, r, p }, length) {
  const out = new Uint8Array(length);
  const cost = new Float64Array([N, r, p]);
  const result = host.scrypt(exact(password), exact(salt), cost.buffer, out.buffer);
  if (length > 0 && result !== length) throw failureOf(result, undefined, 'N, r or p');
  return out;
}

export function hkdf(algorithm, key, salt, info, length) {
  if (length > 255 * DIGEST_BYTES[algorithm])
    throw codedError(RangeError, 'ERR_CRYPTO_INVALID_KEYLEN', 'Invalid key length');
  const out = new Uint8Array(length);
  const result = host.hkdf(algorithm, exact(key), exact(salt), exact(info), out.buffer);
  if (length > 0 && result !== length) throw failureOf(result, algorithm, 'the length of the key');
  return out;
}

const RANDOM_BYTES = 65_536;

/** Fills the bytes with random ones. The host gives a limited number at a time. */
export function fillRandom(bytes) {
  for (let at = 0; at < bytes.length; at += RANDOM_BYTES)
    host.random(bytes.buffer, bytes.byteOffset + at, Math.min(RANDOM_BYTES, bytes.length - at));
  return bytes;
}
export const randomBytes = (length) => fillRandom(new Uint8Array(length));

const VIEWS = ['Buffer', 'TypedArray', 'DataView'];
/** What a hash accepts, and what a key derivation accepts. */
export const DATA_TYPES = ['string', ...VIEWS];
export const KEY_TYPES = ['string', 'ArrayBuffer', ...VIEWS];

export function bytesOf(data, encoding, name = 'data', types = DATA_TYPES) {
  if (typeof data === 'string')
    return new Uint8Array(Buffer.from(data, encoding === 'buffer' ? 'utf8' : encoding));
  if (data instanceof ArrayBuffer) return new Uint8Array(data);
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (data instanceof SecretKeyObject) return data.data;
  throw invalidArgType(name, types, data);
}

export const output = (bytes, encoding) => {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return encoding === undefined || encoding === null || encoding === 'buffer'
    ? buffer
    : buffer.toString(encoding);
};

/** A key of a program. `data` are its bytes. */
export class KeyObject {
  constructor(type, data) {
    if (type !== 'secret') throw invalidArgValue('type', type);
    Object.defineProperty(this, 'type', { value: type, enumerable: false });
    Object.defineProperty(this, 'data', { value: data, enumerable: false });
  }
  get [Symbol.toStringTag]() {
    return 'KeyObject';
  }
}

export class SecretKeyObject extends KeyObject {
  constructor(bytes) {
    super('secret', bytes);
  }
  get symmetricKeySize() {
    return this.data.length;
  }
  export(options = undefined) {
    if (options?.format === 'jwk') return { kty: 'oct', k: Buffer.from(this.data).toString('base64url') };
    return Buffer.from(this.data);
  }
  equals(other) {
    if (!(other instanceof KeyObject)) throw invalidArgType('otherKeyObject', 'KeyObject', other);
    return other.type === 'secret' && Buffer.from(this.data).equals(Buffer.from(other.data));
  }
}
