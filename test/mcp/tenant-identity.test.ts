import { readdirSync } from 'node:fs';
import { serveHttp } from 'llm-wasm-sandbox/mcp';
import { describe, expect, test } from 'vitest';
import { runCli } from '../support/cli.ts';
import { folderOfTest } from '../support/folders.ts';
import { call, httpClient, startHttp } from '../support/mcp.ts';

const FIRST = 'first-secret-0123456789';
const SECOND = 'second-secret-0123456789';

describe('a tenant without a token name', () => {
  // guarantee: tenant-identity
  test('keeps its sessions when another token is removed, and does not get the sessions of the removed token', async () => {
    const data_dir = folderOfTest();
    const both = await startHttp({ store: data_dir, tokens: [FIRST, SECOND] });
    for (const [token, session_id] of [
      [FIRST, 'of-first'],
      [SECOND, 'of-second'],
    ] as const) {
      const client = await httpClient(both, 'modern', token);
      await call(client, 'create_session', { language: 'javascript', session_id });
      await client.close();
    }
    await both.close();

    await using one = await startHttp({ store: data_dir, tokens: [SECOND] });
    await using client = await httpClient(one, 'modern', SECOND);
    expect((await call(client, 'get_active_sessions')).structured['sessions']).toMatchObject([
      { session_id: 'of-second' },
    ]);
    expect(readdirSync(data_dir).every((name) => /^caller-token-[0-9a-f]{16}$/.test(name))).toBe(true);
  });
});

describe('a token list', () => {
  // guarantee: tenant-identity
  // proves: An invalid list of tokens is rejected without printing a secret.
  test.each([
    ['one secret under two names', [`ann=${FIRST}`, `bob=${FIRST}`], /same secret/],
    ['one secret with and without a name', [FIRST, `bob=${FIRST}`], /same secret/],
    ['one name twice', [`ann=${FIRST}`, `ann=${SECOND}`], /"ann" is used twice/],
    ['names that differ only in case', [`ann=${FIRST}`, `Ann=${SECOND}`], /differs only in case/],
    ['a name in the form of a digest', [`token-1=${FIRST}`], /reserved/],
    ['the name of the tenant without tokens', [`Local=${FIRST}`], /reserved for servers without tokens/],
  ])('is rejected with %s, without printing a secret', async (_, tokens, message) => {
    const failure = await serveHttp({ port: 0, tokens }).catch((cause: Error) => cause);
    expect(failure).toMatchObject({ code: 'invalid_argument', message: expect.stringMatching(message) });
    expect((failure as Error).message).not.toMatch(/secret-0123/);
  });

  // guarantee: tenant-identity
  // proves: An environment variable with an empty token is rejected and does not turn off authentication.
  test.each(['', ',', `${FIRST},`])('is rejected when the environment variable is %j', async (value) => {
    const { status, stderr } = await runCli(['serve', '--print-config'], {
      env: { LLM_WASM_SANDBOX_TOKENS: value },
    });
    expect(status).toBe(2);
    expect(stderr).toMatch(/tokens.*16/);
    expect(stderr).not.toContain(FIRST);
  });
});
