/**
 * A server that is asked to stop while calls are running.
 *
 * @module-tag full
 */
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { callTool, Replica } from './replica-load.ts';

let server: Replica;
afterEach(() => server.end('SIGKILL'));

/** Starts a server and a call, and returns when the call is running. */
async function startCall(code: string, flags: readonly string[] = []) {
  server = new Replica(flags);
  await server.start();
  const url = server.url!;
  const running = callTool(url, '', 'execute_code', { code, language: 'javascript' });
  running.catch(() => {});
  const metrics = async () => (await fetch(new URL('/metrics', url))).text();
  while (!(await metrics()).includes('_running 1')) await sleep(20);
  return { url, running };
}

async function stop(url: string): Promise<void> {
  server.child!.kill('SIGTERM');
  const readiness = async () => (await fetch(new URL('/readyz', url))).text();
  while (!(await readiness()).includes('stopping')) await sleep(10);
}

test('a server is not ready once the signal has arrived, finishes its calls and exits with 0', async () => {
  const code = 'await new Promise((resolve) => setTimeout(resolve, 3000)); console.log("finished")';
  const { url, running } = await startCall(code);
  const ended = once(server.child!, 'exit');
  await stop(url);
  expect((await fetch(new URL('/readyz', url))).status).toBe(503);
  expect((await callTool(url, '', 'list_files', {})).failure).toBe('http_503');
  expect((await running).stdout).toBe('finished\n');
  expect(await ended).toEqual([0, null]);
});

test('a server ends at once when a second signal arrives', async () => {
  const { url } = await startCall('for (;;) {}');
  const ended = once(server.child!, 'exit');
  await stop(url);
  server.child!.kill('SIGTERM');
  expect(await ended).toEqual([143, null]);
});

test('a server cancels and answers the calls that are still running after shutdown_seconds', async () => {
  const { url, running } = await startCall('for (;;) {}', ['--shutdown-seconds', '1']);
  const ended = once(server.child!, 'exit');
  await stop(url);
  expect((await running).failure).toBe('cancelled');
  expect(await ended).toEqual([0, null]);
});
