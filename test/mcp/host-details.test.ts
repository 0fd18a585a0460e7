import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { diskStore } from 'llm-wasm-sandbox';
import { describe, expect, test } from 'vitest';
import { runCli } from '../support/cli.ts';
import { folderOfTest } from '../support/folders.ts';
import { call, httpClient, startHttp } from '../support/mcp.ts';

const ANN = 'ann-secret-0123456789';
const METRICS = 'metrics-secret-0123456789';

/** The text of the error that a request ends with. */
const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => '',
    (cause: Error) => JSON.stringify([cause.message, (cause as { data?: unknown }).data]),
  );

describe('details of the host', () => {
  // guarantee: host-details
  test('are absent from every answer about damaged and locked sessions', async () => {
    const data_dir = folderOfTest();
    await using server = await startHttp({ store: data_dir });
    await using client = await httpClient(server, 'modern');
    const session = { language: 'javascript', session_id: 'broken' };
    await call(client, 'create_session', session);
    await call(client, 'execute_code', { ...session, code: 'writeText("/app/a.txt", "x")' });
    await call(client, 'reset_all_sessions', { cleanup_disk: false });
    const folder = join(data_dir, 'caller-local');
    const uri = 'workspace://broken/a.txt';

    const release = await diskStore(folder).acquire('broken');
    const answers = [
      await errorOf(client.readResource({ uri })),
      (await call(client, 'list_files', { session_id: 'broken' })).text,
      (await call(client, 'destroy_session', { session_id: 'broken' })).text,
      (await call(client, 'reset_all_sessions')).text,
    ];
    await release();
    const objects = join(folder, 'broken', 'objects');
    for (const name of readdirSync(objects)) rmSync(join(objects, name), { recursive: true });
    answers.push(
      // The files of a damaged session can be read.
      JSON.stringify(await client.readResource({ uri })),
      (await call(client, 'execute_code', { ...session, code: '1' })).text,
      (await call(client, 'fork_session', { session_id: 'broken' })).text,
    );
    for (const answer of answers) {
      expect(answer).not.toBe('');
      for (const detail of [data_dir, 'caller-', 'objects', hostname(), String(process.pid), 'pid'])
        expect(answer).not.toContain(detail);
    }
  });

  // guarantee: host-details
  test('are absent from errors about missing external files and failed stores', async () => {
    const data_dir = join(folderOfTest(), 'file');
    writeFileSync(data_dir, '');
    await using server = await startHttp({ store: data_dir, external_files: [`${data_dir}-missing`] });
    await using client = await httpClient(server, 'modern');
    const answers = [
      (await call(client, 'execute_code', { code: '1', language: 'python' })).text,
      (await call(client, 'create_session', { language: 'python' })).text,
      (await call(client, 'get_active_sessions')).text,
      (await call(client, 'destroy_session', { session_id: 'x' })).text,
      await errorOf(client.readResource({ uri: 'workspace://x/y' })),
      await errorOf(client.readResource({ uri: 'workspace://default/y' })),
    ];
    for (const answer of answers) expect(answer).not.toContain(data_dir);
  });

  // guarantee: host-details
  // proves: A session that this process holds is not reported as held by another process.
  test('do not attribute a session that this process holds to another process', async () => {
    const data_dir = folderOfTest();
    await using server = await startHttp({ store: data_dir });
    await using client = await httpClient(server, 'modern');
    const session = { language: 'javascript', session_id: 'mine' };
    await call(client, 'create_session', session);
    await call(client, 'reset_all_sessions', { cleanup_disk: false });
    const folder = join(data_dir, 'caller-local');
    const release = await diskStore(folder).acquire('mine');
    expect((await call(client, 'list_files', { session_id: 'mine' })).text).toMatch(
      /^session_busy: .*another call to this server/,
    );
    await release();
    // A claim of another machine, which cannot be checked.
    const locks = join(folder, '.locks', 'mine');
    mkdirSync(locks, { recursive: true });
    const token = '00000000-0000-4000-8000-000000000000';
    const owner = { pid: 1, started: '', host: 'elsewhere', boot: '', pid_space: '' };
    const claim = { stage: 'taken', token, ...owner, since: new Date().toISOString() };
    writeFileSync(join(locks, token), JSON.stringify(claim));
    const busy = (await call(client, 'list_files', { session_id: 'mine' })).text;
    expect(busy).toMatch(/^session_busy: .*another process/);
    expect(busy).not.toContain('elsewhere');
  });
});

describe('secrets of the configuration', () => {
  // guarantee: host-details
  test('are not printed when the configuration file is not valid TOML', async () => {
    const file = join(folderOfTest(), 'server.toml');
    writeFileSync(file, `port = 1\ntokens = ["ann=${ANN}"\nhost = "x"\n`);
    const { status, stdout, stderr } = await runCli(['serve', '--config', file]);
    expect(status).toBe(2);
    expect(stderr).toMatch(/line \d+, column \d+ is not valid TOML/);
    expect(stdout + stderr).not.toContain(ANN);
  });

  // guarantee: host-details
  test('are not part of the printed settings', async () => {
    const { stdout } = await runCli(['serve', '--print-config', '--token', ANN, '--metrics-token', METRICS]);
    expect(stdout).toContain('# metrics_token = "<secret>"');
    expect(stdout).not.toMatch(/secret-0123/);
  });
});

describe('/metrics', () => {
  const get = (url: string, token?: string) =>
    fetch(url.replace('/mcp', '/metrics'), {
      headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    }).then(({ status }) => status);

  // guarantee: host-details
  test('shows the metrics of all tenants only to requests with the metrics token', async () => {
    const closed = await startHttp({ tokens: [`ann=${ANN}`] });
    expect([await get(closed.url), await get(closed.url, ANN)]).toEqual([401, 401]);
    await closed.close();
    const open = await startHttp({ tokens: [`ann=${ANN}`], metrics_token: METRICS });
    const statuses = [await get(open.url), await get(open.url, ANN), await get(open.url, METRICS)];
    expect(statuses).toEqual([401, 401, 200]);
    await open.close();
    await expect(startHttp({ tokens: [ANN], metrics_token: ANN })).rejects.toThrow(/metrics_token/);
  });
});
