import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { diskStore, memoryStore, type SessionStore } from 'llm-wasm-sandbox';
import { serveHttp } from 'llm-wasm-sandbox/mcp';
import { describe, expect, test } from 'vitest';
import { DELTA_FORMAT } from '../../packages/core/src/engine/delta.ts';
import { alteredDelta } from '../support/altered-delta.ts';
import { folderOfTest } from '../support/folders.ts';
import { call, httpClient, listedFiles, startHttp } from '../support/mcp.ts';

const ANN = 'ann-secret-0123456789';
const BOB = 'bob-secret-0123456789';

describe('HTTP server with sessions', () => {
  test('limits sessions but not one-off calls', async () => {
    await using server = await startHttp({ max_sessions: 3 });
    await using client = await httpClient(server, 'modern');
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
  });

  test('lists files of closed sessions without opening them', async () => {
    const settings = { store: folderOfTest() };
    const session = { language: 'javascript', session_id: 'closed' };
    const first = await startHttp(settings);
    const writer = await httpClient(first, 'modern');
    await call(writer, 'create_session', session);
    await call(writer, 'execute_code', { ...session, code: 'writeText("/app/a.txt", "x")' });
    await writer.close();
    await first.close();
    await using second = await startHttp(settings);
    await using client = await httpClient(second, 'modern');
    expect(await listedFiles(client)).toMatchObject([{ uri: 'workspace://closed/a.txt', size: 1 }]);
    // An open session holds its lock, so acquiring the lock proves that it is closed.
    const release = await diskStore(join(settings.store, 'caller-local')).acquire('closed');
    expect(await listedFiles(client)).toHaveLength(1);
    expect((await call(client, 'get_active_sessions')).structured).toMatchObject({ sessions: [session] });
    await release();
  });

  test('enforces the session limit and unique ids under concurrent requests', async () => {
    const data_dir = folderOfTest();
    await using server = await startHttp({ store: data_dir, max_sessions: 3 });
    await using client = await httpClient(server, 'modern');
    const create = (args: object) => call(client, 'create_session', { language: 'javascript', ...args });
    const same = await Promise.all([create({ session_id: 'same' }), create({ session_id: 'same' })]);
    expect(same.map(({ isError }) => isError).sort()).toEqual([false, true]);
    const many = await Promise.all(Array.from({ length: 8 }, () => create({})));
    expect(many.filter(({ isError }) => !isError)).toHaveLength(2);
    for (const { isError, text } of many) if (isError) expect(text).toMatch(/^session_limit/);
    expect((await call(client, 'get_active_sessions')).structured['sessions']).toHaveLength(3);
  });

  test('stores the sessions of each tenant in its own folder and restores them after a restart', async () => {
    const settings = {
      store: folderOfTest(),
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
    // Two concurrent calls open the session once.
    const calls = [1, 2].map(() => call(again, 'execute_code', { ...session, code: 'x' }));
    for (const { structured } of await Promise.all(calls))
      expect(structured).toMatchObject({ result: '{1}', state: 'committed' });
    await second.close();
    expect(readdirSync(settings.store).sort()).toEqual(['caller-..', 'caller-ann']);
  });

  test('restores the limits of a session after a restart, capped by the new maximums', {
    tags: 'full',
  }, async () => {
    const data_dir = folderOfTest();
    const first = await startHttp({ store: data_dir });
    const session = {
      language: 'javascript',
      session_id: 'own',
      fuel_budget: 7_000_000_000,
      timeout_seconds: 120,
    };
    const client = await httpClient(first, 'modern');
    await call(client, 'create_session', session);
    await client.close();
    await first.close();

    await using second = await startHttp({ store: data_dir, max_timeout_seconds: 60 });
    await using again = await httpClient(second, 'modern');
    const { structured } = await call(again, 'get_workspace_info', { session_id: 'own' });
    expect(structured['limits']).toMatchObject({ fuel_budget: 7_000_000_000, timeout_seconds: 60 });
  });

  test('hides host paths in errors about damaged and locked sessions, and can destroy them', async () => {
    const data_dir = folderOfTest();
    const session = { language: 'javascript', session_id: 'broken' };
    const first = await startHttp({ store: data_dir });
    const writer = await httpClient(first, 'modern');
    await call(writer, 'create_session', session);
    await call(writer, 'execute_code', { ...session, code: 'let x = 1' });
    await writer.close();
    await first.close();

    await using second = await startHttp({ store: data_dir });
    await using client = await httpClient(second, 'modern');
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
  });

  test('keeps the files of a session that another version has saved, and says what to do', async () => {
    const store = memoryStore();
    const start = () => serveHttp({ port: 0, optimization: 'demand' }, { storeFor: () => store });
    const session = { language: 'javascript', session_id: 'older' };
    const first = await start();
    const writer = await httpClient(first, 'modern');
    await call(writer, 'create_session', session);
    await call(writer, 'execute_code', { ...session, code: 'let x = 1; writeText("kept.txt", "kept")' });
    await writer.close();
    await first.close();
    const stored = (await store.read('older'))!;
    const delta = alteredDelta(stored.state.delta!, DELTA_FORMAT, { module: 'm'.repeat(64) });
    await store.write({ ...stored, state: { ...stored.state, delta } });

    const second = await start();
    await using client = await httpClient(second, 'modern');
    const refused = await call(client, 'execute_code', { ...session, code: 'x' });
    expect(refused.text).toMatch(/^image_invalid: The saved variables .* read_file\. .* create_session\.$/);
    const file = await call(client, 'read_file', { session_id: 'older', path: 'kept.txt' });
    expect(file.text).toContain('kept');
    await second.close();
  });

  test('stores sessions in the store that storeFor returns', async () => {
    const stores = new Map<string, SessionStore>();
    const storeFor = (tenant: string) => {
      const store = memoryStore();
      stores.set(tenant, store);
      return store;
    };
    const server = await serveHttp({ port: 0, optimization: 'demand' }, { storeFor });
    const client = await httpClient(server, 'modern');
    const session = { language: 'javascript', session_id: 'stored' };
    await call(client, 'create_session', session);
    await call(client, 'execute_code', { ...session, code: 'let x = 1' });
    await client.close();
    await server.close();
    expect([...stores.keys()]).toEqual(['local']);
    const { records } = await stores.get('local')!.list();
    expect(records).toMatchObject([{ session_id: 'stored', calls: 1 }]);
  });
});

/** A call of a 2026-era client that repeats no argument in a header. */
async function callRaw(url: string, name: string, args: object, headers: Record<string, string> = {}) {
  const version = '2026-07-28';
  const meta = {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': version,
      'mcp-method': 'tools/call',
      'mcp-name': name,
      ...headers,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: args, _meta: meta },
    }),
  });
  return { status: response.status, text: await response.text() };
}

describe('HTTP server', () => {
  test('serves a client of SDK v1', { tags: 'full' }, async () => {
    await using server = await startHttp();
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
  });

  test.each([true, false])(
    'declares a header for session_id if session_header is %s',
    async (session_header) => {
      await using server = await startHttp({ session_header });
      await using client = await httpClient(server, 'modern');
      const create = () => call(client, 'create_session', { session_id: 'one', language: 'javascript' });
      const { tools } = await client.listTools();
      const declared = tools.filter(({ inputSchema }) =>
        Object.hasOwn((inputSchema.properties?.['session_id'] as object | undefined) ?? {}, 'x-mcp-header'),
      );
      expect(declared.length > 5).toBe(session_header);
      expect((await create()).isError).toBe(false);
      const run = { session_id: 'one', language: 'javascript', code: 'console.log(1)' };
      expect((await call(client, 'execute_code', run)).structured).toMatchObject({ stdout: '1\n' });
      const other = await callRaw(server.url, 'execute_code', run);
      expect([other.status, other.text.includes('Mcp-Param-Session header is absent')]).toEqual(
        session_header ? [400, true] : [200, false],
      );
      // A load balancer must not route a call by a session that is not the one of its arguments.
      for (const header of ['two', '=?base64?dHdv?=', 'one, two', ' ']) {
        const forged = await callRaw(server.url, 'execute_code', run, { 'mcp-param-session': header });
        expect([header, forged.status]).toEqual([header, session_header ? 400 : 200]);
      }
    },
  );

  test('mounts host files read-only under /external', async () => {
    await using server = await startHttp({ external_files: [new URL('./', import.meta.url).pathname] });
    await using client = await httpClient(server, 'modern');
    const code =
      'import os\nprint("http-sessions.test.ts" in os.listdir("/external"))\nopen("/external/new.txt", "w")';
    const { structured } = await call(client, 'execute_code', { code, language: 'python' });
    expect(structured).toMatchObject({ stdout: 'True\n', success: false });
    expect(structured['stderr']).toMatch(/Read-only|Permission/);
  });
});
