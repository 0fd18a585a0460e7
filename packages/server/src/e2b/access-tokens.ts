/**
 * Who may use a sandbox. The id of a sandbox names its tenant by a digest. Its access token is derived from a key of the
 * server, the tenant and the id, so it is valid for one sandbox only and need not be stored. Signed URLs have a digest of
 * the token in the form that the SDKs compute. A check takes the same time for right and wrong secrets.
 */
import { createHash, createHmac, type Hash, randomBytes, timingSafeEqual } from 'node:crypto';
import { DIGEST_BYTES, sha256, sha256Hex } from '@llm-wasm-sandbox/core/internal';

const DIGEST_CHARS = 8;
const ID = /^(e2b|e2s)-([0-9a-f]{8})-[0-9a-f]{20}$/;

const digestOf = (tenant: string) => sha256Hex(tenant).slice(0, DIGEST_CHARS);

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

const FORM = /^v1_([A-Za-z0-9+/]{43})$/;

/** Whether a time, in the form of signed URLs, is over. */
export const isExpired = (expiration: string | undefined) =>
  expiration !== undefined && !(Number(expiration) * 1000 > Date.now());

/** A sandbox and its tenant. */
export interface SandboxOwner {
  readonly tenant: string;
  readonly sandbox_id: string;
}

/** Sandboxes whose signed URLs need not name them. A URL is compared with each, which takes 3 µs. */
export const MAX_ISSUED = 1000;
/** The latest of them, with which a URL is also compared if many wrong secrets come from its address. */
export const MAX_RECENT = 64;

export class AccessTokens {
  #key: Promise<Uint8Array> | undefined;
  /** The tokens that this server has issued, by tenant and sandbox, each least recent first. */
  readonly #issued = new Map<string, Map<string, string>>();
  readonly #tenants = new Map<string, readonly string[]>();

  constructor(
    readonly readKey: () => Promise<Uint8Array>,
    readonly tenants: readonly string[],
  ) {
    for (const tenant of tenants)
      this.#tenants.set(digestOf(tenant), [...(this.#tenants.get(digestOf(tenant)) ?? []), tenant]);
  }

  /** The token of a sandbox, for its client. */
  async issue(tenant: string, sandbox_id: string): Promise<string> {
    const token = await this.#token(tenant, sandbox_id);
    const own = this.#issued.get(tenant) ?? new Map<string, string>();
    // The tenant with the latest token is the last one.
    this.#issued.delete(tenant);
    this.#issued.set(tenant, own);
    own.delete(sandbox_id);
    own.set(sandbox_id, token);
    const [oldest] = own.keys();
    if (own.size > this.#shareOf(MAX_ISSUED)) own.delete(oldest!);
    return token;
  }

  /**
   * Each tenant has the same share, so that none displaces the sandboxes of another. If there are more tenants than sandboxes, those
   * with the latest tokens have a share.
   */
  #shareOf(sandboxes: number): number {
    return Math.max(1, Math.floor(sandboxes / this.tenants.length));
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

  /** The tenant of a sandbox, if the proof is the access token of the sandbox or a URL that was signed with it. */
  async ownerOf(sandbox_id: string, proof: string | SignedUrl): Promise<SandboxOwner | undefined> {
    const tenants = this.#tenants.get(ID.exec(sandbox_id)?.[2] ?? '') ?? [];
    for (const tenant of tenants) {
      if (!isIdOf(tenant, sandbox_id)) continue;
      const token = await this.#token(tenant, sandbox_id);
      const isRight = typeof proof === 'string' ? isEqual(proof, token) : new UrlSignature(proof).isOf(token);
      if (isRight) return { tenant, sandbox_id };
    }
    return undefined;
  }

  /** Who has signed a URL that names no sandbox, among the sandboxes with the latest tokens. */
  signerOf(url: SignedUrl, sandboxes = MAX_ISSUED): SandboxOwner | undefined {
    const signature = new UrlSignature(url);
    const share = this.#shareOf(sandboxes);
    let signer: SandboxOwner | undefined;
    for (const [tenant, own] of [...this.#issued].slice(-sandboxes)) {
      for (const [sandbox_id, token] of [...own].slice(-share))
        if (signature.isOf(token)) signer = { tenant, sandbox_id };
    }
    return signer;
  }
}

/** The signature of a URL, to be compared with those that tokens would give it. */
class UrlSignature {
  readonly #given: Buffer;
  /** The digest of what precedes the token. */
  readonly #prefix: Hash;
  readonly #suffix: string;

  constructor({ path, operation, user, signature, expiration }: SignedUrl) {
    const given = FORM.exec(signature)?.[1] ?? '';
    // biome-ignore lint/plugin: 43 characters
    this.#given = isExpired(expiration) ? Buffer.of() : Buffer.from(given, 'base64');
    this.#prefix = createHash('sha256').update(`${path}:${operation}:${user}:`);
    this.#suffix = expiration === undefined ? '' : `:${expiration}`;
  }

  isOf(token: string): boolean {
    if (this.#given.length !== DIGEST_BYTES) return false;
    const digest = this.#prefix
      .copy()
      .update(token + this.#suffix)
      .digest();
    return timingSafeEqual(digest, this.#given);
  }
}
