/**
 * Checks the server with the official MCP inspector: a schema lint of all tools, which must report nothing, one call, and a
 * load test whose figures are printed. Needs a build.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installPinned } from '../../scripts/install-pinned-packages.mjs';

const INSPECTOR = '@modelcontextprotocol/inspector@2.12.0';
const LAUNCHER = 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js';
const launcher = join(installPinned('inspector', [INSPECTOR]), LAUNCHER);
const cli = fileURLToPath(new URL('../../packages/cli/dist/cli/main.js', import.meta.url));

function inspect(...args) {
  const all = [launcher, '--cli', process.execPath, cli, 'mcp', ...args];
  // The log of a load test grows with the speed of the server: two lines for each call.
  const limits = { timeout: 120_000, maxBuffer: 256 * 1024 * 1024 };
  const { stdout, stderr, status, error } = spawnSync(process.execPath, all, { encoding: 'utf8', ...limits });
  if (error) throw error;
  // The inspector forwards the log of the server; its own messages are the lines that are not JSON.
  const messages = stderr.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('{"level"'));
  return { stdout, messages: messages.join('\n'), status };
}

function check(name, isOk, detail) {
  console.log(`${isOk ? 'ok  ' : 'FAIL'}  ${name}${detail === '' ? '' : `: ${detail}`}`);
  if (!isOk) process.exitCode = 1;
}

const list = inspect('--method', 'tools/list', '--strict');
const tools = list.status === 0 ? JSON.parse(list.stdout).tools.length : 0;
check(
  'tools/list --strict',
  tools > 0 && list.messages === '',
  list.messages || `${tools} tools, no warnings`,
);

const program = [
  '--tool-name',
  'execute_code',
  '--tool-args-json',
  '{"code":"print(1)","language":"python"}',
];
const once = inspect('--method', 'tools/call', ...program);
check(
  'tools/call',
  once.status === 0 && JSON.parse(once.stdout).structuredContent?.stdout === '1\n',
  once.messages,
);

const load = ['--load', '--load-concurrency', '4', '--load-duration', '4'];
const run = inspect('--method', 'tools/call', ...program, ...load);
const figures = run.status === 0 ? JSON.parse(run.stdout) : undefined;
check(
  'load test, 4 concurrent calls for 4 s',
  figures?.errorRate === 0 && figures.toolErrors === 0,
  figures === undefined
    ? run.messages
    : `${figures.ok} calls, ${figures.throughput} per second, p50 ${figures.latencyMs.p50} ms, p99 ${figures.latencyMs.p99} ms`,
);
