/** Signatures, encryption and key agreement with asymmetric keys. Loaded on first use. */
import { Buffer } from '../buffer.js';
import { Writable } from '../stream.js';
import { bytesOf, digest, digestOf, output, randomBytes } from './crypto-bytes.js';
import { codedError, invalidArgType, invalidArgValue, validateString } from './errors.js';
import { BYTE_KEYS, CURVES, curveOf, modulusBytes, privateKeyOf, publicKeyOf } from './keys.js';
import {
  digestInfo,
  padMessage,
  padOaep,
  padPss,
  padSignature,
  rawPrivate,
  rawPublic,
  unpadMessage,
  unpadOaep,
  unpadSignature,
  verifyPss,
} from './rsa.js';

export const CONSTANTS = {
  RSA_PKCS1_PADDING: 1,
  RSA_NO_PADDING: 3,
  RSA_PKCS1_OAEP_PADDING: 4,
  RSA_PKCS1_PSS_PADDING: 6,
  RSA_PSS_SALTLEN_DIGEST: -1,
  RSA_PSS_SALTLEN_MAX_SIGN: -2,
  RSA_PSS_SALTLEN_AUTO: -2,
  POINT_CONVERSION_COMPRESSED: 2,
  POINT_CONVERSION_UNCOMPRESSED: 4,
  POINT_CONVERSION_HYBRID: 6,
};
const { RSA_PKCS1_PADDING, RSA_NO_PADDING, RSA_PKCS1_OAEP_PADDING, RSA_PKCS1_PSS_PADDING } = CONSTANTS;
const { RSA_PSS_SALTLEN_DIGEST, RSA_PSS_SALTLEN_AUTO } = CONSTANTS;

const illegalPadding = () =>
  codedError(
    Error,
    'ERR_OSSL_EVP_ILLEGAL_OR_UNSUPPORTED_PADDING_MODE',
    'error:1C8000A5:Provider routines::illegal or unsupported padding mode',
  );

const equal = (a, b) => a.length === b.length && a.every((byte, i) => byte === b[i]);
const bitsOf = ({ n }) => n.toString(2).length;

/** The salt length of a signature, or undefined if any is accepted. */
function saltLength(key, hash, requested, isSigning) {
  const most = Math.ceil((bitsOf(key) - 1) / 8) - hash.length - 2;
  if (requested === RSA_PSS_SALTLEN_DIGEST) return hash.length;
  if (requested === RSA_PSS_SALTLEN_AUTO || requested === undefined) return isSigning ? most : undefined;
  return requested;
}

function rsaScheme(
  key,
  { padding = key.type === 'rsa-pss' ? RSA_PKCS1_PSS_PADDING : RSA_PKCS1_PADDING },
  name,
) {
  const isPss = padding === RSA_PKCS1_PSS_PADDING;
  if ((!isPss && padding !== RSA_PKCS1_PADDING) || (key.type === 'rsa-pss' && !isPss)) throw illegalPadding();
  if (key.pss !== undefined && key.pss.hash !== name)
    throw codedError(Error, 'ERR_OSSL_DIGEST_NOT_ALLOWED', 'digest not allowed');
  return isPss;
}

const maskName = (key, name) => [name, key.pss?.mask ?? name];

function signRsa(key, name, data, options) {
  const hash = digest(name, data);
  if (!rsaScheme(key, options, name))
    return rawPrivate(key, padSignature(modulusBytes(key), digestInfo(name, hash)));
  const length = saltLength(key, hash, options.saltLength, true);
  if (key.pss !== undefined && length < key.pss.saltLength)
    throw codedError(Error, 'ERR_OSSL_PSS_SALTLEN_TOO_SMALL', 'pss saltlen too small');
  return rawPrivate(key, padPss(bitsOf(key) - 1, hash, maskName(key, name), length));
}

function verifyRsa(key, name, data, signature, options) {
  const hash = digest(name, data);
  const isPss = rsaScheme(key, options, name);
  if (signature.length !== modulusBytes(key)) return false;
  let block;
  try {
    block = rawPublic(key, signature);
  } catch {
    return false;
  }
  if (!isPss) return equal(block, padSignature(block.length, digestInfo(name, hash)));
  const length = saltLength(key, hash, options.saltLength, false);
  return verifyPss(block, bitsOf(key) - 1, hash, maskName(key, name), length);
}

function ecFormat({ dsaEncoding = 'der' }) {
  if (dsaEncoding !== 'der' && dsaEncoding !== 'ieee-p1363')
    throw invalidArgValue('options.dsaEncoding', dsaEncoding);
  return { prehash: false, lowS: false, format: dsaEncoding === 'der' ? 'der' : 'compact' };
}

const EDWARDS = ['ed25519', 'ed448'];
const noSignature = () =>
  codedError(
    Error,
    'ERR_OSSL_EVP_OPERATION_NOT_SUPPORTED_FOR_THIS_KEYTYPE',
    'error:03000096:digital envelope routines::operation not supported for this keytype',
  );

/** The digest that signs: none for Ed25519 and Ed448, which have their own. */
function digestFor(key, name) {
  if (EDWARDS.includes(key.type)) {
    if (name !== null && name !== undefined)
      throw codedError(Error, 'ERR_CRYPTO_UNSUPPORTED_OPERATION', 'Unsupported crypto operation');
    return undefined;
  }
  if (Object.hasOwn(BYTE_KEYS, key.type)) throw noSignature();
  return digestOf(name ?? key.pss?.hash ?? 'sha256', 'algorithm');
}

function signWith(key, name, data, options) {
  const hash = digestFor(key, name);
  if (hash === undefined) return BYTE_KEYS[key.type].curve.sign(data, key.secret);
  if (key.type !== 'ec') return signRsa(key, hash, data, options);
  return CURVES[key.curve].curve.sign(digest(hash, data), key.secret, ecFormat(options));
}

function verifyWith(key, name, data, signature, options) {
  const hash = digestFor(key, name);
  if (hash !== undefined && key.type !== 'ec') return verifyRsa(key, hash, data, signature, options);
  const format = hash === undefined ? undefined : ecFormat(options);
  try {
    if (hash === undefined) return BYTE_KEYS[key.type].curve.verify(signature, data, key.point);
    return CURVES[key.curve].curve.verify(signature, digest(hash, data), key.point, format);
  } catch {
    // The library throws for a signature of the wrong form.
    return false;
  }
}

const optionsOf = (input) =>
  input !== null && typeof input === 'object' && !ArrayBuffer.isView(input) && 'key' in input ? input : {};

function checkOptions({ padding, saltLength: length }) {
  if (padding !== undefined && padding !== null && !Number.isInteger(padding))
    throw invalidArgValue('options.padding', padding);
  if (length !== undefined && length !== null && !Number.isInteger(length))
    throw invalidArgValue('options.saltLength', length);
}

const DATA = ['Buffer', 'TypedArray', 'DataView'];

export function sign(algorithm, data, input) {
  if (algorithm !== null && algorithm !== undefined) validateString(algorithm, 'algorithm');
  const bytes = bytesOf(data, undefined, 'data', ['ArrayBuffer', ...DATA]);
  const options = optionsOf(input);
  checkOptions(options);
  return Buffer.from(signWith(privateKeyOf(input), algorithm, bytes, options));
}

export function verify(algorithm, data, input, signature) {
  if (algorithm !== null && algorithm !== undefined) validateString(algorithm, 'algorithm');
  const bytes = bytesOf(data, undefined, 'data', ['ArrayBuffer', ...DATA]);
  const options = optionsOf(input);
  checkOptions(options);
  if (!ArrayBuffer.isView(signature) && !(signature instanceof ArrayBuffer))
    throw invalidArgType('signature', ['ArrayBuffer', ...DATA], signature);
  return verifyWith(publicKeyOf(input), algorithm, bytes, bytesOf(signature), options);
}

/** Collects the data of a signature. It is also a stream. */
class SignatureStream extends Writable {
  #parts = [];

  constructor(algorithm, options) {
    super(options);
    validateString(algorithm, 'algorithm');
    try {
      this.algorithm = digestOf(algorithm);
    } catch {
      throw codedError(Error, 'ERR_OSSL_EVP_UNSUPPORTED', `Invalid digest: ${algorithm}`);
    }
  }
  update(data, encoding = undefined) {
    this.#parts.push(Buffer.from(bytesOf(data, encoding, 'data', ['string', ...DATA])));
    return this;
  }
  _write(chunk, encoding, callback) {
    this.update(chunk, encoding);
    callback();
  }
  _data() {
    return Buffer.concat(this.#parts);
  }
}

export class Sign extends SignatureStream {
  sign(input, encoding = undefined) {
    if (!input) throw codedError(Error, 'ERR_CRYPTO_SIGN_KEY_REQUIRED', 'No key provided to sign');
    const options = optionsOf(input);
    checkOptions(options);
    const signature = signWith(privateKeyOf(input), this.algorithm, this._data(), options);
    return output(signature, encoding);
  }
}

export class Verify extends SignatureStream {
  verify(input, signature, encoding = undefined) {
    const options = optionsOf(input);
    checkOptions(options);
    const bytes = bytesOf(signature, encoding, 'signature', ['string', 'ArrayBuffer', ...DATA]);
    return verifyWith(publicKeyOf(input), this.algorithm, this._data(), bytes, options);
  }
}

// Encryption

const onlyRsa = (key) => {
  if (key.type !== 'rsa') throw noSignature();
  return key;
};
const oaep = ({ oaepHash = 'sha1', oaepLabel }) => [
  digestOf(oaepHash, 'key.oaepHash'),
  oaepLabel === undefined
    ? new Uint8Array()
    : bytesOf(oaepLabel, undefined, 'key.oaepLabel', ['ArrayBuffer', ...DATA]),
];
const dataOf = (data, options) =>
  bytesOf(data, options.encoding, 'buffer', ['string', 'ArrayBuffer', ...DATA]);

export function publicEncrypt(input, data) {
  const options = optionsOf(input);
  const { padding = RSA_PKCS1_OAEP_PADDING } = options;
  const key = onlyRsa(publicKeyOf(input));
  const [bytes, length] = [dataOf(data, options), modulusBytes(key)];
  if (padding === RSA_PKCS1_OAEP_PADDING)
    return Buffer.from(rawPublic(key, padOaep(length, bytes, ...oaep(options))));
  if (padding === RSA_PKCS1_PADDING) return Buffer.from(rawPublic(key, padMessage(length, bytes)));
  if (padding !== RSA_NO_PADDING) throw illegalPadding();
  return Buffer.from(rawPublic(key, wholeBlock(bytes, length)));
}

export function privateDecrypt(input, data) {
  const options = optionsOf(input);
  const { padding = RSA_PKCS1_OAEP_PADDING } = options;
  const block = rawPrivate(onlyRsa(privateKeyOf(input)), dataOf(data, options));
  if (padding === RSA_PKCS1_OAEP_PADDING) return Buffer.from(unpadOaep(block, ...oaep(options)));
  if (padding === RSA_PKCS1_PADDING) return Buffer.from(unpadMessage(block));
  if (padding !== RSA_NO_PADDING) throw illegalPadding();
  return Buffer.from(block);
}

function wholeBlock(bytes, length) {
  if (bytes.length === length) return bytes;
  throw codedError(
    Error,
    'ERR_OSSL_RSA_DATA_TOO_SMALL_FOR_KEY_SIZE',
    'error:0200007A:rsa routines::data too small for key size',
  );
}

export function privateEncrypt(input, data) {
  const options = optionsOf(input);
  const { padding = RSA_PKCS1_PADDING } = options;
  const key = onlyRsa(privateKeyOf(input));
  const [bytes, length] = [dataOf(data, options), modulusBytes(key)];
  if (padding === RSA_PKCS1_PADDING) return Buffer.from(rawPrivate(key, padSignature(length, bytes)));
  if (padding !== RSA_NO_PADDING) throw illegalPadding();
  return Buffer.from(rawPrivate(key, wholeBlock(bytes, length)));
}

export function publicDecrypt(input, data) {
  const options = optionsOf(input);
  const { padding = RSA_PKCS1_PADDING } = options;
  const block = rawPublic(onlyRsa(publicKeyOf(input)), dataOf(data, options));
  if (padding === RSA_PKCS1_PADDING) return Buffer.from(unpadSignature(block));
  if (padding !== RSA_NO_PADDING) throw illegalPadding();
  return Buffer.from(block);
}

// Key agreement

export function diffieHellman({ privateKey, publicKey }) {
  const [own, other] = [privateKeyOf(privateKey), publicKeyOf(publicKey)];
  if (own.type !== other.type || own.curve !== other.curve)
    throw codedError(
      Error,
      'ERR_CRYPTO_INCOMPATIBLE_KEY',
      `Incompatible key types for Diffie-Hellman: ${own.type} and ${other.type}`,
    );
  if (own.type === 'ec') return sharedSecret(own.curve, own.secret, other.point);
  if (!own.type.startsWith('x')) throw noSignature();
  return Buffer.from(BYTE_KEYS[own.type].curve.getSharedSecret(own.secret, other.point));
}

const sharedSecret = (curve, secret, point) =>
  Buffer.from(CURVES[curve].curve.getSharedSecret(secret, point, true).subarray(1));

const FORMATS = ['compressed', 'uncompressed', 'hybrid'];

function formatPoint(point, curve, format = 'uncompressed') {
  if (!FORMATS.includes(format))
    throw codedError(TypeError, 'ERR_CRYPTO_ECDH_INVALID_FORMAT', `Invalid ECDH format: ${format}`);
  const bytes = CURVES[curve].curve.Point.fromBytes(point).toBytes(format === 'compressed');
  if (format === 'hybrid') bytes[0] = 6 | (bytes.at(-1) & 1);
  return bytes;
}

const invalidPoint = () =>
  codedError(Error, 'ERR_CRYPTO_ECDH_INVALID_PUBLIC_KEY', 'Public key is not valid for specified curve');

export class ECDH {
  #curve;
  #secret;
  #point;

  constructor(curve) {
    validateString(curve, 'curve');
    this.#curve = curveOf(curve);
  }
  static convertKey(key, curve, inputEncoding, outputEncoding, format) {
    validateString(curve, 'curve');
    const bytes = bytesOf(key, inputEncoding, 'key', ['string', 'ArrayBuffer', ...DATA]);
    return output(formatPoint(bytes, curveOf(curve), format), outputEncoding);
  }
  generateKeys(encoding, format = undefined) {
    const { utils, lengths } = CURVES[this.#curve].curve;
    this.#setSecret(utils.randomSecretKey(randomBytes(lengths.seed)));
    return this.getPublicKey(encoding, format);
  }
  #setSecret(secret) {
    this.#secret = secret;
    this.#point = CURVES[this.#curve].curve.getPublicKey(secret, false);
  }
  computeSecret(key, inputEncoding, outputEncoding) {
    const bytes = bytesOf(key, inputEncoding, 'otherPublicKey', ['string', 'ArrayBuffer', ...DATA]);
    let shared;
    try {
      shared = sharedSecret(this.#curve, this.#secret, formatPoint(bytes, this.#curve));
    } catch {
      throw invalidPoint();
    }
    return output(shared, outputEncoding);
  }
  getPublicKey(encoding, format = undefined) {
    if (this.#point === undefined)
      throw codedError(Error, 'ERR_CRYPTO_ECDH_INVALID_PUBLIC_KEY', 'Failed to get ECDH public key');
    return output(formatPoint(this.#point, this.#curve, format), encoding);
  }
  getPrivateKey(encoding) {
    if (this.#secret === undefined)
      throw codedError(Error, 'ERR_CRYPTO_ECDH_INVALID_PRIVATE_KEY', 'Failed to get ECDH private key');
    return output(Uint8Array.from(this.#secret), encoding);
  }
  setPrivateKey(key, encoding) {
    const { curve } = CURVES[this.#curve];
    const bytes = bytesOf(key, encoding, 'key', ['string', 'ArrayBuffer', ...DATA]);
    const size = curve.lengths.secretKey;
    const secret = Uint8Array.from([...new Uint8Array(Math.max(0, size - bytes.length)), ...bytes]);
    if (!curve.utils.isValidSecretKey(secret))
      throw codedError(Error, 'ERR_CRYPTO_INVALID_KEYTYPE', 'Private key is not valid for specified curve.');
    this.#setSecret(secret);
    return this;
  }
}
