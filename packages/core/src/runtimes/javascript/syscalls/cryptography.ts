/**
 * System calls for hashes and key derivation, which Node.js computes natively: in the interpreter they take thousands of
 * times longer. Key derivation cannot be interrupted: the work of one call is bounded, and it does not start if the budget
 * or the remaining time does not cover it.
 */
import { createHash, createHmac, type Hash, type Hmac, hkdfSync, pbkdf2Sync, scryptSync } from 'node:crypto';
import { syscallError } from '../../../kernel/syscall-error.ts';
import { FUEL_PER_US } from '../../../kernel/syscalls.ts';
import {
  type Argument,
  attempt,
  GuestBytes,
  lenientDecoder,
  type SystemCall,
  slice,
  toInteger,
  toText,
} from './call-arguments.ts';
import { pay, payInSteps } from './host-work.ts';
import type { QuickJsGuest } from './quickjs-guest.ts';

const CALL_FUEL = 20 * FUEL_PER_US;
/** Fuel for a byte that is hashed. */
const BYTE_FUEL = 10;
/** Fuel for a unit of N × r × p of scrypt. */
const SCRYPT_FUEL = 500;
/** Maximum work of one key derivation, about half a second: 600,000 iterations of SHA-256, a common recommendation, and some bytes. */
const MAX_DERIVATION_FUEL = 610_000 * FUEL_PER_US;
/** The largest block of a digest in bytes, that of SHAKE128. HMAC replaces a longer key with its hash. */
const MAX_BLOCK_BYTES = 168;
const MAX_XOF_BYTES = 1 << 20;
const MAX_INFO_BYTES = 1024;
const MAX_NAME_BYTES = 16;

interface Digest {
  /** Length of a hash in bytes, or 0 for a function with an output of any length. */
  readonly bytes: number;
  /** Fuel for an iteration of PBKDF2. */
  readonly fuel: number;
}

/** The digests by the names that OpenSSL gives them. */
const DIGESTS: Readonly<Record<string, Digest>> = {
  md5: { bytes: 16, fuel: 2000 },
  ripemd160: { bytes: 20, fuel: 2000 },
  sha1: { bytes: 20, fuel: 1000 },
  sha224: { bytes: 28, fuel: 1000 },
  sha256: { bytes: 32, fuel: 1000 },
  sha384: { bytes: 48, fuel: 2000 },
  sha512: { bytes: 64, fuel: 2000 },
  'sha512-224': { bytes: 28, fuel: 2000 },
  'sha512-256': { bytes: 32, fuel: 2000 },
  'sha3-224': { bytes: 28, fuel: 4000 },
  'sha3-256': { bytes: 32, fuel: 4000 },
  'sha3-384': { bytes: 48, fuel: 4000 },
  'sha3-512': { bytes: 64, fuel: 4000 },
  blake2b512: { bytes: 64, fuel: 4000 },
  blake2s256: { bytes: 32, fuel: 4000 },
  shake128: { bytes: 0, fuel: 4000 },
  shake256: { bytes: 0, fuel: 4000 },
};

function digestOf(arg: Argument): Digest & { readonly name: string } {
  const { bytes } = toText(arg);
  const name = bytes.length > MAX_NAME_BYTES ? '' : lenientDecoder.decode(bytes);
  if (!Object.hasOwn(DIGESTS, name)) throw syscallError('EINVAL');
  return { name, ...DIGESTS[name]! };
}

/** The whole of an ArrayBuffer. */
function buffer(arg: Argument): Uint8Array {
  // The guest represents an empty buffer by a null pointer, which arrives as undefined.
  if (arg === undefined) return new Uint8Array();
  if (!(arg instanceof GuestBytes) || arg.isText) throw syscallError('EINVAL');
  return arg.bytes;
}

function count(arg: Argument): number {
  const value = toInteger(arg);
  if (value < 1) throw syscallError('EINVAL');
  return value;
}

function store(out: Uint8Array, bytes: Uint8Array): number {
  if (bytes.length > out.length) throw syscallError('EINVAL');
  out.set(bytes);
  return bytes.length;
}

function hashInSteps(guest: QuickJsGuest, state: Hash | Hmac, data: Uint8Array): Uint8Array {
  payInSteps(guest, data.length, BYTE_FUEL, (from, to) => state.update(data.subarray(from, to)));
  return attempt(() => state.digest());
}

/** Runs a key derivation that takes this much fuel. */
function derive(
  guest: QuickJsGuest,
  fuel: number,
  out: Uint8Array,
  compute: () => Uint8Array | ArrayBuffer,
): number {
  if (!(fuel <= MAX_DERIVATION_FUEL)) throw syscallError('E2BIG');
  guest.kernel.host.check(fuel / FUEL_PER_US / 1000);
  pay(guest, CALL_FUEL + fuel);
  return store(out, new Uint8Array(attempt(compute)));
}

/** All return the number of bytes that they store in the last argument. */
export const cryptoCalls: Readonly<Record<string, SystemCall>> = {
  /** The hash of the first `length` bytes of a buffer. For SHAKE, as many bytes as the result has. */
  digest: (guest, [algorithm, data, length, result]) => {
    const { name, bytes } = digestOf(algorithm);
    const out = buffer(result);
    if (out.length > MAX_XOF_BYTES) throw syscallError('E2BIG');
    const input = slice(data, 0, length);
    pay(guest, CALL_FUEL + BYTE_FUEL * out.length);
    const options = bytes === 0 ? { outputLength: out.length } : {};
    const state = attempt(() => createHash(name, options));
    return store(out, hashInSteps(guest, state, input));
  },
  hmac: (guest, [algorithm, key, data, length, result]) => {
    const { name } = digestOf(algorithm);
    const input = slice(data, 0, length);
    const secret = buffer(key);
    pay(guest, CALL_FUEL);
    const short =
      secret.length <= MAX_BLOCK_BYTES
        ? secret
        : hashInSteps(
            guest,
            attempt(() => createHash(name)),
            secret,
          );
    const state = attempt(() => createHmac(name, short));
    return store(buffer(result), hashInSteps(guest, state, input));
  },
  pbkdf2: (guest, [algorithm, password, salt, iterations, result]) => {
    const { name, bytes, fuel } = digestOf(algorithm);
    const [secret, salted, out, rounds] = [buffer(password), buffer(salt), buffer(result), count(iterations)];
    const blocks = Math.ceil(out.length / (bytes || 1));
    const work = BYTE_FUEL * secret.length + blocks * (BYTE_FUEL * salted.length + rounds * fuel);
    return derive(guest, work, out, () => pbkdf2Sync(secret, salted, rounds, out.length, name));
  },
  /** `cost` contains N, r and p as doubles. The memory it needs counts against the memory limit of the guest. */
  scrypt: (guest, [password, salt, cost, result]) => {
    const [secret, salted, costs, out] = [buffer(password), buffer(salt), buffer(cost), buffer(result)];
    if (costs.length !== 24) throw syscallError('EINVAL');
    const [N, r, p] = [...new Float64Array(costs.slice().buffer)].map(count) as [number, number, number];
    // The last step hashes the 128 r p bytes of the mixed block once for every 32 bytes of the result.
    const work =
      SCRYPT_FUEL * N * r * p +
      BYTE_FUEL * secret.length +
      4 * r * p * (BYTE_FUEL * salted.length + FUEL_PER_US) +
      Math.ceil(out.length / 32) * (BYTE_FUEL * 128 * r * p + FUEL_PER_US);
    const memory = 128 * r * (N + p + 2);
    if (!guest.memoryLimit.admits(memory)) throw syscallError('ENOMEM');
    return derive(guest, work, out, () =>
      scryptSync(secret, salted, out.length, { N, r, p, maxmem: memory + 1 }),
    );
  },
  hkdf: (guest, [algorithm, key, salt, info, result]) => {
    const { name, bytes, fuel } = digestOf(algorithm);
    const [secret, salted, context, out] = [buffer(key), buffer(salt), buffer(info), buffer(result)];
    if (context.length > MAX_INFO_BYTES || out.length > 255 * bytes) throw syscallError('EINVAL');
    const work =
      BYTE_FUEL * (secret.length + salted.length) +
      (1 + out.length / bytes) * (fuel + BYTE_FUEL * context.length);
    return derive(guest, work, out, () => hkdfSync(name, secret, salted, context, out.length));
  },
};
