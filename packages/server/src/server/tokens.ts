/**
 * Bearer tokens and the tenants they identify. A tenant is identified by the name of its token or by the secret, never by
 * the position in the list, so removing a token never gives its sessions to another one.
 */

import { LOCAL_TENANT, SandboxError, sha256Hex, tenantFolder } from '@llm-wasm-sandbox/core/internal';

interface TenantToken {
  readonly tenant: string;
  readonly secret: string;
}

/** Prefix of the ids of tenants whose token has no name. */
const UNNAMED_PREFIX = 'token-';
const DIGEST_CHARS = 16;

/** The folder in the store for the timelines that the playground shows of the sessions of a tenant. */
export const timelinesFolder = (tenant: string) => `timelines-${tenant}`;

/** The folder in the store for the records of the sandboxes of a tenant. */
export const sandboxesFolder = (tenant: string) => `sandboxes-${tenant}`;

/** Splits the tokens into tenant and secret. Rejects tokens that would make two tenants one, or one tenant two. */
export function parseTokens({
  tokens,
  metrics_token,
}: {
  readonly tokens: readonly string[];
  readonly metrics_token?: string | undefined;
}): TenantToken[] {
  const parsed = tokens.map(parseToken);
  const tenants = new Set<string>();
  const secrets = new Set<string>();
  for (const { tenant, secret } of parsed) {
    if (secrets.has(secret))
      throw invalidTokens('two tokens have the same secret. Give each token its own secret.');
    // Some file systems treat names that differ only in case as equal.
    if (tenants.has(tenant.toLowerCase()))
      throw invalidTokens(
        `the name "${tenant}" is used twice, or differs only in case from another. Give each token its own name.`,
      );
    secrets.add(secret);
    tenants.add(tenant.toLowerCase());
  }
  if (metrics_token !== undefined && secrets.has(metrics_token))
    throw new SandboxError(
      'invalid_argument',
      'metrics_token: a tenant has the same secret. Use a different secret.',
    );
  return parsed;
}

/** Who sends a request. Protocols add what else they know. */
export interface Caller {
  /** The id of the tenant. */
  readonly tenant: string;
}

/** What a request presents to identify its sender. */
export interface Identity<C extends Caller = Caller> {
  /** Undefined if the sender is not known. */
  readonly caller: C | undefined;
  /** The bearer token, if there is one. */
  readonly token?: string | undefined;
}

/** The tenants of a server, by their tokens. */
export class TokenTable {
  /** By the digest of their secret, so that looking one up costs the same for right and wrong secrets. */
  readonly #tenants: ReadonlyMap<string, string>;

  constructor(settings: Parameters<typeof parseTokens>[0]) {
    this.#tenants = new Map(parseTokens(settings).map(({ tenant, secret }) => [sha256Hex(secret), tenant]));
  }

  /** Whether there are no tokens, so that all clients are the same tenant. */
  get isEmpty(): boolean {
    return this.#tenants.size === 0;
  }

  /** The tenants that have tokens, or the only one. */
  get tenants(): string[] {
    return this.isEmpty ? [LOCAL_TENANT] : [...this.#tenants.values()];
  }

  /** Who presents a token. */
  identify(token: string | undefined): Identity {
    // The digest is compared, whose first characters no client can choose.
    const tenant = this.isEmpty ? LOCAL_TENANT : this.#tenants.get(sha256Hex(token ?? ''));
    return { token, caller: tenant === undefined ? undefined : { tenant } };
  }
}

function parseToken(text: string): TenantToken {
  const match = /^([\w.-]{1,64})=(.{16,})$/s.exec(text);
  if (match === null) return { tenant: UNNAMED_PREFIX + digest(text), secret: text };
  const [, tenant, secret] = match as unknown as [string, string, string];
  if (tenant.toLowerCase().startsWith(UNNAMED_PREFIX))
    throw invalidTokens(
      `the name "${tenant}" is reserved for tokens without a name. Choose a name that does not start with "${UNNAMED_PREFIX}".`,
    );
  if (tenant.toLowerCase() === LOCAL_TENANT)
    throw invalidTokens(
      `the name "${tenant}" is reserved for servers without tokens and for the command line. Choose another name; to keep the sessions in the store, rename the folder ${tenantFolder(LOCAL_TENANT)} to ${tenantFolder('NAME')}.`,
    );
  return { tenant, secret };
}

function digest(secret: string): string {
  return sha256Hex(secret).slice(0, DIGEST_CHARS);
}

function invalidTokens(reason: string): SandboxError {
  return new SandboxError('invalid_argument', `tokens: ${reason}`);
}
