/** @module-tag full */
import { describe, expect, test, vi } from 'vitest';
import { folderOfTest } from '../support/folders.ts';
import { call, httpClient, startHttp } from '../support/mcp.ts';

const ANN = 'ann-secret-0123456789';
const BOB = 'bob-secret-0123456789';

describe('HTTP server under load', () => {
  test('runs programs of other tenants while one uses its slots, and rejects calls when its queue is full', async () => {
    await using server = await startHttp({
      max_concurrent: 2,
      max_queued: 1,
      tokens: [`ann=${ANN}`, `bob=${BOB}`],
    });
    const [ann, bob] = [await httpClient(server, 'modern', ANN), await httpClient(server, 'modern', BOB)];
    const endless = { code: 'while True: pass', language: 'python', fuel_budget: 100e9, timeout: 100 };
    const endlessCalls = [call(ann, 'execute_code', endless), call(ann, 'execute_code', endless)];
    while (server.state.pool.queued < 1) await new Promise((next) => setTimeout(next, 20));
    expect(server.state.pool.running).toBe(1);
    expect(await call(ann, 'execute_code', endless)).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^queue_full/),
    });
    expect((await call(bob, 'execute_code', { code: '1 + 1', language: 'python' })).structured).toMatchObject(
      { result: 2 },
    );
    await call(ann, 'cancel_execution');
    const ended = await Promise.all(endlessCalls);
    expect(ended.map(({ structured, isError }) => structured['trap_reason'] ?? isError)).toEqual([
      'cancelled',
      true,
    ]);
    await Promise.all([ann.close(), bob.close()]);
  });

  test('reserves a slot for every tenant, however many programs the others run', async () => {
    const names = ['ann', 'bob', 'eve'];
    const secret = (name: string) => `${name}-secret-0123456789`;
    const slots = 5;
    await using server = await startHttp({
      tokens: names.map((name) => `${name}=${secret(name)}`),
      max_concurrent: slots,
    });
    const [ann, bob, eve] = await Promise.all(
      names.map((name) => httpClient(server, 'modern', secret(name))),
    );
    const endless = { code: 'while True: pass', language: 'python', fuel_budget: 100e9, timeout: 300 };
    const endlessCalls = [ann!, bob!].flatMap((client) =>
      Array.from({ length: slots }, () => call(client, 'execute_code', endless, { timeout: 300_000 })),
    );
    while (server.state.pool.running < slots - 1) await new Promise((next) => setTimeout(next, 20));
    // Endless programs hold every slot except the reserved one.
    const { structured } = await call(eve!, 'execute_code', { code: '1 + 1', language: 'python' });
    expect(structured).toMatchObject({ result: 2 });
    expect(server.state.pool.running).toBe(slots - 1);
    for (const client of [ann!, bob!]) await call(client, 'cancel_execution');
    await Promise.all(endlessCalls);
    await Promise.all([ann!, bob!, eve!].map((client) => client.close()));
  });

  test('schedules the preloading of modules like a program', async () => {
    // An empty cache, so that the image with the module has to be built.
    vi.stubEnv('LLM_WASM_SANDBOX_CACHE', folderOfTest());
    const server = await startHttp({ max_concurrent: 1 });
    const client = await httpClient(server, 'modern');
    const endless = { code: 'while True: pass', language: 'python', fuel_budget: 100e9, timeout: 300 };
    const endlessCalls = call(client, 'execute_code', endless);
    while (server.state.pool.running === 0) await new Promise((next) => setTimeout(next, 20));
    const preload = [`colorsys`];
    const creating = call(client, 'create_session', { language: 'python', session_id: 'ready', preload });
    while (server.state.pool.queued === 0) await new Promise((next) => setTimeout(next, 20));
    await call(client, 'cancel_execution');
    await endlessCalls;
    expect((await creating).structured).toMatchObject({ session_id: 'ready' });
    await client.close();
    await server.close();
    vi.unstubAllEnvs();
  });

  test('stops the program of a client that disconnects', async () => {
    await using server = await startHttp();
    const client = await httpClient(server, 'modern');
    const endless = { code: 'while True: pass', language: 'python', fuel_budget: 100e9, timeout: 100 };
    const lostCall = call(client, 'execute_code', endless).catch(() => 'lost');
    while (server.state.pool.running === 0) await new Promise((next) => setTimeout(next, 20));
    await client.close();
    await lostCall;
    while (server.state.pool.running > 0) await new Promise((next) => setTimeout(next, 20));
  });

  test('closes idle connections of 2025-era clients', async () => {
    await using server = await startHttp({}, { clientIdleMs: 1000, maxClients: 2 });
    for (let i = 0; i < 4; i++) await httpClient(server, 'legacy');
    // Older connections were closed; the newest still works.
    const last = await httpClient(server, 'legacy');
    expect((await last.listTools()).tools.length).toBeGreaterThan(10);
  });

  test('never closes a connection of one tenant to make room for another with more connections', async () => {
    await using server = await startHttp({ tokens: [`ann=${ANN}`, `bob=${BOB}`] }, { maxClients: 3 });
    const bob = await httpClient(server, 'legacy', BOB);
    for (let i = 0; i < 6; i++) await httpClient(server, 'legacy', ANN);
    expect((await bob.listTools()).tools.length).toBeGreaterThan(10);
  });

  test('finishes running calls when it is closed', async () => {
    const server = await startHttp();
    await using client = await httpClient(server, 'modern');
    const slow = call(client, 'execute_code', {
      code: 'import time\ntime.sleep(1)\n"done"',
      language: 'python',
    });
    while (server.state.pool.running === 0) await new Promise((next) => setTimeout(next, 20));
    const closing = server.close();
    expect((await slow).structured).toMatchObject({ result: 'done' });
    await closing;
  });
});
