import type { Client } from '@modelcontextprotocol/client';
import { describe, expect, test } from 'vitest';
import { call, httpClient, startHttp, stdioClient } from '../support/mcp.ts';
import { sharedByFile } from '../support/shared.ts';
import { PROMPT_BUDGETS } from './budgets.ts';

const tokens = ['a=token-of-tenant-a', 'b=token-of-tenant-b'];
const server = await sharedByFile(startHttp({ shell_tool: true, tokens }));
const client = await sharedByFile(httpClient(server, 'modern', 'token-of-tenant-a'));

const run = async (command: string, one: Client = client) =>
  (await call(one, 'bash', { command })).structured;

describe('the tool bash', () => {
  test('keeps variables, functions and the working directory between commands', async () => {
    await run('mkdir -p work && cd work; name=world; greet() { echo "hello $name"; }');
    expect(await run('greet; pwd')).toMatchObject({ stdout: 'hello world\n/app/work\n', exit_code: 0 });
    expect(await run('exit 3')).toMatchObject({ success: false, exit_code: 3 });
    expect(await run('greet')).toMatchObject({ stdout: 'hello world\n' });
  });

  test('has the files of the other tools, and they have its files', async () => {
    await call(client, 'write_file', { path: 'in.txt', content: 'b\na\n' });
    expect(await run('sort /app/in.txt | tee /app/out.txt')).toMatchObject({ stdout: 'a\nb\n' });
    expect((await call(client, 'read_file', { path: 'out.txt' })).text).toContain('a\nb');
    await call(client, 'execute_code', { code: "import os; os.remove('in.txt')", language: 'python' });
    expect(await run('ls /app/in.txt')).toMatchObject({ success: false });
  });

  test('restart ends a running command and gives a new shell with the same files', async () => {
    await run('kept=1; echo data > /app/kept.txt');
    const endless = call(client, 'bash', { command: 'while :; do :; done' });
    let isEnded = false;
    void endless.finally(() => {
      isEnded = true;
    });
    // The command is cancelled once it has begun, however fast the machine is.
    while (!isEnded) {
      expect((await call(client, 'bash', { restart: true })).text).toContain('The shell was restarted');
      await new Promise((next) => setTimeout(next, 50));
    }
    expect((await endless).isError || (await endless).structured['trap_reason'] === 'cancelled').toBe(true);
    expect(await run('echo "[$kept]"; pwd; cat /app/kept.txt')).toMatchObject({ stdout: '[]\n/app\ndata\n' });
  });

  test('refuses commands if too many are waiting', async () => {
    await using full = await startHttp({
      shell_tool: true,
      max_queued: 1,
      tokens: ['full=token-of-tenant-full'],
    });
    await using one = await httpClient(full, 'modern', 'token-of-tenant-full');
    const endless = [1, 2, 3].map(() => call(one, 'bash', { command: 'while :; do :; done' }));
    expect(await Promise.race(endless)).toMatchObject({
      isError: true,
      text: expect.stringMatching(/^queue_full/),
    });
    expect((await call(one, 'bash', { restart: true })).text).toContain('The shell was restarted');
    await Promise.all(endless);
  });

  test('says what is missing if it gets neither a command nor a restart', async () => {
    const { isError, text } = await call(client, 'bash');
    expect({ isError, text }).toMatchObject({
      isError: true,
      text: expect.stringContaining('Pass a command'),
    });
  });

  test('runs commands of the same client one after another', async () => {
    await run('echo 0 > /app/n');
    const increments = Array.from({ length: 4 }, () => run('echo $(($(cat /app/n) + 1)) > /app/n'));
    await Promise.all(increments);
    expect(await run('cat /app/n')).toMatchObject({ stdout: '4\n' });
  });

  test('has a shell for every tenant', async () => {
    await using other = await httpClient(server, 'modern', 'token-of-tenant-b');
    await run('secret=1');
    expect(await run('echo "[$secret]"; ls', other)).toMatchObject({ stdout: '[]\n' });
  });

  test('refuses a session of its name that runs another language', async () => {
    await call(client, 'destroy_session', { session_id: 'bash' });
    await call(client, 'create_session', { language: 'python', session_id: 'bash' });
    const { isError, text } = await call(client, 'bash', { command: 'echo' });
    expect({ isError, text }).toMatchObject({ isError: true, text: expect.stringContaining('runs python') });
    await call(client, 'destroy_session', { session_id: 'bash' });
    expect(await run('echo again')).toMatchObject({ stdout: 'again\n' });
  });

  test('is offered only if the setting is on, also with the smallest set', { tags: 'full' }, async () => {
    const listed = async (...flags: string[]) => {
      const { client: one } = await stdioClient('legacy', ['mcp', '--log-level', 'silent', ...flags]);
      const { tools } = await one.listTools();
      await one.close();
      return tools;
    };
    expect((await listed()).map(({ name }) => name)).not.toContain('bash');
    const minimal = await listed('--tools', 'minimal', '--shell-tool');
    expect(minimal.map(({ name }) => name)).toEqual(['execute_code', 'read_file', 'write_file', 'bash']);
    const { description = '', inputSchema } = minimal.at(-1)!;
    expect(Object.keys(inputSchema.properties ?? {})).toEqual(['command', 'restart']);
    expect(description).not.toContain('session_id');
    expect(description.length / 4).toBeLessThan(PROMPT_BUDGETS['*']!);
  });
});
