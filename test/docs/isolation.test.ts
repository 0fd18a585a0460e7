/**
 * The profiles in docs/ISOLATION.md, as far as they can be tested without starting a service or a container.
 *
 * @module-tag full
 */
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { CLI, runProcess } from '../support/cli.ts';
import { folderOfFile } from '../support/folders.ts';

const text = readFileSync(new URL('../../docs/ISOLATION.md', import.meta.url), 'utf8');
const unit = /```ini\n([\s\S]*?)```/.exec(text)![1]!.replaceAll(/\\\n\s*/g, '');
const container = /```sh\n(docker run[\s\S]*?)```/.exec(text)![1]!.replaceAll(/\\\n\s*/g, '');
const folder = folderOfFile();

/** The arguments of this package in a command line. */
const argumentsOf = (command: string) =>
  command
    .trim()
    .replace(/^.*\bllm-wasm-sandbox (?=serve|mcp)/, '')
    .split(' ');

/** Starts a command with this environment only, in a folder where it cannot rely on any file, and closes its input. */
const start = (args: readonly string[], env: Readonly<Record<string, string>>, input: string) =>
  runProcess(process.execPath, [CLI, ...args], { cwd: '/', env, input });

describe('systemd unit', () => {
  test('consists of sections and directives, one on each line', () => {
    const lines = unit.split('\n').filter((line) => line !== '');
    for (const line of lines) expect(line).toMatch(/^(?:\[\w+\]|[A-Z]\w+=\S*(?: [^=]+)*)$/);
    const names = lines.map((line) => line.split('=')[0]);
    expect(names).toEqual(expect.arrayContaining(['ExecStart', 'Environment', 'EnvironmentFile', 'Restart']));
  });

  test('is accepted by systemd-analyze, where it is installed', () => {
    const file = join(folder, 'llm-wasm-sandbox.service');
    writeFileSync(file, unit.replace('/usr/bin/node', process.execPath));
    const found = spawnSync('systemd-analyze', ['verify', '--man=no', file], { encoding: 'utf8' });
    if (found.error === undefined) expect(`${found.stdout}${found.stderr}`).toBe('');
    else expect((found.error as NodeJS.ErrnoException).code).toBe('ENOENT');
  });

  test('starts the server with valid settings', async () => {
    const command = /^ExecStart=(.*)$/m
      .exec(unit)![1]!
      .replaceAll(/\$\{STATE_DIRECTORY\}/g, join(folder, 'state'));
    const { status, stdout } = await start([...argumentsOf(command), '--print-config'], {}, '');
    expect(status).toBe(0);
    expect(stdout).toContain('process');
  });
});

describe('container', () => {
  const [, name, value] = /--env (\w+)=(\S+)/.exec(container)!;
  const env = { [name!]: join(folder, value!) };

  test('runs programs with nothing but the environment of the command', async () => {
    const isolated = await start(['run', '--isolation', 'process', '-c', 'print(6 * 7)'], env, '');
    expect(isolated).toMatchObject({ status: 0, stdout: '42\n' });
  });

  test('starts a server that answers', async () => {
    const request = (id: number, method: string, params: object) =>
      `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
    const clientInfo = { name: 'test', version: '1' };
    const initialize = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    const { stdout, status } = await start(argumentsOf(container), env, request(1, 'initialize', initialize));
    expect(status).toBe(0);
    expect(JSON.parse(stdout.split('\n')[0]!)).toMatchObject({ id: 1, result: { serverInfo: {} } });
  });
});
