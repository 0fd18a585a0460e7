import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  AccessTokens,
  MAX_ISSUED,
  MAX_RECENT,
  newId,
  type SignedUrl,
} from '../../packages/server/src/e2b/access-tokens.ts';

const TENANTS = ['alice', 'bob'];
const SHARE = MAX_ISSUED / TENANTS.length;

const newTokens = (tenants: readonly string[] = TENANTS) =>
  new AccessTokens(async () => new Uint8Array(32), tenants);

/** A URL that was signed with a token. */
function signedWith(token: string, expiration?: string): SignedUrl {
  const url = { path: 'file', operation: 'read', user: '', expiration } as const;
  const text = ['file', 'read', '', token, ...(expiration === undefined ? [] : [expiration])].join(':');
  const digest = createHash('sha256').update(text).digest('base64').replace('=', '');
  return { ...url, signature: `v1_${digest}` };
}

/** The URLs of new sandboxes, in this order. */
async function issue(tokens: AccessTokens, tenant: string, sandboxes: number): Promise<SignedUrl[]> {
  const urls: SignedUrl[] = [];
  for (let i = 0; i < sandboxes; i++) urls.push(signedWith(await tokens.issue(tenant, newId(tenant))));
  return urls;
}

describe('a signed URL that names no sandbox', () => {
  // guarantee: e2b
  // proves: A signed URL stays valid however many sandboxes other tenants create.
  test('stays valid however many sandboxes other tenants create', async () => {
    const tokens = newTokens();
    const [url] = await issue(tokens, 'alice', 1);
    await issue(tokens, 'bob', MAX_ISSUED + 5);
    expect(tokens.signerOf(url!)?.tenant).toBe('alice');
  });

  test('is compared with a limited number of sandboxes of each tenant, the latest ones', async () => {
    const tokens = newTokens();
    const ids = Array.from({ length: SHARE + 1 }, () => newId('alice'));
    const urls: SignedUrl[] = [];
    for (const id of ids) urls.push(signedWith(await tokens.issue('alice', id)));
    // A sandbox whose token is issued again is the most recent one.
    await tokens.issue('alice', ids[1]!);
    await tokens.issue('alice', newId('alice'));
    expect(urls.slice(0, 3).map((url) => tokens.signerOf(url)?.sandbox_id)).toEqual([
      undefined,
      ids[1],
      undefined,
    ]);
    expect(tokens.signerOf(urls[3]!)?.sandbox_id).toBe(ids[3]);
  });

  test('is compared with fewer sandboxes if its address is suspect, and still with some of each tenant', async () => {
    const tokens = newTokens();
    const urls = await issue(tokens, 'alice', MAX_RECENT);
    await issue(tokens, 'bob', MAX_RECENT);
    const found = urls.filter((url) => tokens.signerOf(url, MAX_RECENT)?.tenant === 'alice');
    expect(found).toEqual(urls.slice(-MAX_RECENT / TENANTS.length));
  });

  test('is compared with no more sandboxes if there are more tenants', async () => {
    const tenants = Array.from({ length: MAX_RECENT + 2 }, (_, i) => `tenant${i}`);
    const tokens = newTokens(tenants);
    const urls: SignedUrl[] = [];
    for (const tenant of tenants) urls.push(...(await issue(tokens, tenant, 1)));
    await tokens.issue('tenant0', newId('tenant0'));
    const found = urls.flatMap((url) => tokens.signerOf(url, MAX_RECENT)?.tenant ?? []);
    expect(found).toEqual(tenants.slice(3));
    expect(urls.flatMap((url) => tokens.signerOf(url)?.tenant ?? [])).toHaveLength(tenants.length);
  });

  test('is refused if it has expired, was changed or has another form', async () => {
    const tokens = newTokens();
    const token = await tokens.issue('alice', newId('alice'));
    const url = signedWith(token);
    expect(tokens.signerOf(signedWith(token, '99999999999'))).toBeDefined();
    expect(tokens.signerOf(signedWith(token, '1000'))).toBeUndefined();
    for (const change of [
      { path: 'x' },
      { operation: 'write' },
      { user: 'root' },
      { expiration: '99999999999' },
    ])
      expect(tokens.signerOf({ ...url, ...change } as SignedUrl)).toBeUndefined();
    for (const signature of ['', 'v1_', 'v1_x', `${url.signature}=`, url.signature.slice(3)])
      expect(tokens.signerOf({ ...url, signature })).toBeUndefined();
  });
});

test('a sandbox belongs to the tenant that its id names, and opens with its own token only', async () => {
  const tokens = newTokens();
  const [one, other, foreign] = [newId('alice'), newId('alice'), newId('eve')];
  const token = await tokens.issue('alice', one);
  expect(await tokens.ownerOf(one, token)).toEqual({ tenant: 'alice', sandbox_id: one });
  expect(await tokens.ownerOf(one, signedWith(token))).toEqual({ tenant: 'alice', sandbox_id: one });
  expect(await tokens.ownerOf(one, `${token}x`)).toBeUndefined();
  expect(await tokens.ownerOf(other, token)).toBeUndefined();
  expect(await tokens.ownerOf(other, signedWith(token))).toBeUndefined();
  expect(await tokens.ownerOf(foreign, await tokens.issue('eve', foreign))).toBeUndefined();
  expect(await tokens.ownerOf('default', token)).toBeUndefined();
});
