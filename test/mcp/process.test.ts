import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Client } from '@modelcontextprotocol/client';
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OldTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { parse as parseToml } from 'smol-toml';
import { describe, expect, test } from 'vitest';
import { runCli } from '../support/cli.ts';
import { folderOfFile, folderOfTest } from '../support/folders.ts';
import { CLI, call, httpClient, stdioClient } from '../support/mcp.ts';
import { repetitions } from '../support/repetitions.ts';

const INITIALIZE = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 't', version: '1' } },
});

const cli = (args: readonly string[], env: Record<string, string> = {}, input = '') =>
  runCli(args, { env, input });

describe('a server process', () => {
  test('serves MCP if no command is given, and exits when its input ends', { tags: 'full' }, async () => {
    const { stdout, stderr, status } = await cli([], {}, `${INITIALIZE}\n`);
    expect(status).toBe(0);
    const lines = stdout.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line).jsonrpc)).toEqual(lines.map(() => '2.0'));
    const events = stderr
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).event);
    expect(events).toEqual(['server.start', 'server.stop']);
  });

  test('logs one event per tool call, without the code', { tags: 'full' }, async () => {
    const { client, transport } = await stdioClient('legacy', ['mcp']);
    let log = '';
    transport.stderr!.on('data', (chunk: Buffer) => {
      log += chunk.toString();
    });
    await call(client, 'execute_code', { code: 'print("a secret word")', language: 'python' });
    await call(client, 'read_file', { path: 'none' });
    await client.close();
    const events = log
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.find(({ tool }) => tool === 'execute_code')).toMatchObject({
      event: 'tool.call',
      tenant: 'local',
      ok: true,
      success: true,
      code_chars: 22,
      code_sha256: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
    expect(events.find(({ tool }) => tool === 'read_file')).toMatchObject({
      ok: false,
      error: 'file_not_found',
    });
    expect(events.map(({ event }) => event)).toEqual(
      expect.arrayContaining(['execution.start', 'execution.complete']),
    );
    expect(log).not.toContain('secret');
  });

  test('stops a running program and exits promptly when its client disconnects', {
    tags: 'full',
  }, async () => {
    const child = spawn(process.execPath, [CLI, 'mcp', '--log-level', 'silent'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const endless = {
      name: 'execute_code',
      arguments: { code: 'while True: pass', language: 'python', fuel_budget: 100e9 },
    };
    child.stdin.write(`${INITIALIZE}\n`);
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
    child.stdin.write(
      `${JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: endless })}\n`,
    );
    await new Promise((next) => child.stdout.once('data', next));
    await new Promise((next) => setTimeout(next, 300));
    child.stdin.end();
    const code = await new Promise((resolve) => child.once('exit', resolve));
    expect(code).toBe(0);
  });

  test('answers messages that exceed the limits of a body with an error, and continues', {
    tags: 'full',
  }, async () => {
    const child = spawn(process.execPath, [CLI, 'mcp', '--log-level', 'silent'], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const ask = async (text: string) => {
      child.stdin.write(`${text}\n`);
      return JSON.parse((await answers.next()).value);
    };
    expect(await ask(INITIALIZE)).toHaveProperty('result');
    const wide = Array.from({ length: 3000 }, (_, i) => `"k${i}":1`).join(',');
    const request = (id: string, params: string) =>
      `{"jsonrpc":"2.0","method":"tools/list","params":{${params}},"id":${id}}`;
    const error = (reason: RegExp) => ({ code: -32_600, message: expect.stringMatching(reason) });
    expect(await ask(request('7', `"id":5,${wide}`))).toEqual({
      jsonrpc: '2.0',
      id: 7,
      error: error(/2000 members/),
    });
    expect(await ask(request('"eight"', `"x":${'['.repeat(70)}${']'.repeat(70)}`))).toMatchObject({
      id: 'eight',
      error: error(/64 levels deep/),
    });
    expect(await ask(request(`"${'i'.repeat(300)}"`, ''))).toMatchObject({
      id: null,
      error: error(/id has/),
    });
    expect(await ask(request('9', ''))).toMatchObject({ id: 9, result: { tools: expect.any(Array) } });
    child.stdin.end();
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  test('shuts down cleanly when its client sends a line that exceeds the buffer limit', {
    tags: 'full',
  }, async () => {
    const child = spawn(process.execPath, [CLI, 'mcp'], { stdio: ['pipe', 'pipe', 'pipe'] });
    let log = '';
    child.stderr.on('data', (chunk: Buffer) => {
      log += chunk.toString();
    });
    child.stdin.on('error', () => {});
    child.stdin.write(`${INITIALIZE}\n`);
    await once(child.stdout, 'data');
    child.stdin.write('x'.repeat(11 * 2 ** 20));
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(log).toContain('server.stop');
  });

  test('saves sessions before it exits, on a signal and at the end of its input', {
    tags: 'full',
  }, async () => {
    const data_dir = folderOfTest();
    const session = { language: 'python', session_id: 'kept' };
    const run = (client: Client, code: string) => call(client, 'execute_code', { ...session, code });
    const flags = ['--store', data_dir, '--log-level', 'silent'];

    const first = await stdioClient('modern', ['mcp', ...flags]);
    await call(first.client, 'create_session', session);
    await run(first.client, 'x = [1]');
    await first.client.close();

    const child = spawn(process.execPath, [CLI, 'serve', '--port', '0', ...flags], {
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [line] = (await once(child.stderr, 'data')) as [Buffer];
    const url = /listening on (\S+)/.exec(line.toString())![1]!;
    const client = await httpClient({ url }, 'modern');
    expect((await run(client, 'x.append(2)\nx')).structured).toMatchObject({ result: [1, 2] });
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);

    const last = await stdioClient('modern', ['mcp', ...flags]);
    expect((await run(last.client, 'x')).structured).toMatchObject({ result: [1, 2] });
    await last.client.close();
  });

  test('prints the variables that clients of E2B need', { tags: 'full' }, async () => {
    const flags = ['--e2b', '--port', '0', '--log-level', 'silent'];
    const child = spawn(process.execPath, [CLI, 'serve', ...flags], { stdio: ['ignore', 'ignore', 'pipe'] });
    let log = '';
    for await (const data of child.stderr) {
      log += String(data);
      if (log.includes('E2B_API_KEY')) break;
    }
    const origin = /listening on (http:\/\/127\.0\.0\.1:\d+)\//.exec(log)![1];
    expect(log).toContain(
      `  export E2B_API_URL=${origin}\n  export E2B_SANDBOX_URL=${origin}\n  export E2B_API_KEY=any`,
    );
    const created = await fetch(`${origin}/sandboxes`, {
      method: 'POST',
      headers: { 'x-api-key': 'any', 'content-type': 'application/json' },
      body: JSON.stringify({ templateID: 'base' }),
    });
    expect(created.status).toBe(201);
    child.kill('SIGTERM');
    await once(child, 'exit');
  });

  test('prints the address that clients of Jupyter need', { tags: 'full' }, async () => {
    const flags = ['--host', '0.0.0.0', '--allowed-host', '*', '--port', '0', '--log-level', 'silent'];
    const args = [CLI, 'serve', '--jupyter', ...flags, '--token', 'my=secret-of-16-characters'];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    let log = '';
    for await (const data of child.stderr) {
      log += String(data);
      if (log.includes('Jupyter')) break;
    }
    const port = /listening on http:\/\/0\.0\.0\.0:(\d+)\//.exec(log)![1];
    const address = `http://127.0.0.1:${port}/`;
    expect(log).toContain(`Clients of Jupyter connect to ${address} with the secret of a token`);
    const response = await fetch(`${address}api/kernelspecs?token=secret-of-16-characters`);
    expect(await response.json()).toMatchObject({ default: 'python3' });
    child.kill('SIGTERM');
    await once(child, 'exit');
  });

  // guarantee: durability
  test('keeps every completed call if it is killed right afterwards', { tags: 'full' }, async () => {
    const data_dir = folderOfTest();
    const session = { language: 'javascript', session_id: 'kept' };
    const rounds = repetitions(2, 40);
    for (let round = 0; round <= rounds; round++) {
      const { client, transport } = await stdioClient('modern', ['mcp', '--store', data_dir]);
      if (round === 0) {
        await call(client, 'create_session', session);
        await call(client, 'execute_code', { ...session, code: 'globalThis.xs = []' });
      }
      const code = `xs.push(${round}); std.open('log', 'a').puts('${round} '); [xs, std.loadFile('log')]`;
      const { structured } = await call(client, 'execute_code', { ...session, code });
      process.kill(transport.pid!, 'SIGKILL');
      const expected = Array.from({ length: round + 1 }, (_, i) => i);
      expect(structured).toMatchObject({
        result: [expected, `${expected.join(' ')} `],
        state: 'committed',
      });
      await client.close();
    }
  });

  describe.skipIf(process.platform === 'win32')('full disk', () => {
    /** A file size limit simulates a full disk without privileges. */
    const startLimited = (args: readonly string[]) => {
      const limit = `trap '' XFSZ; ulimit -f 1024; exec "$0" "$@"`;
      return spawn('sh', ['-c', limit, process.execPath, CLI, 'serve', '--port', '0', ...args], {
        stdio: ['ignore', 'ignore', 'pipe'],
      });
    };
    const FILL = 'import os\nbig = os.urandom(4_000_000)\nx = 2';
    const session = { language: 'python', session_id: 'full' };
    const run = (client: Client, code: string) => call(client, 'execute_code', { ...session, code });

    async function connect(args: readonly string[]) {
      const child = startLimited(args);
      let log = '';
      const listening = new Promise<string>((resolve) => {
        child.stderr.on('data', (chunk: Buffer) => {
          log += chunk.toString();
          const url = /listening on (\S+)/.exec(log)?.[1];
          if (url !== undefined) resolve(url);
        });
      });
      const client = await httpClient({ url: await listening }, 'modern');
      const stop = async () => {
        child.kill('SIGTERM');
        return (await once(child, 'exit'))[0] as number;
      };
      return { client, stop, log: () => log };
    }

    // guarantee: durability
    // proves: A server on a full disk fails the call that cannot be saved, undoes it and logs it.
    test('server on a full disk fails the call that cannot be saved, undoes it and logs it', {
      tags: 'full',
    }, async () => {
      const data_dir = folderOfTest();
      const { client, stop, log } = await connect(['--store', data_dir]);
      await call(client, 'create_session', session);
      await run(client, 'x = 1');
      const failed = await run(client, FILL);
      expect(failed).toMatchObject({ isError: true, text: expect.stringMatching(/^store_failed: .*undone/) });
      expect(failed.text).not.toContain(data_dir);
      expect((await run(client, 'x')).structured).toMatchObject({ result: 1, state: 'committed' });
      // Everything that was answered is saved.
      expect(await stop()).toBe(0);
      expect(log()).toMatch(/session\.save_failed.*"error":"store_failed"/);
    });

    // guarantee: durability
    // proves: With `--commit background`, a server on a full disk fails the next call, logs the error, and exits with an error.
    test('server on a full disk with commit background fails the next call, logs it, and exits with an error', {
      tags: 'full',
    }, async () => {
      const data_dir = folderOfTest();
      const { client, stop, log } = await connect(['--store', data_dir, '--commit', 'background']);
      await call(client, 'create_session', session);
      expect((await run(client, FILL)).structured).toMatchObject({ state: 'committed' });
      expect(await run(client, 'x')).toMatchObject({
        isError: true,
        text: expect.stringContaining('store_failed'),
      });
      expect(await stop()).toBe(69);
      expect(log()).toMatch(/session\.save_failed.*"error":"store_failed"/);
      expect(log()).toContain('These sessions could not be saved: full.');
    });
  });

  test('serves a client of SDK v1', { tags: 'full' }, async () => {
    const client = new OldClient({ name: 'old', version: '1' });
    await client.connect(
      new OldTransport({ command: process.execPath, args: [CLI, 'mcp', '--log-level', 'silent'] }),
    );
    const result = await client.callTool({
      name: 'execute_code',
      arguments: { code: '1 + 1', language: 'javascript' },
    });
    expect(result.structuredContent).toMatchObject({ success: true, result: 2 });
    await client.close();
  });
});

describe('server settings', () => {
  const folder = folderOfFile();
  const file = join(folder, 'server.toml');

  test('are read from the file, the environment and flags, in increasing order of precedence', async () => {
    writeFileSync(file, 'fuel_budget = 1000\ntimeout_seconds = 5\nmax_sessions = 3\n');
    const { stdout, stderr } = await cli(['mcp', '--config', file, '--print-config', '--fuel-budget', '3G'], {
      LLM_WASM_SANDBOX_FUEL_BUDGET: '2000',
      LLM_WASM_SANDBOX_TIMEOUT_SECONDS: '6',
    });
    expect(stderr).toBe('');
    expect(parseToml(stdout)).toMatchObject({
      fuel_budget: 3e9,
      timeout_seconds: 6,
      max_sessions: 3,
      port: 8765,
    });
  });

  test('are printed without secrets', { tags: 'full' }, async () => {
    const secret = 'a-very-secret-token';
    const address = `postgres://user:${secret}@host/db`;
    const { stdout } = await cli(
      [
        ...['serve', '--print-config', '--metrics-token', `${secret}-2`],
        // A secret that contains "=" must not be taken for a name.
        ...['--token', `ann=${secret}`, '--token', `${secret}=${secret}-3`],
        ...['--store', address, '--cors-origin', `https://user:${secret}@app.example`],
        ...['--external-files', `host=db password=${secret}`],
      ],
      { LLM_WASM_SANDBOX_PACKAGES: `https://index.example/?token=${secret}` },
    );
    expect(stdout).not.toContain(secret);
    expect(stdout).toContain('# tokens = [ "<secret>", "<secret>" ]');
    expect(stdout).toContain('# store = "<secret>"');
  });

  test('are printed as a file that --config reads', async () => {
    const { stdout } = await cli([
      'serve',
      '--print-config',
      '--max-sessions',
      '7',
      '--external-files',
      folder,
    ]);
    writeFileSync(file, stdout);
    expect(await cli(['serve', '--print-config', '--config', file])).toMatchObject({
      status: 0,
      stdout,
      stderr: '',
    });
  });

  test.each([
    ['an unknown key in the file', 'fuel = 1', {}, /fuel/],
    ['a value of the wrong type', 'fuel_budget = "much"', {}, /fuel_budget/],
    ['invalid TOML', 'fuel_budget = ', {}, /config/],
    ['an unknown environment variable', '', { LLM_WASM_SANDBOX_FUEL: '1' }, /fuel/],
  ])('reject %s', { tags: 'full' }, async (_, text, env, message) => {
    writeFileSync(file, text);
    const { stderr, status } = await cli(['mcp', '--config', file, '--print-config'], env);
    expect(stderr).toMatch(message);
    expect(status).toBe(2);
  });

  test('reject a public address without a token, and a token that is too short', {
    tags: 'full',
  }, async () => {
    expect(await cli(['serve', '--host', '0.0.0.0', '--port', '0'])).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/token/),
    });
    expect(await cli(['serve', '--token', 'short', '--print-config'])).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/16/),
    });
  });
});
