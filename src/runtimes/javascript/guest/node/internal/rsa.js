/** RSA: keys, and the paddings of PKCS #1. The host raises numbers to powers. */
import { host } from '../../host-calls.js';
import { DIGEST_BYTES, digest, randomBytes } from './crypto-bytes.js';
import {
  bigIntOf,
  bytesOfBigInt,
  concat as concatAll,
  nothing,
  objectId,
  octetString,
  sequence,
} from './der.js';
import { codedError } from './errors.js';

export const byteLength = (number) => Math.ceil(number.toString(16).length / 2);

export function modPow(base, exponent, modulus) {
  const out = new Uint8Array(byteLength(modulus));
  const numbers = [base % modulus, exponent, modulus].map((number) => bytesOfBigInt(number).buffer);
  const stored = host.modPow(...numbers, out.buffer);
  if (stored !== out.length)
    throw codedError(
      Error,
      'ERR_CRYPTO_OPERATION_FAILED',
      'The sandbox computes with numbers of up to 8192 bits',
    );
  return bigIntOf(out);
}

function modInverse(value, modulus) {
  let [a, b, x, y] = [value % modulus, modulus, 1n, 0n];
  while (b !== 0n) {
    const quotient = a / b;
    [a, b, x, y] = [b, a - quotient * b, y, x - quotient * y];
  }
  return a === 1n ? (x + modulus) % modulus : undefined;
}

const SMALL_PRIMES = [];
for (let n = 3; n < 2_000; n += 2) if (SMALL_PRIMES.every((prime) => n % prime !== 0)) SMALL_PRIMES.push(n);
const PRODUCTS = SMALL_PRIMES.map(BigInt);

/** Miller-Rabin with random bases, for odd numbers above 3. */
function isProbablePrime(value, rounds) {
  let odd = value - 1n;
  let twos = 0;
  for (; odd % 2n === 0n; odd /= 2n) twos++;
  for (let round = 0; round < rounds; round++) {
    const base = 2n + (bigIntOf(randomBytes(16)) % (value - 3n));
    let power = modPow(base, odd, value);
    if (power === 1n || power === value - 1n) continue;
    let isComposite = true;
    for (let i = 1; i < twos && isComposite; i++) {
      power = (power * power) % value;
      if (power === value - 1n) isComposite = false;
    }
    if (isComposite) return false;
  }
  return true;
}

export function isPrime(value, rounds = 8) {
  if (value < 4n) return value === 2n || value === 3n;
  if (value % 2n === 0n) return false;
  for (const prime of PRODUCTS) if (value % prime === 0n) return value === prime;
  return isProbablePrime(value, rounds);
}

/** Numbers that are tried from a random one on. */
const TRIED = 4096;
/** Shorter numbers may be among the small prime numbers. */
const SIEVED_BITS = 16;

/** The first prime number among start, start + step and so on. If it is safe, half of it is prime as well. */
function firstPrime(start, step, safe, isSieved) {
  const primes = isSieved ? SMALL_PRIMES : [];
  const residues = primes.map((_, i) => Number(start % PRODUCTS[i]));
  const steps = primes.map((_, i) => Number(step % PRODUCTS[i]));
  const hasFactor = (k) =>
    primes.some((prime, i) => {
      const residue = (residues[i] + k * steps[i]) % prime;
      return residue === 0 || (safe && residue === 1);
    });
  for (let k = 0; k < TRIED; k++) {
    if (hasFactor(k)) continue;
    const candidate = start + BigInt(k) * step;
    const both = safe ? [candidate >> 1n, candidate] : [candidate];
    // Most numbers fail the first round.
    const test = isSieved ? isProbablePrime : isPrime;
    if (both.every((one) => test(one, 1)) && both.every((one) => test(one, 5))) return candidate;
  }
  return undefined;
}

/** A prime number of this length that is `rem` modulo `add`. Its two highest bits are set, so the product of two has twice the length. */
export function randomPrime(bits, { safe = false, add = safe ? 4n : 2n, rem = safe ? 3n : 1n } = {}) {
  for (;;) {
    const random = bigIntOf(randomBytes(Math.ceil(bits / 8))) & ((1n << BigInt(bits)) - 1n);
    const high = random | (3n << BigInt(bits - 2));
    const start = high + ((((rem - high) % add) + add) % add);
    const found = firstPrime(start, add, safe, bits > SIEVED_BITS);
    if (found !== undefined && found >> BigInt(bits) === 0n) return found;
  }
}

export function completeKey({ n, e, d, p, q }) {
  return { n, e, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: modInverse(q, p) };
}

export function generateRsa(bits, e) {
  for (;;) {
    const [p, q] = [randomPrime(Math.ceil(bits / 2)), randomPrime(Math.floor(bits / 2))].sort((a, b) =>
      a < b ? 1 : -1,
    );
    const d = modInverse(e, (p - 1n) * (q - 1n));
    if (p !== q && d !== undefined) return completeKey({ n: p * q, e, d, p, q });
  }
}

const failed = (message, code = 'ERR_OSSL_RSA_INVALID_PADDING') => codedError(Error, code, message);

export function rawPublic({ n, e }, bytes) {
  const value = bigIntOf(bytes);
  if (value >= n)
    throw failed(
      'error:0200007A:rsa routines::data too large for modulus',
      'ERR_OSSL_RSA_DATA_TOO_LARGE_FOR_MODULUS',
    );
  return bytesOfBigInt(modPow(value, e, n), byteLength(n));
}

export function rawPrivate({ n, p, q, dp, dq, qi }, bytes) {
  const value = bigIntOf(bytes);
  if (value >= n)
    throw failed(
      'error:0200007A:rsa routines::data too large for modulus',
      'ERR_OSSL_RSA_DATA_TOO_LARGE_FOR_MODULUS',
    );
  const [a, b] = [modPow(value, dp, p), modPow(value, dq, q)];
  const h = (((a - b) % p) + p) % p;
  return bytesOfBigInt(b + q * ((h * qi) % p), byteLength(n));
}

const DIGEST_IDS = {
  md5: '1.2.840.113549.2.5',
  ripemd160: '1.3.36.3.2.1',
  sha1: '1.3.14.3.2.26',
  sha224: '2.16.840.1.101.3.4.2.4',
  sha256: '2.16.840.1.101.3.4.2.1',
  sha384: '2.16.840.1.101.3.4.2.2',
  sha512: '2.16.840.1.101.3.4.2.3',
  'sha512-224': '2.16.840.1.101.3.4.2.5',
  'sha512-256': '2.16.840.1.101.3.4.2.6',
  'sha3-224': '2.16.840.1.101.3.4.2.7',
  'sha3-256': '2.16.840.1.101.3.4.2.8',
  'sha3-384': '2.16.840.1.101.3.4.2.9',
  'sha3-512': '2.16.840.1.101.3.4.2.10',
};
export const digestId = (name) => DIGEST_IDS[name];
export const digestById = (id) => Object.keys(DIGEST_IDS).find((name) => DIGEST_IDS[name] === id);

const concat = (...parts) => concatAll(parts);
const equal = (a, b) => a.length === b.length && a.every((byte, i) => byte === b[i]);
const filled = (length, byte) => new Uint8Array(length).fill(byte);

const tooLarge = () =>
  failed(
    'error:0200006E:rsa routines::data too large for key size',
    'ERR_OSSL_RSA_DATA_TOO_LARGE_FOR_KEY_SIZE',
  );

/** The block of a signature in the older scheme: type 1, PKCS #1 v1.5. */
export function padSignature(length, data) {
  if (data.length + 11 > length) throw tooLarge();
  return concat([0, 1], filled(length - data.length - 3, 0xff), [0], data);
}

export const digestInfo = (name, hash) =>
  DIGEST_IDS[name] === undefined
    ? hash
    : sequence(sequence(objectId(DIGEST_IDS[name]), nothing()), octetString(hash));

export function unpadSignature(block) {
  let at = 2;
  while (block[at] === 0xff) at++;
  if (block[0] !== 0 || block[1] !== 1 || at < 10 || block[at] !== 0)
    throw failed('error:02000072:rsa routines::padding check failed');
  return block.subarray(at + 1);
}

function mask(name, seed, length) {
  const parts = [];
  for (let i = 0, size = 0; size < length; i++, size += DIGEST_BYTES[name])
    parts.push(digest(name, concat(seed, [i >>> 24, (i >> 16) & 255, (i >> 8) & 255, i & 255])));
  return concat(...parts).subarray(0, length);
}

const xor = (a, b) => a.map((byte, i) => byte ^ b[i]);

/** The block of a signature of RSASSA-PSS. `hashes` are those of the data and of the mask. */
export function padPss(bits, hash, [name, maskName], saltLength) {
  const length = Math.ceil(bits / 8);
  if (length < hash.length + saltLength + 2) throw tooLarge();
  const salt = randomBytes(saltLength);
  const h = digest(name, concat(filled(8, 0), hash, salt));
  const data = concat(filled(length - salt.length - h.length - 2, 0), [1], salt);
  const masked = xor(data, mask(maskName, h, data.length));
  masked[0] &= 0xff >> (8 * length - bits);
  return concat(masked, h, [0xbc]);
}

export function verifyPss(block, bits, hash, [name, maskName], saltLength) {
  const length = Math.ceil(bits / 8);
  const encoded = block.subarray(block.length - length);
  const size = length - hash.length - 1;
  if (size < 1 || encoded.at(-1) !== 0xbc || block.subarray(0, block.length - length).some(Boolean))
    return false;
  const [masked, h] = [encoded.subarray(0, size), encoded.subarray(size, -1)];
  const data = xor(masked, mask(maskName, h, size));
  data[0] &= 0xff >> (8 * length - bits);
  const start = data.indexOf(1);
  if (start < 0 || data.subarray(0, start).some(Boolean)) return false;
  const salt = data.subarray(start + 1);
  if (saltLength !== undefined && salt.length !== saltLength) return false;
  return equal(h, digest(name, concat(filled(8, 0), hash, salt)));
}

export function padOaep(length, data, name, label) {
  const size = DIGEST_BYTES[name];
  if (data.length > length - 2 * size - 2) throw tooLarge();
  const block = concat(digest(name, label), filled(length - data.length - 2 * size - 2, 0), [1], data);
  const seed = randomBytes(size);
  const masked = xor(block, mask(name, seed, block.length));
  return concat([0], xor(seed, mask(name, masked, size)), masked);
}

export function unpadOaep(encoded, name, label) {
  const size = DIGEST_BYTES[name];
  const masked = encoded.subarray(1 + size);
  const seed = xor(encoded.subarray(1, 1 + size), mask(name, masked, size));
  const block = xor(masked, mask(name, seed, masked.length));
  const start = block.indexOf(1, size);
  const isValid =
    encoded[0] === 0 &&
    start > 0 &&
    equal(block.subarray(0, size), digest(name, label)) &&
    !block.subarray(size, start).some(Boolean);
  if (!isValid)
    throw failed('error:02000079:rsa routines::oaep decoding error', 'ERR_OSSL_RSA_OAEP_DECODING_ERROR');
  return block.subarray(start + 1);
}

/** The block of an encrypted message in the older scheme: type 2, PKCS #1 v1.5. */
export function padMessage(length, data) {
  if (data.length + 11 > length) throw tooLarge();
  const noise = randomBytes(length - data.length - 3).map((byte) => byte || 1);
  return concat([0, 2], noise, [0], data);
}

export function unpadMessage(block) {
  const end = block.indexOf(0, 2);
  if (block[0] !== 0 || block[1] !== 2 || end < 10)
    throw failed('error:0200009F:rsa routines::pkcs decoding error');
  return block.subarray(end + 1);
}
