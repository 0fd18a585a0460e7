/** Prime numbers and the Diffie-Hellman exchange over them. The host raises numbers to powers. */
import { bytesOf, KEY_TYPES, output, randomBytes } from './crypto-bytes.js';
import { bigIntOf, bytesOfBigInt } from './der.js';
import {
  codedError,
  invalidArgType,
  outOfRange,
  validateBoolean,
  validateInteger,
  validateObject,
  validateString,
} from './errors.js';
import { byteLength, isPrime, modPow, randomPrime } from './rsa.js';

/** The bits and the last term of the prime numbers of RFC 2409 and RFC 3526. Others follow from the digits of pi. */
const GROUPS = {
  modp1: [768, 149686n],
  modp2: [1024, 129093n],
  modp5: [1536, 741804n],
  modp14: [2048, 124476n],
  modp15: [3072, 1690314n],
  modp16: [4096, 240904n],
  modp17: [6144, 929484n],
  modp18: [8192, 4743158n],
};
/** Longer secrets add no security. */
const SECRET_BITS = 512;
/** Bits that a rounded sum loses at most. */
const GUARD_BITS = 64;

/** arctan(1 / n), scaled. */
function inverseTangent(n, scale) {
  let [sum, term] = [0n, scale / n];
  for (let k = 1n; term !== 0n; k += 2n, term /= -n * n) sum += term / k;
  return sum;
}

/** A prime number of these RFCs: 2^n - 2^(n-64) - 1 + 2^64 * (floor(2^(n-130) * pi) + last). */
function groupPrime([bits, last]) {
  const scale = 1n << BigInt(bits - 130 + GUARD_BITS);
  const pi = (16n * inverseTangent(5n, scale) - 4n * inverseTangent(239n, scale)) >> BigInt(GUARD_BITS);
  return (1n << BigInt(bits)) - (1n << BigInt(bits - 64)) - 1n + ((pi + last) << 64n);
}

const bitLength = (value) => value.toString(2).length;
const number = (data, encoding, name) => bigIntOf(bytesOf(data, encoding, name, KEY_TYPES));

const numberOption = (value, name) => {
  if (value === undefined || typeof value === 'bigint') return value;
  return number(value, undefined, `options.${name}`);
};

export function generatePrimeSync(size, options = {}) {
  validateInteger(size, 'size', 2, 8192);
  validateObject(options, 'options');
  const { safe = false, bigint = false } = options;
  validateBoolean(safe, 'options.safe');
  validateBoolean(bigint, 'options.bigint');
  const add = numberOption(options.add, 'add');
  const rem = numberOption(options.rem, 'rem');
  if (add !== undefined && bitLength(add) > size)
    throw codedError(RangeError, 'ERR_OUT_OF_RANGE', 'invalid options.add');
  if (add !== undefined && rem !== undefined && add <= rem)
    throw codedError(RangeError, 'ERR_OUT_OF_RANGE', 'invalid options.rem');
  const prime = randomPrime(size, { safe, ...(add !== undefined && { add, rem: rem ?? 1n }) });
  return bigint ? prime : bytesOfBigInt(prime, Math.ceil(size / 8)).buffer;
}

export function checkPrimeSync(candidate, options = {}) {
  const value = typeof candidate === 'bigint' ? candidate : number(candidate, undefined, 'candidate');
  if (value < 0n) throw outOfRange('candidate', '>= 0', value);
  validateObject(options, 'options');
  const { checks = 0 } = options;
  validateInteger(checks, 'options.checks', 0, 2 ** 31 - 1);
  return isPrime(value, checks || undefined);
}

class Exchange {
  #prime;
  #generator;
  #secret;
  #public;

  constructor(prime, generator) {
    this.#prime = prime;
    this.#generator = generator;
  }
  get verifyError() {
    if (!isPrime(this.#prime)) return 1;
    return isPrime(this.#prime >> 1n) ? 0 : 2;
  }
  generateKeys(encoding) {
    const bits = Math.min(SECRET_BITS, bitLength(this.#prime) - 1);
    const limit = (1n << BigInt(bits)) - 1n;
    this.#secret ??= bigIntOf(randomBytes(Math.ceil(bits / 8))) & limit || 1n;
    this.#public = modPow(this.#generator, this.#secret, this.#prime);
    return this.getPublicKey(encoding);
  }
  computeSecret(key, inputEncoding, outputEncoding) {
    const other = number(key, inputEncoding, 'otherPublicKey');
    const problem = other < 2n ? 'small' : other > this.#prime - 2n ? 'large' : undefined;
    if (problem !== undefined)
      throw codedError(RangeError, 'ERR_CRYPTO_INVALID_KEYLEN', `Supplied key is too ${problem}`);
    const shared = modPow(other, secretOf(this.#secret), this.#prime);
    return output(bytesOfBigInt(shared, byteLength(this.#prime)), outputEncoding);
  }
  getPrime(encoding) {
    return output(bytesOfBigInt(this.#prime), encoding);
  }
  getGenerator(encoding) {
    return output(bytesOfBigInt(this.#generator), encoding);
  }
  getPublicKey(encoding) {
    if (this.#public === undefined)
      throw codedError(Error, 'ERR_CRYPTO_INVALID_KEYLEN', 'No public key - did you forget to generate one?');
    return output(bytesOfBigInt(this.#public), encoding);
  }
  getPrivateKey(encoding) {
    return output(bytesOfBigInt(secretOf(this.#secret)), encoding);
  }
  setPublicKey(key, encoding) {
    this.#public = number(key, encoding, 'key');
  }
  setPrivateKey(key, encoding) {
    this.#secret = number(key, encoding, 'key');
  }
}

function secretOf(secret) {
  if (secret !== undefined) return secret;
  throw codedError(Error, 'ERR_CRYPTO_INVALID_KEYLEN', 'No private key - did you forget to generate one?');
}

export class DiffieHellmanGroup extends Exchange {
  constructor(name) {
    validateString(name, 'name');
    const group = Object.hasOwn(GROUPS, name.toLowerCase()) ? GROUPS[name.toLowerCase()] : undefined;
    if (group === undefined) throw codedError(Error, 'ERR_CRYPTO_UNKNOWN_DH_GROUP', 'Unknown DH group');
    super(groupPrime(group), 2n);
  }
}
Object.assign(DiffieHellmanGroup.prototype, { setPublicKey: undefined, setPrivateKey: undefined });

function generatorOf(generator, encoding) {
  if (generator === undefined) return 2n;
  if (typeof generator !== 'number') return number(generator, encoding, 'generator');
  validateInteger(generator, 'generator', 0, 2 ** 31 - 1);
  return BigInt(generator);
}

export class DiffieHellman extends Exchange {
  constructor(sizeOrKey, keyEncoding, generator, generatorEncoding) {
    if (typeof sizeOrKey !== 'number' && typeof sizeOrKey !== 'string' && !isBytes(sizeOrKey))
      throw invalidArgType(
        'sizeOrKey',
        ['number', 'string', 'ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'],
        sizeOrKey,
      );
    // The encoding may be left out.
    const isEncoding = typeof keyEncoding === 'string' && keyEncoding !== 'buffer';
    const given =
      keyEncoding === undefined || isEncoding || keyEncoding === 'buffer' ? generator : keyEncoding;
    const base = generatorOf(given, given === generator ? generatorEncoding : generator);
    if (base < 2n) throw codedError(Error, 'ERR_OSSL_DH_BAD_GENERATOR', 'bad generator');
    if (typeof sizeOrKey === 'number') validateInteger(sizeOrKey, 'sizeOrKey', 2, 8192);
    const prime =
      typeof sizeOrKey === 'number'
        ? randomPrime(sizeOrKey, { safe: true })
        : number(sizeOrKey, isEncoding ? keyEncoding : undefined, 'sizeOrKey');
    super(prime, base);
  }
}

const isBytes = (value) => ArrayBuffer.isView(value) || value instanceof ArrayBuffer;
