import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@modelcontextprotocol/client';
import { diskStore, openSessions } from 'llm-wasm-sandbox';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { folderOfFile, folderOfTest } from '../support/folders.ts';
import { CLI, call, httpClient, listedFiles, startHttp, stdioClient } from '../support/mcp.ts';
import { writeToolsConfig } from '../tools/tool-server.ts';

/** A server whose data folder holds the closed session `good`, and the path of its folder. */
async function serverWithSession(data_dir: string) {
  const server = await startHttp({ store: data_dir });
  const client = await httpClient(server, 'modern');
  const session = { language: 'javascript', session_id: 'good' };
  await call(client, 'create_session', session);
  await call(client, 'execute_code', { ...session, code: 'let x = 1' });
  await call(client, 'reset_all_sessions', { cleanup_disk: false });
  const close = async () => {
    await client.close();
    await server.close();
  };
  return { client, close, folder: join(data_dir, 'caller-local') };
}

const sessionIds = async (client: Client) =>
  ((await call(client, 'get_active_sessions')).structured['sessions'] as { session_id: string }[]).map(
    ({ session_id }) => session_id,
  );

describe('a session that cannot be opened', () => {
  const damages: readonly (readonly [string, (folder: string) => void])[] = [
    ['an empty session.json', (folder) => writeFileSync(join(folder, 'bad', 'session.json'), '')],
    [
      'a folder in place of session.json',
      (folder) => {
        rmSync(join(folder, 'bad', 'session.json'));
        mkdirSync(join(folder, 'bad', 'session.json'));
      },
    ],
    [
      'a link in place of session.json',
      (folder) => {
        rmSync(join(folder, 'bad', 'session.json'));
        symlinkSync('/etc/passwd', join(folder, 'bad', 'session.json'));
      },
    ],
    ['missing objects', (folder) => rmSync(join(folder, 'bad', 'objects'), { recursive: true })],
    [
      'a file in place of its lock folder',
      (folder) => {
        mkdirSync(join(folder, '.locks'), { recursive: true });
        writeFileSync(join(folder, '.locks', 'bad'), '');
      },
    ],
    [
      'a name that differs only in case from another',
      (folder) => {
        cpSync(join(folder, 'bad'), join(folder, 'BAD'), { recursive: true });
        rewriteId(join(folder, 'BAD'), 'BAD');
      },
    ],
  ];

  function rewriteId(folder: string, id: string): void {
    const path = join(folder, 'session.json');
    const record = JSON.parse(readFileSync(path, 'utf8'));
    const text = JSON.stringify(record).replaceAll(/"session_id":"[^"]*"/g, `"session_id":"${id}"`);
    writeFileSync(path, text);
  }

  let started: Awaited<ReturnType<typeof serverWithSession>>;
  const folder = folderOfFile();
  const saved = folderOfFile();
  beforeAll(async () => {
    started = await serverWithSession(folder);
    cpSync(join(started.folder, 'good'), saved, { recursive: true });
  });
  afterAll(() => started.close());

  // guarantee: session-recovery
  // proves: A session that cannot be opened can be destroyed.
  test.each(damages)('because of %s can be destroyed', async (_, damage) => {
    const { client, folder } = started;
    for (const id of ['good', 'bad']) {
      cpSync(saved, join(folder, id), { recursive: true });
      rewriteId(join(folder, id), id);
    }
    expect((await sessionIds(client)).sort()).toEqual(['bad', 'good']);
    damage(folder);
    expect(await call(client, 'destroy_session', { session_id: 'bad' })).toMatchObject({ isError: false });
    const { text, structured } = await call(client, 'reset_all_sessions');
    expect({ text, failed: structured['failed'] }).toMatchObject({ failed: [] });
    expect(await sessionIds(client)).toEqual([]);
  });
});

// guarantee: session-recovery
test('the files of a damaged session are listed and can be read with tools and as resources', async () => {
  const { client, close, folder } = await serverWithSession(folderOfTest());
  const content = 'kept'.repeat(1000);
  await call(client, 'write_file', { path: 'out/data.txt', content, session_id: 'good' });
  await call(client, 'reset_all_sessions', { cleanup_disk: false });
  writeFileSync(join(folder, 'good', 'session.json'), 'damaged');
  const session = { session_id: 'good' };
  expect(await call(client, 'execute_code', { ...session, code: '1', language: 'javascript' })).toMatchObject(
    {
      isError: true,
      text: expect.stringMatching(/^session_damaged: .*list_files and read_file/),
    },
  );
  const listed = await call(client, 'list_files', session);
  expect(listed.structured).toMatchObject({ total: 1, files: [{ path: 'out/data.txt', size_bytes: 4000 }] });
  expect(listed.text).toContain('destroy_session');
  expect((await call(client, 'read_file', { ...session, path: 'out/data.txt' })).text).toBe(content);
  const [resource] = await listedFiles(client);
  expect(resource).toMatchObject({ uri: 'workspace://good/out/data.txt' });
  expect((await client.readResource({ uri: resource!.uri })).contents[0]).toMatchObject({ text: content });
  expect(await call(client, 'write_file', { ...session, path: 'x', content: '' })).toMatchObject({
    isError: true,
  });
  expect(await call(client, 'destroy_session', session)).toMatchObject({ isError: false });
  await close();
});

describe('reset_all_sessions', () => {
  // guarantee: session-recovery
  test('continues after a failure and reports every failure', { tags: 'full' }, async () => {
    const { client, close, folder } = await serverWithSession(folderOfTest());
    for (const session_id of ['a', 'b', 'c', 'd'])
      await call(client, 'create_session', { language: 'javascript', session_id });
    await call(client, 'reset_all_sessions', { cleanup_disk: false });
    writeFileSync(join(folder, 'c', 'session.json'), 'damaged');
    const release = await diskStore(folder).acquire('b');
    await call(client, 'write_file', { path: 'a.txt', content: 'x' });
    const { isError, text, structured } = await call(client, 'reset_all_sessions');
    expect(isError).toBe(false);
    expect([...(structured['sessions'] as string[])].sort()).toEqual(['a', 'c', 'd', 'good']);
    expect(structured['failed']).toEqual([{ session_id: 'b', error: expect.stringMatching(/in use/) }]);
    expect(text).toMatch(/\nFailed for b: /);
    await release();
    expect(await sessionIds(client)).toEqual(['b']);
    expect((await call(client, 'list_files')).structured).toMatchObject({ total: 0 });
    await close();
  });

  // guarantee: session-recovery
  test('does not interfere with a session that is used at the same time', { tags: 'full' }, async () => {
    const { client, close } = await serverWithSession(folderOfTest());
    const run = () => call(client, 'execute_code', { code: 'x', language: 'javascript', session_id: 'good' });
    for (let i = 0; i < 5; i++) {
      await run();
      const answers = await Promise.all([
        call(client, 'reset_all_sessions', { cleanup_disk: false }),
        ...[1, 2, 3].map(run),
      ]);
      for (const { text } of answers) expect(text).not.toMatch(/session_busy/);
    }
    await close();
  });
});

describe('an imported session', () => {
  // guarantee: session-recovery
  // proves: The limits of an imported session are at most those of the server.
  test('exceeds none of the limits of the server', async () => {
    const data_dir = folderOfTest();
    const sessions = openSessions({ store: diskStore(join(data_dir, 'caller-local')) });
    const large = {
      fuel_budget: 10 ** 15,
      memory_bytes: 4 * 2 ** 30,
      timeout_seconds: 86_000,
      stdout_max_bytes: 500_000_000,
      stderr_max_bytes: 500_000_000,
      workspace_max_bytes: 2 ** 32,
      workspace_max_files: 1_000_000,
    };
    const made = await sessions.create({ runtime: 'javascript', session_id: 'large', policy: large });
    await made.flush();
    await sessions.close();
    const server = await startHttp({ store: data_dir });
    const client = await httpClient(server, 'modern');
    await call(client, 'execute_code', { code: '1', language: 'javascript', session_id: 'large' });
    await client.close();
    await server.close();
    const { records } = await diskStore(join(data_dir, 'caller-local')).list();
    expect(records[0]!.policy).toMatchObject({
      fuel_budget: 1_000_000_000_000,
      memory_bytes: 2 ** 30,
      timeout_seconds: 300,
      stdout_max_bytes: 2_000_000,
      stderr_max_bytes: 1_000_000,
      workspace_max_bytes: 64 * 2 ** 20,
      workspace_max_files: 10_000,
    });
  });
});

describe('an imported session', () => {
  /** A folder with a paused session that was given a large budget, under two names. */
  async function importedPaused(): Promise<{ data_dir: string; execution_id: string }> {
    const from = openSessions();
    const policy = { fuel_budget: 10 ** 15, timeout_seconds: 80_000 };
    const session = await from.create({ runtime: 'javascript', session_id: 'paused', policy });
    const tools = { ask: { needsApproval: true, execute: async () => 1 } };
    const code = 'await tools.ask({}); for (;;);';
    const { metadata } = await session.execute(code, { tools, fuel_budget: 10 ** 15 });
    await session.flush();
    const bytes = await from.export('paused');
    await from.close();
    const data_dir = folderOfTest();
    await using to = openSessions({ store: diskStore(join(data_dir, 'caller-local')) });
    await to.import(bytes);
    await to.import(bytes, { session_id: 'default' });
    return { data_dir, execution_id: metadata.execution_id! };
  }

  // guarantee: session-recovery
  // proves: A paused program of an imported session cannot use more fuel than the server allows.
  test('that is paused continues within the limits of the server, and "default" can be destroyed', {
    tags: 'full',
  }, async () => {
    const { data_dir, execution_id } = await importedPaused();
    // The tool resume_execution exists only with a tool server; none of its tools is called.
    const tools_config = writeToolsConfig(folderOfTest());
    const limits = { fuel_budget: 50_000_000, max_fuel_budget: 60_000_000 };
    await using server = await startHttp({ store: data_dir, tools_config, ...limits });
    await using client = await httpClient(server, 'modern');
    const { structured, text } = await call(client, 'resume_execution', {
      session_id: 'paused',
      execution_id,
      resolutions: [{ id: 1, value: 1 }],
    });
    expect({ ...structured, text }).toMatchObject({ success: false, trap_reason: 'out_of_fuel' });
    expect(await sessionIds(client)).toContain('default');
    expect(await call(client, 'destroy_session', { session_id: 'default' })).toMatchObject({
      isError: false,
    });
    expect(await sessionIds(client)).toEqual(['paused']);
  });
});

describe('a server that is stopped by a signal', () => {
  const code = 'import time\ntime.sleep(1.5)\nx = "finished"\nx';
  const run = { code, language: 'python', session_id: 'kept' };

  async function untilRunning(client: Client): Promise<void> {
    while ((await call(client, 'get_metrics')).structured['running'] === 0)
      await new Promise((next) => setTimeout(next, 20));
    await new Promise((next) => setTimeout(next, 200));
  }

  async function expectKept(data_dir: string): Promise<void> {
    await using sessions = openSessions({ store: diskStore(join(data_dir, 'caller-local')) });
    const session = await sessions.get('kept');
    expect((await session.execute('x')).metadata).toMatchObject({ result: 'finished' });
  }

  // guarantee: session-recovery
  // proves: A server over HTTP that is stopped by a signal finishes the running call.
  test.each(['SIGHUP', 'SIGTERM'] as const)(
    'with %s over HTTP finishes the running call',
    { tags: 'full' },
    async (signal) => {
      const data_dir = folderOfTest();
      const child: ChildProcess = spawn(
        process.execPath,
        [CLI, 'serve', '--port', '0', '--store', data_dir],
        {
          stdio: ['ignore', 'ignore', 'pipe'],
        },
      );
      let log = '';
      child.stderr!.on('data', (chunk: Buffer) => {
        log += chunk.toString();
      });
      while (!log.includes('listening on')) await new Promise((next) => setTimeout(next, 20));
      const client = await httpClient({ url: /listening on (\S+)/.exec(log)![1]! }, 'modern');
      await call(client, 'create_session', { language: 'python', session_id: 'kept' });
      const running = call(client, 'execute_code', run);
      await untilRunning(client);
      child.kill(signal);
      expect((await running).structured).toMatchObject({ success: true, result: 'finished' });
      expect(await once(child, 'exit')).toEqual([0, null]);
      await expectKept(data_dir);
    },
  );

  // guarantee: session-recovery
  // proves: A server over stdio that is stopped by a signal finishes the running call.
  test.each(['SIGHUP', 'SIGTERM'] as const)(
    'with %s over stdio finishes the running call',
    { tags: 'full' },
    async (signal) => {
      const data_dir = folderOfTest();
      const args = ['mcp', '--store', data_dir, '--log-level', 'silent'];
      const { client, transport } = await stdioClient('legacy', args);
      await call(client, 'create_session', { language: 'python', session_id: 'kept' });
      const running = call(client, 'execute_code', run);
      await untilRunning(client);
      process.kill(transport.pid!, signal);
      expect((await running).structured).toMatchObject({ success: true, result: 'finished' });
      await client.close();
      await expectKept(data_dir);
    },
  );
});
