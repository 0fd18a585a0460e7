/**
 * Asymmetric keys: RSA, elliptic curves, Ed25519, Ed448, X25519 and X448. A key is read from and written as PEM, DER or JWK.
 * Loaded on first use.
 */
import { load } from '../../node-modules.js';
import { Buffer } from '../buffer.js';
import { bytesOf, DIGEST_BYTES, digest, digestOf, KeyObject, pbkdf2, randomBytes } from './crypto-bytes.js';
import {
  bigIntOf,
  bitString,
  bytesOfBigInt,
  integer,
  nothing,
  objectId,
  octetString,
  readSequence,
  sequence,
  tagged,
} from './der.js';
import {
  codedError,
  invalidArgType,
  invalidArgValue,
  validateInteger,
  validateObject,
  validateString,
} from './errors.js';
import { byteLength, completeKey, digestById, digestId, generateRsa } from './rsa.js';

/** A named curve. The numbers that it computes with take time to set up, so it is loaded on first use. */
class Curve {
  constructor(name, id, jwk) {
    this.name = name;
    this.id = id;
    this.jwk = jwk;
  }
  get curve() {
    return load(`node:internal/curves/${this.name}`).curve;
  }
}
const curves = (rows) => Object.fromEntries(rows.map(([name, id, jwk]) => [name, new Curve(name, id, jwk)]));

export const CURVES = curves([
  ['prime256v1', '1.2.840.10045.3.1.7', 'P-256'],
  ['secp384r1', '1.3.132.0.34', 'P-384'],
  ['secp521r1', '1.3.132.0.35', 'P-521'],
  ['secp256k1', '1.3.132.0.10', 'secp256k1'],
]);
const CURVE_ALIASES = {
  'P-256': 'prime256v1',
  secp256r1: 'prime256v1',
  'P-384': 'secp384r1',
  'P-521': 'secp521r1',
};
/** Keys that are a string of bytes. */
export const BYTE_KEYS = curves([
  ['ed25519', '1.3.101.112', 'Ed25519'],
  ['ed448', '1.3.101.113', 'Ed448'],
  ['x25519', '1.3.101.110', 'X25519'],
  ['x448', '1.3.101.111', 'X448'],
]);
const RSA_ID = '1.2.840.113549.1.1.1';
const PSS_ID = '1.2.840.113549.1.1.10';
const MASK_ID = '1.2.840.113549.1.1.8';
const EC_ID = '1.2.840.10045.2.1';
const PBES2_ID = '1.2.840.113549.1.5.13';
const PBKDF2_ID = '1.2.840.113549.1.5.12';
const HMAC_IDS = { sha1: '1.2.840.113549.2.7', sha256: '1.2.840.113549.2.9', sha512: '1.2.840.113549.2.11' };
const CIPHER_IDS = {
  'aes-128-cbc': '2.16.840.1.101.3.4.1.2',
  'aes-192-cbc': '2.16.840.1.101.3.4.1.22',
  'aes-256-cbc': '2.16.840.1.101.3.4.1.42',
};
const ITERATIONS = 2048;
/** Iterations of PBKDF2 that a stored key may ask for. */
const MAX_ITERATIONS = 1_000_000n;

const nameById = (table, id) => Object.keys(table).find((name) => (table[name].id ?? table[name]) === id);
const unsupported = (message = 'error:1E08010C:DECODER routines::unsupported') =>
  codedError(Error, 'ERR_OSSL_UNSUPPORTED', message);

export function curveOf(name) {
  const found = CURVE_ALIASES[name] ?? name;
  if (!Object.hasOwn(CURVES, found))
    throw codedError(TypeError, 'ERR_CRYPTO_INVALID_CURVE', 'Invalid EC curve name');
  return found;
}

// Reading

function readAlgorithm({ children: [id, parameters] }) {
  const type = id.objectId;
  if (type === RSA_ID) return { type: 'rsa' };
  if (type === PSS_ID) return { type: 'rsa-pss', ...(parameters && { pss: readPss(parameters) }) };
  if (type === EC_ID) {
    const curve = nameById(CURVES, parameters.objectId);
    if (curve === undefined) throw unsupported();
    return { type: 'ec', curve };
  }
  const name = nameById(BYTE_KEYS, type);
  if (name === undefined) throw unsupported();
  return { type: name };
}

function readPss(parameters) {
  const pss = { hash: 'sha1', mask: 'sha1', saltLength: 20 };
  for (const {
    tag,
    children: [value],
  } of parameters.children) {
    if (tag === 0xa0) pss.hash = digestById(value.children[0].objectId);
    else if (tag === 0xa1) pss.mask = digestById(value.children[1].children[0].objectId);
    else if (tag === 0xa2) pss.saltLength = Number(value.integer);
  }
  return pss;
}

function readRsaPrivate(bytes) {
  const [, n, e, d, p, q] = readSequence(bytes).map((part) => part.integer);
  return completeKey({ n, e, d, p, q });
}

function readRsaPublic(bytes) {
  const [n, e] = readSequence(bytes).map((part) => part.integer);
  return { n, e };
}

const publicPoint = (curve, secret) => CURVES[curve].curve.getPublicKey(secret, false);

function readEcPrivate(bytes, known) {
  const [, secret, ...rest] = readSequence(bytes);
  const named = rest.find(({ tag }) => tag === 0xa0)?.children[0].objectId;
  const curve = known ?? nameById(CURVES, named);
  if (curve === undefined) throw unsupported();
  return { type: 'ec', curve, secret: secret.octets, point: publicPoint(curve, secret.octets) };
}

function readPrivateInfo(bytes) {
  const [, algorithm, content] = readSequence(bytes);
  const key = readAlgorithm(algorithm);
  if (key.type === 'ec') return readEcPrivate(content.octets, key.curve);
  if (key.type.startsWith('rsa')) return { ...key, ...readRsaPrivate(content.octets) };
  const secret = innerOctets(content.octets);
  return { ...key, secret, point: BYTE_KEYS[key.type].curve.getPublicKey(secret) };
}

/** The contents of the octet string that the bytes are. */
const innerOctets = (bytes) => readSequence(sequence(bytes))[0].octets;

function readPublicInfo(bytes) {
  const [algorithm, content] = readSequence(bytes);
  const key = readAlgorithm(algorithm);
  if (key.type.startsWith('rsa')) return { ...key, ...readRsaPublic(content.bits) };
  if (key.type !== 'ec') return { ...key, point: content.bits };
  return { ...key, point: CURVES[key.curve].curve.Point.fromBytes(content.bits).toBytes(false) };
}

function decryptPrivateInfo(bytes, passphrase) {
  const [algorithm, content] = readSequence(bytes);
  const [id, parameters] = algorithm.children;
  if (id.objectId !== PBES2_ID) throw unsupported();
  const [derivation, scheme] = parameters.children;
  const [salt, iterations, ...rest] = derivation.children[1].children;
  const cipher = nameById(CIPHER_IDS, scheme.children[0].objectId);
  const prf = rest.find(({ tag }) => tag === 0x30)?.children[0].objectId ?? HMAC_IDS.sha1;
  const hash = nameById(HMAC_IDS, prf);
  if (cipher === undefined || hash === undefined || iterations.integer > MAX_ITERATIONS) throw unsupported();
  const length = Number(cipher.slice(4, 7)) / 8;
  const key = pbkdf2(hash, bytesOf(passphrase), salt.octets, Number(iterations.integer), length);
  const { createCipher, Decipheriv } = load('node:internal/ciphers');
  const decipher = createCipher(Decipheriv, cipher, key, scheme.children[1].octets);
  try {
    return readPrivateInfo(Buffer.concat([decipher.update(content.octets), decipher.final()]));
  } catch {
    throw badDecrypt();
  }
}

function encryptPrivateInfo(bytes, cipher, passphrase) {
  if (!Object.hasOwn(CIPHER_IDS, cipher)) throw unknownCipher();
  const [salt, iv] = [randomBytes(16), randomBytes(16)];
  const key = pbkdf2('sha256', bytesOf(passphrase), salt, ITERATIONS, Number(cipher.slice(4, 7)) / 8);
  const { createCipher, Cipheriv } = load('node:internal/ciphers');
  const encrypter = createCipher(Cipheriv, cipher, key, iv);
  const prf = sequence(objectId(HMAC_IDS.sha256), nothing());
  const derivation = sequence(objectId(PBKDF2_ID), sequence(octetString(salt), integer(ITERATIONS), prf));
  const scheme = sequence(objectId(CIPHER_IDS[cipher]), octetString(iv));
  const data = Buffer.concat([encrypter.update(bytes), encrypter.final()]);
  return sequence(sequence(objectId(PBES2_ID), sequence(derivation, scheme)), octetString(data));
}

const unknownCipher = () => codedError(Error, 'ERR_CRYPTO_UNKNOWN_CIPHER', 'Unknown cipher');
const badDecrypt = () =>
  codedError(Error, 'ERR_OSSL_BAD_DECRYPT', 'error:1C800064:Provider routines::bad decrypt');
const missingPassphrase = () =>
  codedError(
    Error,
    'ERR_OSSL_CRYPTO_INTERRUPTED_OR_CANCELLED',
    'error:07880109:common libcrypto routines::interrupted or cancelled',
  );

const PEM = /-----BEGIN ([A-Z ]+)-----([\s\S]+?)-----END \1-----/;

/** Readers of keys, by the label of the PEM format or by the type of a DER key. */
const READERS = {
  'PRIVATE KEY': (bytes) => ({ isPrivate: true, ...readPrivateInfo(bytes) }),
  'ENCRYPTED PRIVATE KEY': (bytes, passphrase) => {
    if (passphrase === undefined) throw missingPassphrase();
    return { isPrivate: true, ...decryptPrivateInfo(bytes, passphrase) };
  },
  'RSA PRIVATE KEY': (bytes) => ({ isPrivate: true, type: 'rsa', ...readRsaPrivate(bytes) }),
  'EC PRIVATE KEY': (bytes) => ({ isPrivate: true, ...readEcPrivate(bytes) }),
  'PUBLIC KEY': readPublicInfo,
  'RSA PUBLIC KEY': (bytes) => ({ type: 'rsa', ...readRsaPublic(bytes) }),
};

function readPem(text, passphrase) {
  const [, label, body] = PEM.exec(text) ?? [];
  if (!Object.hasOwn(READERS, label ?? '')) throw unsupported();
  const [, cipher, iv] = ENCRYPTED_HEADER.exec(body) ?? [];
  if (cipher !== undefined && passphrase === undefined) throw missingPassphrase();
  const data = Buffer.from(cipher === undefined ? body : body.slice(body.indexOf('\n\n')), 'base64');
  const bytes = cipher === undefined ? data : decryptOlder(data, cipher.toLowerCase(), iv, passphrase);
  return parsed(() => READERS[label](new Uint8Array(bytes), passphrase));
}

const ENCRYPTED_HEADER = /DEK-Info: ([\w-]+),([0-9A-F]{32})/;

/** The key of the older encryption of PEM files: MD5 of the passphrase and the first bytes of the initialization vector. */
function olderKey(cipher, iv, passphrase) {
  if (!Object.hasOwn(CIPHER_IDS, cipher)) throw unknownCipher();
  const parts = [];
  const input = Buffer.concat([bytesOf(passphrase), iv.subarray(0, 8)]);
  for (let length = 0; length < 32; length += 16)
    parts.push(digest('md5', Buffer.concat([parts.at(-1) ?? new Uint8Array(), input])));
  return Buffer.concat(parts).subarray(0, Number(cipher.slice(4, 7)) / 8);
}

function decryptOlder(data, cipher, hex, passphrase) {
  const iv = Buffer.from(hex, 'hex');
  const { createCipher, Decipheriv } = load('node:internal/ciphers');
  const decipher = createCipher(Decipheriv, cipher, olderKey(cipher, iv, passphrase), iv);
  try {
    return Buffer.concat([decipher.update(data), decipher.final()]);
  } catch {
    throw badDecrypt();
  }
}

function encryptOlder(label, bytes, cipher, passphrase) {
  const iv = randomBytes(16);
  const { createCipher, Cipheriv } = load('node:internal/ciphers');
  const encrypter = createCipher(Cipheriv, cipher, olderKey(cipher, iv, passphrase), iv);
  const data = Buffer.concat([encrypter.update(bytes), encrypter.final()]);
  const hex = Buffer.from(iv).toString('hex').toUpperCase();
  const header = `Proc-Type: 4,ENCRYPTED\nDEK-Info: ${cipher.toUpperCase()},${hex}\n\n`;
  return toPem(label, data).replace('-----\n', `-----\n${header}`);
}

/** Errors of the format become those of Node.js. */
function parsed(read) {
  try {
    return read();
  } catch (error) {
    if (error.code !== undefined) throw error;
    throw codedError(Error, 'ERR_OSSL_ASN1_WRONG_TAG', 'error:068000A8:asn1 encoding routines::wrong tag');
  }
}

function readDer(bytes, { type, passphrase }, isPrivate) {
  return parsed(() => {
    if (type === 'pkcs1') return READERS[`RSA ${isPrivate ? 'PRIVATE' : 'PUBLIC'} KEY`](bytes);
    if (type === 'sec1') return READERS['EC PRIVATE KEY'](bytes);
    if (type === 'spki') return readPublicInfo(bytes);
    if (type !== 'pkcs8') throw invalidArgValue('options.type', type);
    const isEncrypted = readSequence(bytes)[0].tag === 0x30;
    return READERS[isEncrypted ? 'ENCRYPTED PRIVATE KEY' : 'PRIVATE KEY'](bytes, passphrase);
  });
}

const fromBase64Url = (text, name) => {
  validateString(text, name);
  return new Uint8Array(Buffer.from(text, 'base64url'));
};

function readJwk(jwk) {
  const field = (name) => fromBase64Url(jwk[name], `key.${name}`);
  const isPrivate = jwk.d !== undefined;
  if (jwk.kty === 'RSA') {
    const number = (name) => bigIntOf(field(name));
    const key = { type: 'rsa', n: number('n'), e: number('e') };
    if (!isPrivate) return key;
    return { isPrivate, ...key, ...completeKey({ ...key, d: number('d'), p: number('p'), q: number('q') }) };
  }
  if (jwk.kty === 'EC') {
    const curve = nameByJwk(CURVES, jwk.crv);
    if (curve === undefined) throw codedError(Error, 'ERR_CRYPTO_INVALID_CURVE', 'Invalid EC curve name');
    const point = Uint8Array.from([4, ...field('x'), ...field('y')]);
    return { isPrivate, type: 'ec', curve, point, ...(isPrivate && { secret: field('d') }) };
  }
  const type = jwk.kty === 'OKP' ? nameByJwk(BYTE_KEYS, jwk.crv) : undefined;
  if (type === undefined) throw invalidArgValue('key.kty', jwk.kty, 'must be one of: RSA, EC, OKP');
  return { isPrivate, type, point: field('x'), ...(isPrivate && { secret: field('d') }) };
}

const nameByJwk = (table, jwk) => Object.keys(table).find((name) => table[name].jwk === jwk);

// Writing

const digestAlgorithm = (name) => sequence(objectId(digestId(name)), nothing());

function algorithmOf(key) {
  if (key.type === 'rsa') return sequence(objectId(RSA_ID), nothing());
  if (key.type === 'ec') return sequence(objectId(EC_ID), objectId(CURVES[key.curve].id));
  if (key.type !== 'rsa-pss') return sequence(objectId(BYTE_KEYS[key.type].id));
  if (key.pss === undefined) return sequence(objectId(PSS_ID));
  const { hash, mask, saltLength } = key.pss;
  return sequence(
    objectId(PSS_ID),
    sequence(
      tagged(0, digestAlgorithm(hash)),
      tagged(1, sequence(objectId(MASK_ID), digestAlgorithm(mask))),
      tagged(2, integer(saltLength)),
    ),
  );
}

const rsaPublic = ({ n, e }) => sequence(integer(n), integer(e));
const rsaPrivate = ({ n, e, d, p, q, dp, dq, qi }) =>
  sequence(...[0, n, e, d, p, q, dp, dq, qi].map(integer));
const ecPrivate = (key, isAlone) =>
  sequence(
    integer(1),
    octetString(key.secret),
    ...(isAlone ? [tagged(0, objectId(CURVES[key.curve].id))] : []),
    tagged(1, bitString(key.point)),
  );

function privateInfo(key) {
  const content = key.type.startsWith('rsa')
    ? rsaPrivate(key)
    : key.type === 'ec'
      ? ecPrivate(key, false)
      : octetString(key.secret);
  return sequence(integer(0), algorithmOf(key), octetString(content));
}

const publicInfo = (key) =>
  sequence(algorithmOf(key), bitString(key.type.startsWith('rsa') ? rsaPublic(key) : key.point));

const base64Url = (bytes) => Buffer.from(bytes).toString('base64url');

function toJwk(key, isPrivate) {
  if (key.type === 'rsa-pss')
    throw codedError(Error, 'ERR_CRYPTO_JWK_UNSUPPORTED_KEY_TYPE', 'Unsupported JWK Key Type.');
  if (key.type === 'rsa') {
    const names = isPrivate ? ['n', 'e', 'd', 'p', 'q', 'dp', 'dq', 'qi'] : ['n', 'e'];
    return {
      kty: 'RSA',
      ...Object.fromEntries(names.map((name) => [name, base64Url(bytesOfBigInt(key[name]))])),
    };
  }
  const secret = isPrivate ? { d: base64Url(key.secret) } : {};
  if (key.type !== 'ec')
    return { crv: BYTE_KEYS[key.type].jwk, ...secret, x: base64Url(key.point), kty: 'OKP' };
  const size = (key.point.length - 1) / 2;
  const [x, y] = [key.point.subarray(1, 1 + size), key.point.subarray(1 + size)].map(base64Url);
  return { kty: 'EC', x, y, crv: CURVES[key.curve].jwk, ...secret };
}

const toPem = (label, bytes) => {
  const lines = Buffer.from(bytes)
    .toString('base64')
    .replace(/.{64}(?=.)/g, '$&\n');
  return `-----BEGIN ${label}-----\n${lines}\n-----END ${label}-----\n`;
};

const incompatible = (type, feature) =>
  codedError(Error, 'ERR_CRYPTO_INCOMPATIBLE_KEY_OPTIONS', `The selected key encoding ${type} ${feature}.`);

/** The label of the PEM format and the bytes of a private key. */
function encodePrivate(key, { type, cipher, passphrase }) {
  if (type === 'pkcs1' && key.type === 'rsa') return ['RSA PRIVATE KEY', rsaPrivate(key)];
  if (type === 'sec1' && key.type === 'ec') return ['EC PRIVATE KEY', ecPrivate(key, true)];
  if (type === 'pkcs1') throw incompatible(type, 'can only be used for RSA keys');
  if (type === 'sec1') throw incompatible(type, 'can only be used for EC keys');
  if (cipher === undefined) return ['PRIVATE KEY', privateInfo(key)];
  return ['ENCRYPTED PRIVATE KEY', encryptPrivateInfo(privateInfo(key), cipher, passphrase)];
}

const FORMATS = ['pem', 'der', 'jwk'];
const hasValue = (value) => value !== undefined && value !== null;

function validateEncoding(options, types, isPrivate, path) {
  const { format, type, cipher, passphrase } = options;
  if (format !== undefined && !FORMATS.includes(format)) throw invalidArgValue(`${path}.format`, format);
  if (format === 'jwk') {
    if (hasValue(passphrase)) throw incompatible('jwk', 'does not support encryption');
    return;
  }
  if (!types.includes(type)) throw invalidArgValue(`${path}.type`, type);
  if (!isPrivate) return;
  if (hasValue(cipher) && typeof cipher !== 'string') throw invalidArgValue(`${path}.cipher`, cipher);
  if (!hasValue(cipher)) {
    if (hasValue(passphrase)) throw invalidArgValue(`${path}.cipher`, cipher);
    return;
  }
  if (type !== 'pkcs8' && format === 'der') throw incompatible(type, 'does not support encryption');
  if (
    typeof passphrase !== 'string' &&
    !ArrayBuffer.isView(passphrase) &&
    !(passphrase instanceof ArrayBuffer)
  )
    throw invalidArgValue(`${path}.passphrase`, passphrase);
}

export function exportKey(key, isPrivate, options, path = 'options') {
  if (options?.format === 'jwk') {
    validateEncoding(options, [], isPrivate, path);
    return toJwk(key, isPrivate);
  }
  validateObject(options, path);
  validateEncoding(options, isPrivate ? ['pkcs1', 'pkcs8', 'sec1'] : ['pkcs1', 'spki'], isPrivate, path);
  let [label, bytes] = ['PUBLIC KEY', undefined];
  if (isPrivate) [label, bytes] = encodePrivate(key, options);
  else if (options.type === 'spki') bytes = publicInfo(key);
  else if (key.type === 'rsa') [label, bytes] = ['RSA PUBLIC KEY', rsaPublic(key)];
  else throw incompatible('pkcs1', 'can only be used for RSA keys');
  if (options.format === 'der') return Buffer.from(bytes);
  const isOlder = isPrivate && hasValue(options.cipher) && options.type !== 'pkcs8';
  return isOlder ? encryptOlder(label, bytes, options.cipher, options.passphrase) : toPem(label, bytes);
}

// Key objects

function detailsOf(key) {
  if (key.type === 'ec') return { namedCurve: key.curve };
  if (!key.type.startsWith('rsa')) return {};
  const details = { modulusLength: key.n.toString(2).length, publicExponent: key.e };
  if (key.pss === undefined) return details;
  const { hash, mask, saltLength } = key.pss;
  return { ...details, hashAlgorithm: hash, mgf1HashAlgorithm: mask, saltLength };
}

class AsymmetricKeyObject extends KeyObject {
  get asymmetricKeyType() {
    return this.data.type;
  }
  get asymmetricKeyDetails() {
    return detailsOf(this.data);
  }
  equals(other) {
    if (!(other instanceof KeyObject)) throw invalidArgType('otherKeyObject', 'KeyObject', other);
    const text = (key) =>
      Buffer.from(key.type === 'private' ? privateInfo(key.data) : publicInfo(key.data)).toString('hex');
    return other.type === this.type && text(this) === text(other);
  }
}

export class PublicKeyObject extends AsymmetricKeyObject {
  constructor(data) {
    super('public', data);
  }
  export(options) {
    return exportKey(this.data, false, options);
  }
}

export class PrivateKeyObject extends AsymmetricKeyObject {
  constructor(data) {
    super('private', data);
  }
  export(options) {
    return exportKey(this.data, true, options);
  }
}

const INPUT_TYPES = ['ArrayBuffer', 'Buffer', 'TypedArray', 'DataView', 'string', 'KeyObject', 'CryptoKey'];

/** The data of a key that a program passes: a key object, or one of the formats. */
function readKey(input, isPrivate) {
  if (input instanceof AsymmetricKeyObject) return { isPrivate: input.type === 'private', ...input.data };
  const isBytes = (value) =>
    typeof value === 'string' || ArrayBuffer.isView(value) || value instanceof ArrayBuffer;
  if (isBytes(input)) return readPem(textOf(input));
  if (input === null || typeof input !== 'object') throw invalidArgType('key', INPUT_TYPES, input);
  const { key, format = 'pem', passphrase } = input;
  if (key instanceof AsymmetricKeyObject) return readKey(key, isPrivate);
  if (format === 'jwk') {
    validateObject(key, 'key.key');
    return readJwk(key);
  }
  if (!isBytes(key)) throw invalidArgType('key.key', INPUT_TYPES, key);
  if (format === 'der') return readDer(bytesOf(key, input.encoding), input, isPrivate);
  if (format !== 'pem') throw invalidArgValue('options.format', format);
  return readPem(textOf(key), passphrase);
}

const textOf = (value) =>
  typeof value === 'string' ? value : Buffer.from(bytesOf(value)).toString('latin1');

/** Refuses key objects that contain no private key. */
function rejectOtherTypes(input) {
  if (input instanceof KeyObject && input.type !== 'private')
    throw codedError(
      TypeError,
      'ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE',
      `Invalid key object type ${input.type}, expected private.`,
    );
}

/** The private key of an argument. */
export function privateKeyOf(input) {
  rejectOtherTypes(input);
  const { isPrivate, ...key } = readKey(input, true);
  if (!isPrivate) throw unsupported();
  return key;
}

/** The public key of an argument, which may also be a private key. */
export function publicKeyOf(input) {
  const { isPrivate, ...key } = readKey(input, false);
  return key;
}

export const createPrivateKey = (input) => new PrivateKeyObject(privateKeyOf(input));

export function createPublicKey(input) {
  rejectOtherTypes(input);
  const { d, p, q, dp, dq, qi, secret, ...key } = publicKeyOf(input);
  return new PublicKeyObject(key);
}

// Generating

const uint32 = (value, name) => validateInteger(value, name, 0, 2 ** 32 - 1);

function generateRsaKey(type, options) {
  const { modulusLength, publicExponent = 0x10001, saltLength } = options;
  const { hashAlgorithm = options.hash, mgf1HashAlgorithm = options.mgf1Hash } = options;
  uint32(modulusLength, 'options.modulusLength');
  uint32(publicExponent, 'options.publicExponent');
  if (modulusLength < 512 || modulusLength > 8192)
    throw codedError(
      Error,
      'ERR_OSSL_RSA_KEY_SIZE_TOO_SMALL',
      'The sandbox generates RSA keys of 512 to 8192 bits',
    );
  if (publicExponent < 3 || publicExponent % 2 === 0)
    throw codedError(
      Error,
      'ERR_OSSL_RSA_PUB_EXPONENT_OUT_OF_RANGE',
      'error:020000B2:rsa routines::pub exponent out of range',
    );
  const key = { type, ...generateRsa(modulusLength, BigInt(publicExponent)) };
  if (type === 'rsa') return key;
  for (const [name, value] of Object.entries({ hashAlgorithm, mgf1HashAlgorithm }))
    if (value !== undefined) validateString(value, `options.${name}`);
  if (saltLength !== undefined) validateInteger(saltLength, 'options.saltLength', 0, 2 ** 31 - 1);
  if (hashAlgorithm === undefined && mgf1HashAlgorithm === undefined && saltLength === undefined) return key;
  const hash = digestOf(hashAlgorithm ?? 'sha1');
  const mask = mgf1HashAlgorithm === undefined ? hash : digestOf(mgf1HashAlgorithm);
  return { ...key, pss: { hash, mask, saltLength: saltLength ?? DIGEST_BYTES[hash] } };
}

function generateEcKey({ namedCurve, paramEncoding }) {
  validateString(namedCurve, 'options.namedCurve');
  if (hasValue(paramEncoding) && paramEncoding !== 'named')
    throw paramEncoding === 'explicit'
      ? unsupported('Explicit parameters of curves are not supported in the sandbox')
      : invalidArgValue('options.paramEncoding', paramEncoding);
  const curve = curveOf(namedCurve);
  const { utils, lengths } = CURVES[curve].curve;
  const secret = utils.randomSecretKey(randomBytes(lengths.seed));
  return { type: 'ec', curve, secret, point: publicPoint(curve, secret) };
}

function generateByteKey(type) {
  const { curve } = BYTE_KEYS[type];
  const secret = randomBytes(curve.lengths.secretKey);
  return { type, secret, point: curve.getPublicKey(secret) };
}

const KEY_TYPES = ['rsa', 'rsa-pss', 'ec', ...Object.keys(BYTE_KEYS)];

function generate(type, options) {
  validateString(type, 'type');
  if (type === 'dsa' || type === 'dh')
    throw unsupported(
      `Keys of the type ${type} are not supported in the sandbox. It has ${KEY_TYPES.join(', ')}.`,
    );
  if (!KEY_TYPES.includes(type)) throw invalidArgValue('type', type, 'must be a supported key type');
  if (Object.hasOwn(BYTE_KEYS, type)) {
    if (options !== undefined) validateObject(options, 'options');
    return generateByteKey(type);
  }
  validateObject(options, 'options');
  return type === 'ec' ? generateEcKey(options) : generateRsaKey(type, options);
}

/** A part of a generated pair, in the encoding that the options ask for. */
function encodedPart(key, isPrivate, options) {
  const name = isPrivate ? 'privateKeyEncoding' : 'publicKeyEncoding';
  const encoding = options?.[name];
  if (encoding === undefined || encoding === null)
    return isPrivate ? new PrivateKeyObject(key) : createPublicKey(new PrivateKeyObject(key));
  return exportKey(key, isPrivate, encoding, `options.${name}`);
}

function validateEncodings(options) {
  for (const name of ['publicKeyEncoding', 'privateKeyEncoding']) {
    const encoding = options?.[name];
    if (encoding === undefined || encoding === null) continue;
    if (typeof encoding !== 'object') throw invalidArgValue(`options.${name}`, encoding);
    const isPrivate = name.startsWith('private');
    validateEncoding(
      encoding,
      isPrivate ? ['pkcs1', 'pkcs8', 'sec1'] : ['pkcs1', 'spki'],
      isPrivate,
      `options.${name}`,
    );
  }
}

export function generateKeyPair(type, options) {
  if (KEY_TYPES.includes(type)) validateEncodings(options);
  const key = generate(type, options);
  return { publicKey: encodedPart(key, false, options), privateKey: encodedPart(key, true, options) };
}

export const modulusBytes = (key) => byteLength(key.n);
