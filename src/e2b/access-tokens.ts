/**
 * Who may use a sandbox. The id of a sandbox names its tenant by a digest. Its access token is derived from a key of the
 * server, the tenant and the id, so it is valid for one sandbox only and need not be stored. Signed URLs have a digest of
 * the token in the form that the SDKs compute.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { sha256, sha256Hex } from '../framing/digest.ts';

const DIGEST_CHARS = 8;
const ID = /^(e2b|e2s)-([0-9a-f]{8})-[0-9a-f]{20}$/;

/** By tenant. The operator names the tenants. */
const digests = new Map<string, string>();

function digestOf(tenant: string): string {
  const digest = digests.get(tenant) ?? sha256Hex(Buffer.from(tenant)).slice(0, DIGEST_CHARS);
  digests.set(tenant, digest);
  return digest;
}

/** A new id: of a sandbox or, with the prefix e2s, of a snapshot. */
export const newId = (tenant: string, kind: 'e2b' | 'e2s' = 'e2b') =>
  `${kind}-${digestOf(tenant)}-${randomBytes(10).toString('hex')}`;

/** Whether a text is the id of a sandbox or, with the prefix e2s, of a snapshot of the tenant. */
export function isIdOf(tenant: string, id: string, kind: 'e2b' | 'e2s' = 'e2b'): boolean {
  const match = ID.exec(id);
  return match !== null && match[1] === kind && match[2] === digestOf(tenant);
}

/** The texts are compared by their digests, so that timing reveals nothing. */
const isEqual = (a: string, b: string) => timingSafeEqual(sha256(a), sha256(b));

export interface SignedUrl {
  readonly path: string;
  readonly operation: 'read' | 'write';
  readonly user: string;
  readonly signature: string;
  /** Unix time in seconds; undefined if the URL does not expire. */
  readonly expiration: string | undefined;
}

/** Whether a time, in the form of signed URLs, is over. */
export const isExpired = (expiration: string | undefined) =>
  expiration !== undefined && !(Number(expiration) * 1000 > Date.now());

/** Sandboxes whose signed URLs need not name them. Each costs a request with a signature about 20 µs, also a forged one. */
export const MAX_ISSUED = 1000;

export class AccessTokens {
  #key: Promise<Uint8Array> | undefined;
  /** The tenants of the sandboxes for which this server has issued a token, least recent first. */
  readonly issued = new Map<string, string>();

  constructor(readonly readKey: () => Promise<Uint8Array>) {}

  /** The token of a sandbox, for its client. */
  async issue(tenant: string, sandbox_id: string): Promise<string> {
    this.issued.delete(sandbox_id);
    this.issued.set(sandbox_id, tenant);
    const [oldest] = this.issued.keys();
    if (this.issued.size > MAX_ISSUED) this.issued.delete(oldest!);
    return this.#token(tenant, sandbox_id);
  }

  async #token(tenant: string, sandbox_id: string): Promise<string> {
    this.#key ??= this.readKey();
    this.#key.catch(() => {
      this.#key = undefined;
    });
    const text = `e2b\0${tenant}\0${sandbox_id}`;
    return createHmac('sha256', await this.#key)
      .update(text)
      .digest('base64url');
  }

  async isToken(tenant: string, sandbox_id: string, token: string): Promise<boolean> {
    return isEqual(token, await this.#token(tenant, sandbox_id));
  }

  /** Whether a URL was signed with the token of this sandbox and has not expired. */
  async isSigned(tenant: string, sandbox_id: string, url: SignedUrl): Promise<boolean> {
    const { path, operation, user, signature, expiration } = url;
    if (isExpired(expiration)) return false;
    const parts = [path, operation, user, await this.#token(tenant, sandbox_id)];
    const text = [...parts, ...(expiration === undefined ? [] : [expiration])].join(':');
    const digest = createHash('sha256')
      .update(text)
      .digest('base64')
      .replace(/={1,2}$/, '');
    return isEqual(signature, `v1_${digest}`);
  }
}
