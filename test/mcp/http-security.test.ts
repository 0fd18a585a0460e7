import { request } from 'node:http';
import { fileURLToPath } from 'node:url';
import type { HttpServer } from 'llm-wasm-sandbox/mcp';
import { serveHttp } from 'llm-wasm-sandbox/mcp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, ERAS, httpClient, listedFiles, startHttp } from '../support/mcp.ts';

const ANN = 'ann-secret-0123456789';
const BOB = 'bob-secret-0123456789';
const METRICS = 'metrics-secret-0123456789';

interface RawRequest {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** Sends a raw HTTP request that a client library would not send. */
function send({ url }: HttpServer, { method = 'POST', path, headers = {}, body = '' }: RawRequest) {
  const target = new URL(url);
  return new Promise<{ status: number; headers: Record<string, unknown>; body: string }>(
    (resolve, reject) => {
      const outgoing = request(
        {
          host: target.hostname,
          port: target.port,
          path: path ?? target.pathname,
          method,
          headers,
          agent: false,
        },
        (response) => {
          let text = '';
          response.on('data', (chunk: Buffer) => {
            text += chunk.toString();
          });
          response.on('end', () =>
            resolve({ status: response.statusCode!, headers: response.headers, body: text }),
          );
        },
      );
      outgoing.on('error', reject);
      outgoing.end(body);
    },
  );
}

const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });

describe('HTTP server with tokens', () => {
  let server: HttpServer;
  beforeAll(async () => {
    server = await startHttp({
      tokens: [`ann=${ANN}`, `bob=${BOB}`],
      cors_origins: ['https://app.example'],
      max_body_bytes: 10_000,
      metrics_token: METRICS,
    });
  });
  afterAll(() => server.close());
  const authorized = { ...JSON_HEADERS, authorization: `Bearer ${ANN}` };

  test('rejects a missing and a wrong token with 401', async () => {
    const none = await send(server, { headers: JSON_HEADERS, body: LIST });
    expect(none).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': expect.stringMatching(/^Bearer/) },
    });
    const wrong = await send(server, {
      headers: { ...JSON_HEADERS, authorization: `Bearer ${ANN}x` },
      body: LIST,
    });
    expect(wrong).toMatchObject({ status: 401 });
    expect(wrong.headers['www-authenticate']).toContain('invalid_token');
  });

  test('rejects a foreign Host or Origin header, even with a valid token', async () => {
    const host = await send(server, { headers: { ...authorized, host: 'evil.example' }, body: LIST });
    expect(host.status).toBe(403);
    const origin = await send(server, {
      headers: { ...authorized, origin: 'https://evil.example' },
      body: LIST,
    });
    expect(origin.status).toBe(403);
    expect(origin.headers['access-control-allow-origin']).toBeUndefined();
  });

  test('answers the CORS preflight of an allowed origin', async () => {
    const headers = { origin: 'https://app.example', 'access-control-request-method': 'POST' };
    const known = await send(server, { method: 'OPTIONS', headers });
    expect(known).toMatchObject({
      status: 204,
      headers: { 'access-control-allow-origin': 'https://app.example', vary: 'origin' },
    });
  });

  test('rejects a body that is too large, of the wrong type or not JSON', async () => {
    const large = await send(server, { headers: authorized, body: 'x'.repeat(20_000) });
    expect(large.status).toBe(413);
    const chunked = await send(server, {
      headers: { ...authorized, 'transfer-encoding': 'chunked' },
      body: 'x'.repeat(20_000),
    });
    expect(chunked.status).toBe(413);
    const type = await send(server, { headers: { ...authorized, 'content-type': 'text/plain' }, body: LIST });
    expect(type.status).toBe(415);
    const broken = await send(server, { headers: authorized, body: '{' });
    expect(broken.status).toBe(400);
    expect(JSON.parse(broken.body)).toMatchObject({ error: { code: -32_700 } });
  });

  test('serves /readyz without a token: 200 when a program has run', async () => {
    const ask = () => send(server, { method: 'GET', path: '/readyz' });
    await expect.poll(async () => (await ask()).body, { timeout: 30_000 }).toBe('{"status":"ready"}');
    expect(await ask()).toMatchObject({ status: 200 });
    expect(await send(server, { method: 'POST', path: '/readyz' })).toMatchObject({ status: 405 });
  });

  test('serves /healthz without a token, but /metrics only with its own', async () => {
    expect(await send(server, { method: 'GET', path: '/healthz' })).toMatchObject({
      status: 200,
      body: '{"status":"ok"}',
    });
    expect((await send(server, { method: 'GET', path: '/metrics' })).status).toBe(401);
    const withToken = { authorization: `Bearer ${METRICS}` };
    const metrics = await send(server, { method: 'GET', path: '/metrics', headers: withToken });
    expect(metrics.status).toBe(200);
    expect(metrics.body).toContain('llm_wasm_sandbox_running 0');
    expect((await send(server, { method: 'GET', path: '/other', headers: authorized })).status).toBe(404);
  });

  test.each(ERAS)(
    'prevents tenants from listing, using or destroying each other’s sessions (%s era)',
    async (era) => {
      const [ann, bob] = [await httpClient(server, era, ANN), await httpClient(server, era, BOB)];
      const session_id = `secret-${era}`;
      await call(ann, 'create_session', { language: 'python', session_id });
      await call(ann, 'execute_code', { code: 'x = 1', language: 'python', session_id });
      await call(ann, 'write_file', { path: 'mine.txt', content: 'private', session_id });
      await call(ann, 'write_file', { path: 'common.txt', content: 'private' });
      expect((await call(bob, 'get_active_sessions')).structured).toMatchObject({ sessions: [] });
      expect((await call(bob, 'list_files')).structured).toMatchObject({ total: 0 });
      const attempts: [string, Record<string, unknown>][] = [
        ['execute_code', { code: 'x', language: 'python' }],
        ['read_file', { path: 'mine.txt' }],
        ['write_file', { path: 'mine.txt', content: '' }],
        ['get_workspace_info', {}],
        ['reset_workspace', {}],
        ['cancel_execution', {}],
        ['checkpoint_session', {}],
        ['rollback_session', {}],
        ['fork_session', {}],
        ['destroy_session', {}],
      ];
      for (const [tool, args] of attempts) {
        const { isError, text } = await call(bob, tool, { ...args, session_id });
        expect({ tool, isError, text }).toEqual({
          tool,
          isError: true,
          text: expect.stringMatching(/^session_not_found/),
        });
        expect(text).not.toContain('private');
      }
      await expect(bob.readResource({ uri: `workspace://${session_id}/mine.txt` })).rejects.toThrow(
        /no session/,
      );
      expect(await listedFiles(bob)).toEqual([]);
      // The other tenant can use the same id for its own session.
      await call(bob, 'create_session', { language: 'javascript', session_id });
      expect(
        (await call(ann, 'execute_code', { code: 'x', language: 'python', session_id })).structured,
      ).toMatchObject({ result: 1 });
      for (const client of [ann, bob]) await call(client, 'destroy_session', { session_id });
      await Promise.all([ann.close(), bob.close()]);
    },
  );

  test('ties a 2025-era connection to the tenant that opened it', async () => {
    const initialize = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
    };
    const opened = await send(server, { headers: authorized, body: JSON.stringify(initialize) });
    const id = opened.headers['mcp-session-id'] as string;
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    const otherTenant = { ...JSON_HEADERS, authorization: `Bearer ${BOB}`, 'mcp-session-id': id };
    expect((await send(server, { headers: otherTenant, body: LIST })).status).toBe(404);
    const own = await send(server, { headers: { ...authorized, 'mcp-session-id': id }, body: LIST });
    expect(own).toMatchObject({ status: 200, body: expect.stringContaining('execute_code') });
    expect(
      (await send(server, { method: 'DELETE', headers: { ...authorized, 'mcp-session-id': id } })).status,
    ).toBe(200);
    expect(
      (await send(server, { headers: { ...authorized, 'mcp-session-id': id }, body: LIST })).status,
    ).toBe(404);
  });
});

describe('HTTP server', () => {
  test('rejects a public address without a token or without allowed hosts', async () => {
    await expect(serveHttp({ host: '0.0.0.0', port: 0 })).rejects.toThrow(/token/);
    await expect(serveHttp({ host: '0.0.0.0', port: 0, tokens: [ANN] })).rejects.toThrow(/allowed-host/);
  });

  test('limits the time of the main thread that a tenant uses', async () => {
    // Every request takes longer than a microsecond.
    await using server = await startHttp({ cpu_seconds_per_minute: 1e-6, tokens: [ANN, BOB] });
    const post = (token: string) =>
      send(server, { headers: { ...JSON_HEADERS, authorization: `Bearer ${token}` }, body: LIST });
    expect((await post(ANN)).status).toBe(400);
    const rejected = await post(ANN);
    expect(rejected.status).toBe(429);
    expect(rejected.body).toContain(
      'rate_limited: The requests of this tenant have used 0.000001 s of main-thread time',
    );
    expect(Number(rejected.headers['retry-after'])).toBeGreaterThan(0);
    expect((await post(BOB)).status).toBe(400);
  });

  test('does not let a client with a wrong token use up the limit of others at the same address', async () => {
    await using server = await startHttp({ rate_per_minute: 3, tokens: [ANN, BOB] });
    const statusWith = async (token: string | undefined) => {
      const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
      return (await send(server, { headers: { ...JSON_HEADERS, ...authorization }, body: LIST })).status;
    };
    for (const expected of [401, 401, 401, 429, 429]) expect(await statusWith('wrong')).toBe(expected);
    expect(await statusWith('another wrong one')).toBe(401);
    expect(await statusWith(undefined)).toBe(401);
    for (const token of [ANN, BOB]) expect(await statusWith(token)).toBe(400);
  });

  test('limits the rate of requests', async () => {
    await using server = await startHttp({ rate_per_minute: 3 });
    const responses = [];
    for (let i = 0; i < 5; i++) responses.push(await send(server, { headers: JSON_HEADERS, body: LIST }));
    expect(responses.map(({ status }) => status)).toEqual([400, 400, 400, 429, 429]);
    expect(Number(responses[4]!.headers['retry-after'])).toBeGreaterThan(0);
  });
});

test('an HTTP server is not ready if it cannot use its data folder', async () => {
  const server = await startHttp({ store: fileURLToPath(import.meta.url) });
  const ask = () => send(server, { method: 'GET', path: '/readyz' });
  await expect.poll(async () => (await ask()).body, { timeout: 30_000 }).toBe('{"status":"failed"}');
  expect(await ask()).toMatchObject({ status: 503 });
  expect(await send(server, { method: 'GET', path: '/healthz' })).toMatchObject({ status: 200 });
  await server.close();
  await expect(ask()).rejects.toThrow();
});
