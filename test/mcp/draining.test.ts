/** A server that is asked to stop while calls are running. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterEach, expect, test } from 'vitest';
import { CLI, call, httpClient } from '../support/mcp.ts';

const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

async function startServer(): Promise<{ child: ChildProcess; url: string }> {
  const args = ['serve', '--port', '0', '--log-level', 'silent', '--optimization', 'demand'];
  const child = spawn(process.execPath, [CLI, ...args], { stdio: ['ignore', 'ignore', 'pipe'] });
  children.push(child);
  for await (const line of createInterface({ input: child.stderr! })) {
    const url = /listening on (\S+)/.exec(line)?.[1];
    if (url !== undefined) return { child, url };
  }
  throw new Error('The server has exited.');
}

const statusOf = async (url: string, path: string) => (await fetch(new URL(path, url))).status;

const untilRunning = async (url: string) => {
  const metrics = async () => (await fetch(new URL('/metrics', url))).text();
  while (!(await metrics()).includes('_running 1')) await new Promise((resolve) => setTimeout(resolve, 20));
};

test('is not ready as soon as the signal arrives, finishes its calls and exits with 0', async () => {
  const { child, url } = await startServer();
  const client = await httpClient({ url }, 'modern');
  const code = 'await new Promise((resolve) => setTimeout(resolve, 2000)); console.log("finished")';
  const running = call(client, 'execute_code', { code, language: 'javascript' });
  await untilRunning(url);
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  while ((await statusOf(url, '/readyz')) !== 503) await new Promise((resolve) => setTimeout(resolve, 10));
  expect(await statusOf(url, '/mcp')).toBe(503);
  expect((await running).text).toContain('finished');
  expect(await ended).toEqual([0, null]);
});

test('ends at once when a second signal arrives', async () => {
  const { child, url } = await startServer();
  const client = await httpClient({ url }, 'modern');
  const running = call(client, 'execute_code', { code: 'for (;;) {}', language: 'javascript' }).catch(
    () => {},
  );
  await untilRunning(url);
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  while ((await statusOf(url, '/readyz')) !== 503) await new Promise((resolve) => setTimeout(resolve, 10));
  child.kill('SIGTERM');
  expect(await ended).toEqual([143, null]);
  await running;
});
