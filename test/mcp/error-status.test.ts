/** An error has the same status in every protocol over HTTP. */
import { ERROR_CODES } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { HTTP_STATUS } from '../../packages/server/src/server/http-error.ts';
import { call, httpClient, startHttp } from '../support/mcp.ts';
import { sharedByFile } from '../support/shared.ts';

const TOKEN = 'ann-secret-0123456789';
const protocols = { playground: true, e2b: true, jupyter: true };
const server = await sharedByFile(startHttp({ ...protocols, tokens: [`ann=${TOKEN}`] }));

const send = (path: string, headers: Record<string, string>, body?: unknown, method = 'POST') =>
  fetch(new URL(path, server.url), { method, headers, ...(body !== undefined && { body: body as string }) });
const json = (value: unknown) => JSON.stringify(value);

const playground = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' };
const jupyter = { authorization: `token ${TOKEN}` };

async function e2bHeaders(): Promise<Record<string, string>> {
  const created = await send('/v2/sandboxes', { 'x-api-key': TOKEN }, json({ templateID: 'base' }));
  const sandbox = (await created.json()) as { sandboxID: string; envdAccessToken: string };
  return {
    'e2b-sandbox-id': sandbox.sandboxID,
    'e2b-sandbox-port': '49983',
    'x-access-token': sandbox.envdAccessToken,
  };
}

async function playgroundSession(): Promise<string> {
  const created = await send('/playground/api/sessions', playground, json({ language: 'python' }));
  return ((await created.json()) as { session_id: string }).session_id;
}

/** Fills the workspaces of all sessions, except for 1,000 bytes. */
async function fillWorkspaces(): Promise<void> {
  await using client = await httpClient(server, 'modern', TOKEN);
  const code = "open('fill', 'wb').truncate(64 * 1024 * 1024 - 1000)";
  const { structured } = await call(client, 'get_active_sessions');
  const sessions = structured['sessions'] as { session_id: string }[];
  for (const { session_id } of sessions)
    expect((await call(client, 'execute_code', { code, session_id, language: 'python' })).text).toMatch(
      /^Succeeded/,
    );
  expect(sessions).toHaveLength(3);
}

describe('status of an error', () => {
  test('exists for every code', () => {
    expect(Object.keys(HTTP_STATUS).sort()).toEqual(Object.keys(ERROR_CODES).sort());
    expect(Object.values(HTTP_STATUS).every((status) => status >= 400 && status < 600)).toBe(true);
  });

  test('is the same in E2B, Jupyter and the playground', async () => {
    const sandbox = await e2bHeaders();
    const files = `/playground/api/sessions/${await playgroundSession()}/file?path=`;
    const large = 'x'.repeat(2000);
    const put = (content: string) =>
      send('/api/contents/large', jupyter, json({ type: 'file', format: 'text', content }), 'PUT');
    expect((await put('x')).status).toBe(201);
    await fillWorkspaces();
    const quota = [
      await send('/files?path=large', sandbox, large),
      await send(`${files}large`, playground, large, 'PUT'),
      await send(
        '/api/contents/large',
        jupyter,
        json({ type: 'file', format: 'text', content: large }),
        'PUT',
      ),
    ];
    const missing = [
      await send('/files?path=none', sandbox, undefined, 'GET'),
      await send(`${files}none`, playground, undefined, 'GET'),
      await send('/api/contents/none', jupyter, undefined, 'GET'),
    ];
    for (const one of quota)
      expect
        .soft([one.status, await one.text()])
        .toEqual([507, expect.stringContaining('workspace_max_bytes')]);
    expect(missing.map(({ status }) => status)).toEqual([404, 404, 404]);
    expect([HTTP_STATUS.quota_exceeded, HTTP_STATUS.file_not_found]).toEqual([507, 404]);
  });
});
