/**
 * The configuration of nginx, in a real nginx with real servers. Skipped where nginx is not installed.
 *
 * @module-tag full
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { folderOfFile } from '../support/folders.ts';
import { freePort } from '../support/free-port.ts';
import { call, httpClient, startHttp } from '../support/mcp.ts';

type TestServer = Awaited<ReturnType<typeof startHttp>>;

const TOKEN = 'a-token-of-the-team-1';
const config = readFileSync(new URL('../../deploy/nginx/nginx.conf', import.meta.url), 'utf8');

describe.runIf(spawnSync('nginx', ['-v']).status === 0)('nginx', () => {
  const folder = folderOfFile();
  let servers: TestServer[];
  let nginx: ChildProcess;
  let client: Client;
  let url: string;

  beforeAll(async () => {
    const settings = { tokens: [`team=${TOKEN}`], shutdown_seconds: 60 };
    servers = [await startHttp(settings), await startHttp(settings)];
    const port = await freePort();
    const here = servers.reduce(
      (text, server, i) => text.replace(`sandbox-${i + 1}:8765`, new URL(server.url).host),
      config.replace('listen 8080', `listen 127.0.0.1:${port}`).replace('pid /var/run', `pid ${folder}`),
    );
    const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
      (name) => `${name}_temp_path ${folder}/${name};`,
    );
    const file = join(folder, 'nginx.conf');
    writeFileSync(file, here.replace('http {', `http {\naccess_log off;\n${temporary.join('\n')}`));
    const flags = ['-c', file, '-e', 'stderr', '-g', 'daemon off; master_process off;'];
    nginx = spawn('nginx', flags, { stdio: ['ignore', 'ignore', 'inherit'] });
    url = `http://127.0.0.1:${port}/mcp`;
    const answers = () =>
      fetch(new URL('/healthz', url)).then(
        ({ status }) => status,
        () => 0,
      );
    while ((await answers()) !== 200) await new Promise((resolve) => setTimeout(resolve, 20));
    client = await httpClient({ url }, 'modern', TOKEN);
  });
  afterAll(async () => {
    await client?.close();
    nginx?.kill('SIGKILL');
    await Promise.all((servers ?? []).map((server) => server.close()));
  });

  const hasSession = async ({ state }: TestServer) => (await state.tenant('team').sessions.list()).length > 0;

  test('sends the calls of a client to one server, and those of a stopping server to the other', async () => {
    // The servers share no store, so a call at the other server would not find the session.
    await call(client, 'create_session', { session_id: 's', language: 'javascript' });
    const execute = (args: object) => call(client, 'execute_code', { language: 'javascript', ...args });
    await execute({ session_id: 's', code: 'let n = 41' });
    expect((await execute({ session_id: 's', code: 'console.log(n + 1)' })).structured['stdout']).toBe(
      '42\n',
    );
    expect((await fetch(new URL('/metrics', url))).status).toBe(404);
    const [home, other] = (await hasSession(servers[0]!)) ? servers : servers.toReversed();
    expect(await hasSession(other!)).toBe(false);
    const endless = { session_id: 's', code: 'for (;;) {}', timeout: 60, fuel_budget: 1_000_000_000_000 };
    const running = execute(endless);
    const { state } = home!;
    await expect.poll(() => state.activeCalls, { timeout: 30_000 }).toBe(1);
    const closed = home!.close();
    expect((await fetch(new URL('/readyz', home!.url))).status).toBe(503);
    const { structured } = await execute({ code: 'console.log("here")' });
    expect(structured['stdout']).toBe('here\n');
    // The response of a call that was running is still sent.
    state.tenant('team').calls.cancel();
    expect((await running).structured).toMatchObject({ trap_reason: 'cancelled' });
    await closed;
  });
});
