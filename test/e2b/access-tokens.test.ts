import { expect, test } from 'vitest';
import { AccessTokens, MAX_ISSUED, newId } from '../../src/e2b/access-tokens.ts';

test('a signed URL that names no sandbox is compared with a limited number of sandboxes', async () => {
  const tokens = new AccessTokens(async () => new Uint8Array(32));
  const ids = Array.from({ length: MAX_ISSUED + 1 }, () => newId('alice'));
  for (const id of ids) await tokens.issue('alice', id);
  // A sandbox whose token is issued again is the most recent one.
  await tokens.issue('alice', ids[1]!);
  await tokens.issue('alice', newId('alice'));
  expect(tokens.issued.size).toBe(MAX_ISSUED);
  expect([ids[0], ids[1], ids[2]].map((id) => tokens.issued.has(id!))).toEqual([false, true, false]);
});
