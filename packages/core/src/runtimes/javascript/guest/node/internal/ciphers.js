/** The ciphers of the module `crypto`: AES in the modes CBC, CTR, ECB and GCM. Loaded on first use. */
import { ghash } from '@noble/ciphers/_polyval.js';
import { cbc, ctr, ecb } from '@noble/ciphers/aes.js';
import { Buffer } from '../buffer.js';
import { Transform } from '../stream.js';
import { bytesOf, output } from './crypto-bytes.js';
import { codedError, invalidArgType, validateString } from './errors.js';

const BLOCK = 16;
const NAME = /^(?:id-)?aes-?(128|192|256)-(cbc|ctr|ecb|gcm)$/i;
const UNPADDED = { disablePadding: true };

export const CIPHERS = [128, 192, 256].flatMap((bits) =>
  ['cbc', 'ctr', 'ecb', 'gcm'].map((mode) => `aes-${bits}-${mode}`),
);

const concat = (...parts) => new Uint8Array(Buffer.concat(parts));

/** Adds a number to the last `width` bytes of a counter of 16 bytes. */
function addToCounter(counter, blocks, width) {
  const sum = counter.slice();
  let carry = blocks;
  for (let i = BLOCK - 1; i >= BLOCK - width && carry > 0; i--) {
    carry += sum[i];
    sum[i] = carry % 256;
    carry = Math.floor(carry / 256);
  }
  return sum;
}

/** A key stream from a counter. Each call continues where the previous one stopped. */
function counterStream(key, start, width) {
  let position = 0;
  return (bytes) => {
    const skipped = position % BLOCK;
    const padded = concat(new Uint8Array(skipped), bytes);
    const first = Math.floor(position / BLOCK);
    position += bytes.length;
    if (width === BLOCK)
      return ctr(key, addToCounter(start, first, width))
        .encrypt(padded)
        .subarray(skipped);
    // The counter of GCM wraps around after 32 bits, so it cannot be left to the cipher.
    const stream = new Uint8Array(Math.ceil(padded.length / BLOCK) * BLOCK);
    for (let at = 0; at < stream.length; at += BLOCK)
      stream.set(addToCounter(start, first + at / BLOCK, width), at);
    const keys = stream.length === 0 ? stream : ecb(key, UNPADDED).encrypt(stream);
    return padded.map((byte, i) => byte ^ keys[i]).subarray(skipped);
  };
}

const length64 = (bytes) => {
  const view = new DataView(new ArrayBuffer(8));
  view.setBigUint64(0, BigInt(bytes) * 8n);
  return new Uint8Array(view.buffer);
};
const toBlocks = (bytes) => concat(bytes, new Uint8Array((BLOCK - (bytes.length % BLOCK)) % BLOCK));

/** Galois/counter mode: a key stream and a tag over the associated data and the encrypted text. */
class Galois {
  #key;
  #hashKey;
  #start;
  #stream;
  #encrypted = [];
  data = [];

  constructor(key, iv) {
    this.#key = key;
    this.#hashKey = ecb(key, UNPADDED).encrypt(new Uint8Array(BLOCK));
    this.#start =
      iv.length === 12
        ? concat(iv, Uint8Array.of(0, 0, 0, 1))
        : ghash(concat(toBlocks(iv), new Uint8Array(8), length64(iv.length)), this.#hashKey);
    this.#stream = counterStream(key, addToCounter(this.#start, 1, 4), 4);
  }
  crypt(bytes, isEncrypting) {
    const result = this.#stream(bytes);
    this.#encrypted.push(isEncrypting ? result : bytes.slice());
    return result;
  }
  tag() {
    const [data, text] = [concat(...this.data), concat(...this.#encrypted)];
    const hash = ghash(
      concat(toBlocks(data), toBlocks(text), length64(data.length), length64(text.length)),
      this.#hashKey,
    );
    const mask = ecb(this.#key, UNPADDED).encrypt(this.#start);
    return hash.map((byte, i) => byte ^ mask[i]);
  }
}

const wrongFinal = (reason, text) =>
  Object.assign(new Error(`error:${text}`), {
    library: 'Provider routines',
    reason,
    code: `ERR_OSSL_${reason.toUpperCase().replaceAll(' ', '_')}`,
  });

class Cipher extends Transform {
  #mode;
  #key;
  #iv;
  #isEncrypting;
  #pending = new Uint8Array();
  #isPadded = true;
  #isFinished = false;
  #crypt;
  #galois;
  #tag;
  #tagLength;

  constructor(isEncrypting, name, keyInput, ivInput, options = {}) {
    super();
    validateString(name, 'cipher');
    const match = NAME.exec(name);
    if (match === null)
      throw codedError(
        Error,
        'ERR_CRYPTO_UNKNOWN_CIPHER',
        `Unknown cipher: the sandbox has ${CIPHERS.join(', ')}`,
      );
    const key = bytesOf(keyInput, 'utf8', 'key').slice();
    const iv = ivInput === null ? new Uint8Array() : bytesOf(ivInput, 'utf8', 'iv').slice();
    this.#mode = match[2].toLowerCase();
    if (key.length * 8 !== Number(match[1]))
      throw codedError(RangeError, 'ERR_CRYPTO_INVALID_KEYLEN', 'Invalid key length');
    const isValidIv =
      this.#mode === 'ecb' ? iv.length === 0 : this.#mode === 'gcm' ? iv.length > 0 : iv.length === BLOCK;
    if (!isValidIv) throw codedError(TypeError, 'ERR_CRYPTO_INVALID_IV', 'Invalid initialization vector');
    this.#key = key;
    this.#iv = iv;
    this.#isEncrypting = isEncrypting;
    this.#tagLength = options?.authTagLength ?? BLOCK;
    if (this.#mode === 'gcm') {
      this.#galois = new Galois(key, iv);
      this.#crypt = (bytes) => this.#galois.crypt(bytes, isEncrypting);
    } else if (this.#mode === 'ctr') this.#crypt = counterStream(key, iv, BLOCK);
  }

  /** Encrypts or decrypts whole blocks. */
  #blocks(bytes) {
    if (bytes.length === 0) return bytes;
    const cipher = this.#mode === 'ecb' ? ecb(this.#key, UNPADDED) : cbc(this.#key, this.#iv, UNPADDED);
    const result = this.#isEncrypting ? cipher.encrypt(bytes) : cipher.decrypt(bytes);
    if (this.#mode === 'cbc') this.#iv = (this.#isEncrypting ? result : bytes).slice(-BLOCK);
    return result;
  }

  #update(bytes) {
    if (this.#crypt !== undefined) return this.#crypt(bytes);
    const all = concat(this.#pending, bytes);
    let size = all.length - (all.length % BLOCK);
    // The last block contains the padding, which is removed at the end.
    if (!this.#isEncrypting && this.#isPadded && size === all.length && size > 0) size -= BLOCK;
    this.#pending = all.slice(size);
    return this.#blocks(all.subarray(0, size));
  }

  #last() {
    if (this.#galois !== undefined) return this.#checkTag();
    if (this.#crypt !== undefined) return new Uint8Array();
    const rest = this.#pending;
    if (!this.#isPadded || !this.#isEncrypting) {
      if (rest.length % BLOCK !== 0 || (this.#isPadded && rest.length === 0))
        throw wrongFinal('wrong final block length', '1C80006B:Provider routines::wrong final block length');
      const blocks = this.#blocks(rest);
      if (!this.#isPadded) return blocks;
      const padding = blocks.at(-1);
      const isValid =
        padding >= 1 && padding <= BLOCK && blocks.subarray(-padding).every((byte) => byte === padding);
      if (!isValid) throw wrongFinal('bad decrypt', '1C800064:Provider routines::bad decrypt');
      return blocks.subarray(0, blocks.length - padding);
    }
    const padding = BLOCK - rest.length;
    return this.#blocks(concat(rest, new Uint8Array(padding).fill(padding)));
  }

  #checkTag() {
    const tag = this.#galois.tag();
    if (this.#isEncrypting) this.#tag = tag.subarray(0, this.#tagLength);
    else {
      const isEqual = this.#tag?.every((byte, i) => byte === tag[i]) ?? false;
      if (!isEqual) throw new Error('Unsupported state or unable to authenticate data');
    }
    return new Uint8Array();
  }

  #checkOpen() {
    if (this.#isFinished) {
      const error = wrongFinal('unsupported', '');
      throw Object.assign(new Error('Unsupported state'), { code: error.code });
    }
  }

  update(data, inputEncoding = undefined, outputEncoding = undefined) {
    this.#checkOpen();
    return output(this.#update(bytesOf(data, inputEncoding)), outputEncoding);
  }
  final(outputEncoding = undefined) {
    this.#checkOpen();
    this.#isFinished = true;
    return output(this.#last(), outputEncoding);
  }
  setAutoPadding(isPadded = true) {
    this.#isPadded = Boolean(isPadded);
    return this;
  }
  setAAD(data) {
    if (this.#galois === undefined) throw invalidState('setAAD');
    this.#galois.data.push(bytesOf(data, undefined, 'buffer').slice());
    return this;
  }
  getAuthTag() {
    if (this.#galois === undefined || !this.#isEncrypting || this.#tag === undefined)
      throw invalidState('getAuthTag');
    return Buffer.from(this.#tag);
  }
  setAuthTag(tag, encoding = undefined) {
    if (this.#galois === undefined || this.#isEncrypting) throw invalidState('setAuthTag');
    const bytes = bytesOf(tag, encoding, 'tag').slice();
    if (![4, 8, 12, 13, 14, 15, 16].includes(bytes.length))
      throw codedError(
        TypeError,
        'ERR_CRYPTO_INVALID_AUTH_TAG',
        `Invalid authentication tag length: ${bytes.length}`,
      );
    this.#tag = bytes;
    return this;
  }
  _transform(chunk, encoding, callback) {
    this.push(this.update(chunk, encoding));
    callback();
  }
  _flush(callback) {
    try {
      this.push(this.final());
      callback();
    } catch (error) {
      callback(error);
    }
  }
}

const invalidState = (name) =>
  codedError(Error, 'ERR_CRYPTO_INVALID_STATE', `Invalid state for operation ${name}`);

export class Cipheriv extends Cipher {
  constructor(...args) {
    super(true, ...args);
  }
}
export class Decipheriv extends Cipher {
  constructor(...args) {
    super(false, ...args);
  }
}

/** Names without a mode are those of CBC. */
const fullName = (name) => (/^aes-?(?:128|192|256)$/i.test(name) ? `${name}-cbc` : name);

/** Checks the arguments that Node.js checks first. */
export function createCipher(Type, name, key, iv, options) {
  if (iv !== null && typeof iv !== 'string' && !ArrayBuffer.isView(iv) && !(iv instanceof ArrayBuffer))
    throw invalidArgType('iv', ['string', 'ArrayBuffer', 'Buffer', 'TypedArray', 'DataView'], iv);
  return new Type(fullName(name), key, iv, options);
}
