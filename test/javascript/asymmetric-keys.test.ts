/** Key pairs, signatures and encryption of `crypto` in the guest. The counterpart is the `crypto` of Node.js. */
import crypto, { type KeyObject } from 'node:crypto';
import { createSandbox } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { sharedByFile } from '../support/shared.ts';

const sandbox = await sharedByFile(
  createSandbox({
    runtime: 'javascript',
    policy: { fuel_budget: 2e10, timeout_seconds: 120 },
  }),
);

/** Runs a program that has `crypto` and `input`, and returns its last value. */
async function run(program: string, input: unknown = {}): Promise<unknown> {
  const result = await sandbox.execute(
    `const crypto = require('crypto'); const input = JSON.parse(require('fs').readFileSync('/app/input.json', 'utf8'));\n${program}`,
    { files: { 'input.json': JSON.stringify(input) } },
  );
  expect(result.stderr).toBe('');
  return result.metadata.result;
}

const PKCS8 = { type: 'pkcs8', format: 'pem' } as const;
const SPKI = { type: 'spki', format: 'pem' } as const;
const LOCK = { cipher: 'aes-256-cbc', passphrase: 'secret' } as const;
const MESSAGE = 'a message';

/** Type, options, and the digest that signs. */
const KEYS = [
  ['rsa', { modulusLength: 1024 }, 'sha256'],
  ['ec', { namedCurve: 'P-256' }, 'sha256'],
  ['ec', { namedCurve: 'secp256k1' }, 'sha512'],
  ['ed25519', {}, null],
] as const;

interface Exported {
  readonly publicKey: string;
  readonly privateKey: string;
  readonly locked: string;
  readonly jwk: crypto.JsonWebKey;
  readonly signature: string;
}

function hostKeys(type: string, options: object, digest: string | null): Exported {
  const generate = crypto.generateKeyPairSync as unknown as (
    type: string,
    options: object,
  ) => Record<'publicKey' | 'privateKey', KeyObject>;
  const { publicKey, privateKey } = generate(type, options);
  return {
    publicKey: publicKey.export(SPKI) as string,
    privateKey: privateKey.export(PKCS8) as string,
    locked: privateKey.export({ ...PKCS8, ...LOCK }) as string,
    jwk: privateKey.export({ format: 'jwk' }),
    signature: crypto.sign(digest, Buffer.from(MESSAGE), privateKey).toString('hex'),
  };
}

describe.each(KEYS)('a key of the type %s with %j', (type, options, digest) => {
  test('that the guest makes is one for Node.js', async () => {
    const made = (await run(
      `const { publicKey, privateKey } = crypto.generateKeyPairSync(input.type, input.options);
       ({ publicKey: publicKey.export(input.spki), privateKey: privateKey.export(input.pkcs8),
          locked: privateKey.export({ ...input.pkcs8, ...input.lock }), jwk: privateKey.export({ format: 'jwk' }),
          signature: crypto.sign(input.digest, Buffer.from(input.message), privateKey).toString('hex') })`,
      { type, options, digest, spki: SPKI, pkcs8: PKCS8, lock: LOCK, message: MESSAGE },
    )) as Exported;
    const key = crypto.createPrivateKey(made.privateKey);
    expect(key.export(PKCS8)).toBe(made.privateKey);
    expect(crypto.createPublicKey(made.publicKey).equals(crypto.createPublicKey(key))).toBe(true);
    expect(crypto.createPrivateKey({ key: made.locked, passphrase: LOCK.passphrase }).equals(key)).toBe(true);
    expect(crypto.createPrivateKey({ key: made.jwk, format: 'jwk' }).equals(key)).toBe(true);
    const signature = Buffer.from(made.signature, 'hex');
    expect(crypto.verify(digest, Buffer.from(MESSAGE), made.publicKey, signature)).toBe(true);
  });

  test('that Node.js makes is one for the guest', async () => {
    const keys = hostKeys(type, options, digest);
    const result = await run(
      `const key = crypto.createPrivateKey(input.privateKey), signature = Buffer.from(input.signature, 'hex');
       const verify = (message) => crypto.verify(input.digest, Buffer.from(message), input.publicKey, signature);
       const error = (() => { try { crypto.createPrivateKey(input.locked); } catch (error) { return error.code; } })();
       [key.export(input.pkcs8) === input.privateKey, crypto.createPublicKey(key).export(input.spki) === input.publicKey,
        crypto.createPrivateKey({ key: input.locked, passphrase: 'secret' }).equals(key),
        crypto.createPrivateKey({ key: input.jwk, format: 'jwk' }).equals(key),
        verify(input.message), verify('another'), error]`,
      { ...keys, digest, spki: SPKI, pkcs8: PKCS8, message: MESSAGE },
    );
    expect(result).toEqual([true, true, true, true, true, false, 'ERR_OSSL_CRYPTO_INTERRUPTED_OR_CANCELLED']);
  });
});

test('encryption and PSS signatures with RSA, and older formats of keys', async () => {
  const { publicKey, privateKey } = crypto.generateKeyPairSync('rsa', { modulusLength: 1024 });
  const pkcs1 = { type: 'pkcs1', format: 'pem' } as const;
  const made = (await run(
    `const { RSA_PKCS1_PSS_PADDING: padding, RSA_PKCS1_PADDING } = crypto.constants;
     const key = { key: input.locked, passphrase: 'secret' }, message = Buffer.from('hi');
     const hex = (bytes) => bytes.toString('hex'), bytes = (text) => Buffer.from(text, 'hex');
     ({ text: crypto.privateDecrypt({ ...key, oaepHash: 'sha256' }, bytes(input.encrypted)).toString(),
        older: crypto.privateDecrypt({ ...key, padding: RSA_PKCS1_PADDING }, crypto.publicEncrypt({ key: input.publicKey, padding: RSA_PKCS1_PADDING }, message)).toString(),
        isValid: crypto.verify('sha384', message, { key: input.publicKey, padding }, bytes(input.signature)),
        encrypted: hex(crypto.publicEncrypt(input.publicKey, message)),
        signature: hex(crypto.createSign('RSA-SHA256').update('h').update('i').sign({ ...key, padding, saltLength: 10 })),
        locked: crypto.createPrivateKey(key).export({ type: 'pkcs1', format: 'pem', cipher: 'aes-128-cbc', passphrase: 'other' }) })`,
    {
      publicKey: publicKey.export(pkcs1),
      locked: privateKey.export({ ...pkcs1, ...LOCK }),
      encrypted: crypto
        .publicEncrypt({ key: publicKey, oaepHash: 'sha256' }, Buffer.from('hello'))
        .toString('hex'),
      signature: crypto
        .sign('sha384', Buffer.from('hi'), {
          key: privateKey,
          padding: crypto.constants.RSA_PKCS1_PSS_PADDING,
        })
        .toString('hex'),
    },
  )) as Record<string, string>;
  expect(made).toMatchObject({ text: 'hello', older: 'hi', isValid: true });
  expect(crypto.privateDecrypt(privateKey, Buffer.from(made['encrypted']!, 'hex')).toString()).toBe('hi');
  const options = { key: publicKey, padding: crypto.constants.RSA_PKCS1_PSS_PADDING, saltLength: 10 };
  expect(crypto.verify('sha256', Buffer.from('hi'), options, Buffer.from(made['signature']!, 'hex'))).toBe(
    true,
  );
  expect(crypto.createPrivateKey({ key: made['locked']!, passphrase: 'other' }).equals(privateKey)).toBe(
    true,
  );
});

test('two parties agree on a secret', async () => {
  expect(
    await run(`const [a, b] = [1, 2].map(() => crypto.createECDH('prime256v1'));
      a.generateKeys(); b.generateKeys();
      const [c, d] = [1, 2].map(() => crypto.generateKeyPairSync('x25519'));
      [a.computeSecret(b.getPublicKey()).equals(b.computeSecret(a.getPublicKey('hex', 'compressed'), 'hex')),
       crypto.diffieHellman({ privateKey: c.privateKey, publicKey: d.publicKey }).equals(crypto.diffieHellman({ privateKey: d.privateKey, publicKey: c.publicKey }))]`),
  ).toEqual([true, true]);
});

describe('Diffie-Hellman over prime numbers', () => {
  test.each(['modp1', 'modp5', 'modp14', 'modp18'])('has the group %s', async (name) => {
    expect(await run(`crypto.getDiffieHellman('${name}').getPrime('hex')`)).toBe(
      crypto.getDiffieHellman(name).getPrime('hex'),
    );
  });

  test('agrees with Node.js on a secret', async () => {
    const here = crypto.getDiffieHellman('modp14');
    const { shared, key } = (await run(
      `const group = crypto.createDiffieHellman(input.prime, 'hex', 2);
       const key = group.generateKeys('hex');
       ({ key, shared: group.computeSecret(input.key, 'hex', 'base64') })`,
      { prime: here.getPrime('hex'), key: here.generateKeys('hex') },
    )) as Record<'shared' | 'key', string>;
    expect(here.computeSecret(key, 'hex', 'base64')).toBe(shared);
  });

  test('generates prime numbers', async () => {
    const values = (await run(
      `const group = crypto.createDiffieHellman(64);
       const safe = crypto.generatePrimeSync(48, { safe: true, bigint: true });
       const bytes = Buffer.from(crypto.generatePrimeSync(64, { add: 30n, rem: 7n })).toString('hex');
       [group.getPrime('hex'), safe.toString(16), ((safe - 1n) / 2n).toString(16), bytes, crypto.checkPrimeSync(97n), crypto.checkPrimeSync(91n), group.verifyError]`,
    )) as unknown[];
    for (const hex of values.slice(0, 4)) expect(crypto.checkPrimeSync(BigInt(`0x${hex}`))).toBe(true);
    expect(BigInt(`0x${values[3]}`) % 30n).toBe(7n);
    expect(values.slice(4)).toEqual([true, false, 0]);
  });

  test('refuses what Node.js refuses, with its codes', async () => {
    expect(
      await run(`const code = (call) => { try { call(); return 'none'; } catch (error) { return error.code; } };
        const group = crypto.createDiffieHellman(Buffer.from([23]), 5);
        [code(() => crypto.getDiffieHellman('modp3')), code(() => group.getPrivateKey()), code(() => crypto.createDiffieHellman(Buffer.from([23]), 1)),
         code(() => { group.generateKeys(); group.computeSecret(Buffer.from([1])); }), code(() => group.computeSecret(Buffer.from([22])))]`),
    ).toEqual([
      ...['ERR_CRYPTO_UNKNOWN_DH_GROUP', 'ERR_CRYPTO_INVALID_KEYLEN', 'ERR_OSSL_DH_BAD_GENERATOR'],
      ...['ERR_CRYPTO_INVALID_KEYLEN', 'ERR_CRYPTO_INVALID_KEYLEN'],
    ]);
  });
});

test('damaged keys and unsupported types are refused with the codes of Node.js', async () => {
  const key = crypto.generateKeyPairSync('ed25519').privateKey.export(PKCS8) as string;
  const codes = await run(
    `const code = (call) => { try { call(); return 'none'; } catch (error) { return error.code; } };
     [code(() => crypto.createPrivateKey('text')), code(() => crypto.createPrivateKey(input.key.replace('MC', 'MD'))),
      code(() => crypto.createPrivateKey({ key: Buffer.from([48, 130, 255]), format: 'der', type: 'pkcs8' })),
      code(() => crypto.generateKeyPairSync('dsa', { modulusLength: 1024 })), code(() => crypto.generateKeyPairSync('nonsense')),
      code(() => crypto.generateKeyPairSync('rsa', { modulusLength: 1e6 })), code(() => crypto.generateKeyPairSync('ec', { namedCurve: 'x' })),
      code(() => crypto.sign('sha256', Buffer.from('x'), crypto.createSecretKey(Buffer.alloc(8))))]`,
    { key },
  );
  expect(codes).toEqual([
    ...['ERR_OSSL_UNSUPPORTED', 'ERR_OSSL_ASN1_WRONG_TAG', 'ERR_OSSL_ASN1_WRONG_TAG'],
    ...['ERR_OSSL_UNSUPPORTED', 'ERR_INVALID_ARG_VALUE', 'ERR_OSSL_RSA_KEY_SIZE_TOO_SMALL'],
    ...['ERR_CRYPTO_INVALID_CURVE', 'ERR_CRYPTO_INVALID_KEY_OBJECT_TYPE'],
  ]);
});
