import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { diskStore } from 'llm-wasm-sandbox';
import type { HttpServer } from 'llm-wasm-sandbox/mcp';
import { serveHttp } from 'llm-wasm-sandbox/mcp';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, ERAS, httpClient, startHttp } from '../support/mcp.ts';

const ANN = 'ann-secret-0123456789';
const BOB = 'bob-secret-0123456789';

interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Record<string, string>;
  readonly body?: string;
}

/** A request as no client library would send it. */
function send({ url }: HttpServer, { method = 'POST', path, headers = {}, body = '' }: Sent) {
  const target = new URL(url);
  return new Promise<{ status: number; headers: Record<string, unknown>; body: string }>(
    (resolve, reject) => {
      const sent = request(
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
      sent.on('error', reject);
      sent.end(body);
    },
  );
}

const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const LIST = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });

describe('an HTTP server with tokens', () => {
  let server: HttpServer;
  beforeAll(async () => {
    server = await startHttp({
      tokens: [`ann=${ANN}`, `bob=${BOB}`],
      cors_origins: ['https://app.example'],
      max_body_bytes: 10_000,
      max_sessions: 3,
    });
  });
  afterAll(() => server.close());
  const authorized = { ...JSON_HEADERS, authorization: `Bearer ${ANN}` };

  test('refuses a request without a token, and one with a wrong token', async () => {
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

  test('refuses a foreign Host and a foreign Origin, even with a token', async () => {
    const host = await send(server, { headers: { ...authorized, host: 'evil.example' }, body: LIST });
    expect(host.status).toBe(403);
    const origin = await send(server, {
      headers: { ...authorized, origin: 'https://evil.example' },
      body: LIST,
    });
    expect(origin.status).toBe(403);
    expect(origin.headers['access-control-allow-origin']).toBeUndefined();
  });

  test('answers the preflight of a page it knows', async () => {
    const headers = { origin: 'https://app.example', 'access-control-request-method': 'POST' };
    const known = await send(server, { method: 'OPTIONS', headers });
    expect(known).toMatchObject({
      status: 204,
      headers: { 'access-control-allow-origin': 'https://app.example', vary: 'origin' },
    });
  });

  test('refuses a body that is too large, declared or not, and one that is not JSON', async () => {
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

  test('tells its health to anybody, its numbers only to tenants', async () => {
    expect(await send(server, { method: 'GET', path: '/healthz' })).toMatchObject({
      status: 200,
      body: '{"status":"ok"}',
    });
    expect((await send(server, { method: 'GET', path: '/metrics' })).status).toBe(401);
    const metrics = await send(server, { method: 'GET', path: '/metrics', headers: authorized });
    expect(metrics.status).toBe(200);
    expect(metrics.body).toContain('llm_wasm_sandbox_running 0');
    expect((await send(server, { method: 'GET', path: '/other', headers: authorized })).status).toBe(404);
  });

  test.each(ERAS)('tenants cannot see, use or end each other’s sessions (%s era)', async (era) => {
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
    expect((await bob.listResources()).resources).toEqual([]);
    // The same name is free for the other tenant, and the two stay apart.
    await call(bob, 'create_session', { language: 'javascript', session_id });
    expect(
      (await call(ann, 'execute_code', { code: 'x', language: 'python', session_id })).structured,
    ).toMatchObject({ result: 1 });
    for (const client of [ann, bob]) await call(client, 'destroy_session', { session_id });
    await Promise.all([ann.close(), bob.close()]);
  });

  test('a connection of the 2025 era belongs to the tenant who opened it', async () => {
    const hello = {
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
    };
    const opened = await send(server, { headers: authorized, body: JSON.stringify(hello) });
    const id = opened.headers['mcp-session-id'] as string;
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    const borrowed = { ...JSON_HEADERS, authorization: `Bearer ${BOB}`, 'mcp-session-id': id };
    expect((await send(server, { headers: borrowed, body: LIST })).status).toBe(404);
    const own = await send(server, { headers: { ...authorized, 'mcp-session-id': id }, body: LIST });
    expect(own).toMatchObject({ status: 200, body: expect.stringContaining('execute_code') });
    expect(
      (await send(server, { method: 'DELETE', headers: { ...authorized, 'mcp-session-id': id } })).status,
    ).toBe(200);
    expect(
      (await send(server, { headers: { ...authorized, 'mcp-session-id': id }, body: LIST })).status,
    ).toBe(404);
  });

  test('sessions are limited, one-off calls are not', async () => {
    const client = await httpClient(server, 'modern', ANN);
    for (let i = 0; i < 3; i++)
      expect((await call(client, 'create_session', { language: 'javascript' })).isError).toBe(false);
    const fourth = await call(client, 'create_session', { language: 'javascript' });
    expect(fourth).toMatchObject({ isError: true, text: expect.stringMatching(/^session_limit/) });
    for (let i = 0; i < 60; i++) {
      const { structured } = await call(client, 'execute_code', { code: `${i} + 1`, language: 'javascript' });
      expect(structured).toMatchObject({ success: true, result: i + 1, session_id: 'default' });
    }
    expect((await call(client, 'get_active_sessions')).structured['sessions']).toHaveLength(3);
    await call(client, 'reset_all_sessions');
    await client.close();
  });
});

describe('an HTTP server', () => {
  test('does not listen where others can reach it without a token', async () => {
    await expect(serveHttp({ host: '0.0.0.0', port: 0 })).rejects.toThrow(/token/);
    await expect(serveHttp({ host: '0.0.0.0', port: 0, tokens: [ANN] })).rejects.toThrow(/allowed-host/);
  });

  test('slows down a tenant who asks too often', async () => {
    const server = await startHttp({ rate_per_minute: 3 });
    const answers = [];
    for (let i = 0; i < 5; i++) answers.push(await send(server, { headers: JSON_HEADERS, body: LIST }));
    expect(answers.map(({ status }) => status)).toEqual([400, 400, 400, 429, 429]);
    expect(Number(answers[4]!.headers['retry-after'])).toBeGreaterThan(0);
    await server.close();
  });

  test('runs other tenants’ programs while one burns its fuel, and refuses what cannot even wait', async () => {
    const server = await startHttp({
      max_concurrent: 2,
      max_queued: 1,
      tokens: [`ann=${ANN}`, `bob=${BOB}`],
    });
    const [ann, bob] = [await httpClient(server, 'modern', ANN), await httpClient(server, 'modern', BOB)];
    const endless = { code: 'while True: pass', language: 'python', fuel_budget: 100e9, timeout: 100 };
    const burning = [call(ann, 'execute_code', endless), call(ann, 'execute_code', endless)];
    while (server.state.scheduler.queued < 1) await new Promise((next) => setTimeout(next, 20));
    expect(server.state.scheduler.running).toBe(1);
    expect(await call(ann, 'execute_code', endless)).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^busy/),
    });
    expect((await call(bob, 'execute_code', { code: '1 + 1', language: 'python' })).structured).toMatchObject(
      { result: 2 },
    );
    await call(ann, 'cancel_execution');
    const ended = await Promise.all(burning);
    expect(ended.map(({ structured, isError }) => structured['trap_reason'] ?? isError)).toEqual([
      'cancelled',
      true,
    ]);
    await Promise.all([ann.close(), bob.close()]);
    await server.close();
  });

  test('keeps no tenant waiting for the programs of others, however many they burn', async () => {
    const names = ['ann', 'bob', 'eve'];
    const secret = (name: string) => `${name}-secret-0123456789`;
    const slots = 5;
    const server = await startHttp({
      tokens: names.map((name) => `${name}=${secret(name)}`),
      max_concurrent: slots,
      max_concurrent_per_caller: slots,
    });
    const [ann, bob, eve] = await Promise.all(
      names.map((name) => httpClient(server, 'modern', secret(name))),
    );
    const endless = { code: 'while True: pass', language: 'python', fuel_budget: 100e9, timeout: 300 };
    const burning = [ann!, bob!].flatMap((client) =>
      Array.from({ length: slots }, () => call(client, 'execute_code', endless, { timeout: 300_000 })),
    );
    while (server.state.scheduler.running < slots - 1) await new Promise((next) => setTimeout(next, 20));
    // All places but the one that is kept are taken by programs that do not end by themselves.
    const { structured } = await call(eve!, 'execute_code', { code: '1 + 1', language: 'python' });
    expect(structured).toMatchObject({ result: 2 });
    expect(server.state.scheduler.running).toBe(slots - 1);
    for (const client of [ann!, bob!]) await call(client, 'cancel_execution');
    await Promise.all(burning);
    await Promise.all([ann!, bob!, eve!].map((client) => client.close()));
    await server.close();
  });

  test('loads modules for a session in the tenant’s turn', async () => {
    const server = await startHttp({ max_concurrent: 1 });
    const client = await httpClient(server, 'modern');
    const endless = { code: 'while True: pass', language: 'python', fuel_budget: 100e9, timeout: 300 };
    const burning = call(client, 'execute_code', endless);
    while (server.state.scheduler.running === 0) await new Promise((next) => setTimeout(next, 20));
    const preload = [`colorsys`];
    const making = call(client, 'create_session', { language: 'python', session_id: 'ready', preload });
    while (server.state.scheduler.queued === 0) await new Promise((next) => setTimeout(next, 20));
    await call(client, 'cancel_execution');
    await burning;
    expect((await making).structured).toMatchObject({ session_id: 'ready' });
    await client.close();
    await server.close();
  });

  test('lists files of sessions it does not have open, and opens none for it', async () => {
    const settings = { data_dir: mkdtempSync(join(tmpdir(), 'sessions-')) };
    const session = { language: 'javascript', session_id: 'closed' };
    const first = await startHttp(settings);
    const writer = await httpClient(first, 'modern');
    await call(writer, 'create_session', session);
    await call(writer, 'execute_code', { ...session, code: 'writeText("/app/a.txt", "x")' });
    await writer.close();
    await first.close();
    const second = await startHttp(settings);
    const client = await httpClient(second, 'modern');
    expect((await client.listResources()).resources).toMatchObject([
      { uri: 'workspace://closed/a.txt', size: 1 },
    ]);
    // Whoever opens a session holds its lock; nobody does.
    const release = await diskStore(join(settings.data_dir, 'caller-local')).acquire('closed');
    expect((await client.listResources()).resources).toHaveLength(1);
    expect((await call(client, 'get_active_sessions')).structured).toMatchObject({ sessions: [session] });
    await release();
    await client.close();
    await second.close();
  });

  test('stops the program of a client that vanishes', async () => {
    const server = await startHttp();
    const client = await httpClient(server, 'modern');
    const endless = { code: 'while True: pass', language: 'python', fuel_budget: 100e9, timeout: 100 };
    const lost = call(client, 'execute_code', endless).catch(() => 'lost');
    while (server.state.scheduler.running === 0) await new Promise((next) => setTimeout(next, 20));
    await client.close();
    await lost;
    while (server.state.scheduler.running > 0) await new Promise((next) => setTimeout(next, 20));
    await server.close();
  });

  test('forgets connections of clients that never said goodbye', async () => {
    const server = await startHttp({ client_idle_seconds: 1, max_clients: 2 });
    for (let i = 0; i < 4; i++) await httpClient(server, 'legacy');
    // The oldest made room; the newest can still talk.
    const last = await httpClient(server, 'legacy');
    expect((await last.listTools()).tools.length).toBeGreaterThan(10);
    await server.close();
  });

  test('lets nobody push out the connections of others', async () => {
    const server = await startHttp({ max_clients: 3, tokens: [`ann=${ANN}`, `bob=${BOB}`] });
    const bob = await httpClient(server, 'legacy', BOB);
    for (let i = 0; i < 6; i++) await httpClient(server, 'legacy', ANN);
    expect((await bob.listTools()).tools.length).toBeGreaterThan(10);
    await server.close();
  });

  test('keeps to the number of sessions, and to one of each name, when many are asked for at once', async () => {
    const data_dir = mkdtempSync(join(tmpdir(), 'sessions-'));
    const server = await startHttp({ data_dir, max_sessions: 3 });
    const client = await httpClient(server, 'modern');
    const make = (args: object) => call(client, 'create_session', { language: 'javascript', ...args });
    const same = await Promise.all([make({ session_id: 'same' }), make({ session_id: 'same' })]);
    expect(same.map(({ isError }) => isError).sort()).toEqual([false, true]);
    const many = await Promise.all(Array.from({ length: 8 }, () => make({})));
    expect(many.filter(({ isError }) => !isError)).toHaveLength(2);
    for (const { isError, text } of many) if (isError) expect(text).toMatch(/^session_limit/);
    expect((await call(client, 'get_active_sessions')).structured['sessions']).toHaveLength(3);
    await client.close();
    await server.close();
  });

  test('lets calls under way end when it is told to stop', async () => {
    const server = await startHttp();
    const client = await httpClient(server, 'modern');
    const slow = call(client, 'execute_code', {
      code: 'import time\ntime.sleep(1)\n"done"',
      language: 'python',
    });
    while (server.state.scheduler.running === 0) await new Promise((next) => setTimeout(next, 20));
    const closing = server.close();
    expect((await slow).structured).toMatchObject({ result: 'done' });
    await closing;
    await client.close();
  });

  test('keeps sessions in its folder, apart for each tenant, and finds them again after a restart', async () => {
    const settings = {
      data_dir: mkdtempSync(join(tmpdir(), 'sessions-')),
      tokens: [`ann=${ANN}`, `..=${BOB}`],
    };
    const first = await startHttp(settings);
    const [ann, bob] = [await httpClient(first, 'modern', ANN), await httpClient(first, 'modern', BOB)];
    const session = { language: 'python', session_id: 'kept' };
    for (const [client, value] of [
      [ann, 1],
      [bob, 2],
    ] as const) {
      await call(client, 'create_session', session);
      await call(client, 'execute_code', { ...session, code: `x = {${value}}` });
    }
    await first.close();
    const second = await startHttp(settings);
    const again = await httpClient(second, 'modern', ANN);
    expect((await call(again, 'get_active_sessions')).structured['sessions']).toMatchObject([
      { session_id: 'kept', calls: 1 },
    ]);
    // Both find it closed, and it is opened once.
    const calls = [1, 2].map(() => call(again, 'execute_code', { ...session, code: 'x' }));
    for (const { structured } of await Promise.all(calls))
      expect(structured).toMatchObject({ result: '{1}', state: 'committed' });
    await second.close();
    expect(readdirSync(settings.data_dir).sort()).toEqual(['caller-..', 'caller-ann']);
  });

  test('keeps the limits of a session after a restart, within what the server then allows', async () => {
    const data_dir = mkdtempSync(join(tmpdir(), 'sessions-'));
    const first = await startHttp({ data_dir });
    const wish = {
      language: 'javascript',
      session_id: 'own',
      fuel_budget: 7_000_000_000,
      timeout_seconds: 120,
    };
    const client = await httpClient(first, 'modern');
    await call(client, 'create_session', wish);
    await client.close();
    await first.close();

    const second = await startHttp({ data_dir, max_timeout_seconds: 60 });
    const again = await httpClient(second, 'modern');
    const { structured } = await call(again, 'get_workspace_info', { session_id: 'own' });
    expect(structured['limits']).toMatchObject({ fuel_budget: 7_000_000_000, timeout_seconds: 60 });
    await again.close();
    await second.close();
  });

  test('says nothing of its folders when a session is damaged or in use elsewhere, and can remove it', async () => {
    const data_dir = mkdtempSync(join(tmpdir(), 'sessions-'));
    const session = { language: 'javascript', session_id: 'broken' };
    const first = await startHttp({ data_dir });
    const writer = await httpClient(first, 'modern');
    await call(writer, 'create_session', session);
    await call(writer, 'execute_code', { ...session, code: 'let x = 1' });
    await writer.close();
    await first.close();

    const second = await startHttp({ data_dir });
    const client = await httpClient(second, 'modern');
    const folder = join(data_dir, 'caller-local');
    const release = await diskStore(folder).acquire('broken');
    const busy = await call(client, 'list_files', { session_id: 'broken' });
    await release();
    const objects = join(folder, 'broken', 'objects');
    for (const name of readdirSync(objects)) rmSync(join(objects, name), { recursive: true });
    const damaged = await call(client, 'execute_code', { ...session, code: 'x' });
    expect([busy, damaged].map(({ isError, text }) => [isError, text.split(':')[0]])).toEqual([
      [true, 'session_busy'],
      [true, 'session_damaged'],
    ]);
    for (const { text } of [busy, damaged]) expect(text).not.toMatch(/\/|pid|objects/);
    expect((await call(client, 'destroy_session', { session_id: 'broken' })).isError).toBe(false);
    expect((await call(client, 'create_session', session)).isError).toBe(false);
    await client.close();
    await second.close();
  });

  test('serves the client of the first SDK', async () => {
    const server = await startHttp();
    const client = new OldClient({ name: 'old', version: '1' });
    await client.connect(new OldTransport(new URL(server.url)) as Parameters<OldClient['connect']>[0]);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toContain('execute_code');
    const result = await client.callTool({
      name: 'execute_code',
      arguments: { code: '2 ** 10', language: 'python' },
    });
    expect(result.structuredContent).toMatchObject({ success: true, result: 1024 });
    await client.close();
    await server.close();
  });

  test('shows files of the host under /external, read-only', async () => {
    const server = await startHttp({ external_files: [new URL('./', import.meta.url).pathname] });
    const client = await httpClient(server, 'modern');
    const code =
      'import os\nprint("http.test.ts" in os.listdir("/external"))\nopen("/external/new.txt", "w")';
    const { structured } = await call(client, 'execute_code', { code, language: 'python' });
    expect(structured).toMatchObject({ stdout: 'True\n', success: false });
    expect(structured['stderr']).toMatch(/Read-only|Permission/);
    await client.close();
    await server.close();
  });
});
