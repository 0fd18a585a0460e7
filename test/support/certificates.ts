/** Certificates for servers on the loopback interface, signed by an authority that only the tests know. */
import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';

// ---- DER ----

function tagged(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const bytes = length < 256 ? [length] : [length >> 8, length & 255];
  const size = length < 128 ? [length] : [0x80 | bytes.length, ...bytes];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: readonly Uint8Array[]) => tagged(0x30, ...parts);
const integer = (bytes: Uint8Array) => tagged(0x02, bytes);
const octets = (bytes: Uint8Array) => tagged(0x04, bytes);
const bits = (bytes: Uint8Array) => tagged(0x03, Buffer.from([0]), bytes);
const TRUE = Buffer.from([0x01, 0x01, 0xff]);

/** An object identifier whose parts are all less than 128, except those that are given as bytes. */
const identifier = (...bytes: number[]) => tagged(0x06, Buffer.from(bytes));
const ECDSA_SHA256 = sequence(identifier(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));

const nameOf = (text: string) =>
  sequence(tagged(0x31, sequence(identifier(0x55, 0x04, 0x03), tagged(0x0c, Buffer.from(text)))));

const timeOf = (ms: number) => {
  const digits = new Date(ms).toISOString().replace(/\D/g, '').slice(0, 14);
  return tagged(0x18, Buffer.from(`${digits}Z`));
};

// ---- certificates ----

export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

interface Issuer {
  readonly name: string;
  readonly key: KeyObject;
}

const DAY_MS = 86_400_000;

function certificate(
  subject: string,
  { names = [], isExpired = false }: { readonly names?: readonly string[]; readonly isExpired?: boolean },
  issuer?: Issuer,
): Issuer & Pick<Certificate, 'cert'> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const end = Date.now() + (isExpired ? -DAY_MS : DAY_MS);
  const isAuthority = issuer === undefined;
  const alternatives = names.map((name) =>
    /^[\d.]+$/.test(name)
      ? tagged(0x87, Buffer.from(name.split('.').map(Number)))
      : tagged(0x82, Buffer.from(name)),
  );
  const extensions = sequence(
    sequence(identifier(0x55, 0x1d, 0x13), TRUE, octets(isAuthority ? sequence(TRUE) : sequence())),
    ...(alternatives.length > 0
      ? [sequence(identifier(0x55, 0x1d, 0x11), octets(sequence(...alternatives)))]
      : []),
  );
  const serial = randomBytes(8);
  serial[0] = (serial[0]! & 0x7f) | 0x01;
  const body = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(serial),
    ECDSA_SHA256,
    nameOf(issuer?.name ?? subject),
    sequence(timeOf(end - 2 * DAY_MS), timeOf(end)),
    nameOf(subject),
    publicKey.export({ type: 'spki', format: 'der' }),
    tagged(0xa3, extensions),
  );
  const signature = sign('sha256', body, issuer?.key ?? privateKey);
  const base64 = sequence(body, ECDSA_SHA256, bits(signature)).toString('base64').replace(/.{64}/g, '$&\n');
  const cert = `-----BEGIN CERTIFICATE-----\n${base64}\n-----END CERTIFICATE-----\n`;
  return { name: subject, key: privateKey, cert };
}

/** A certificate authority that signs certificates for these names and addresses. */
export function testAuthority() {
  const authority = certificate('Test authority', {});
  return {
    cert: authority.cert,
    issue(names: readonly string[], isExpired = false): Certificate {
      const made = certificate(names[0]!, { names, isExpired }, authority);
      return { cert: made.cert, key: made.key.export({ type: 'pkcs8', format: 'pem' }) as string };
    },
  };
}
