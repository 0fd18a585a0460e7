/**
 * Looks at our server through the official inspector: its schema lint over all tools, which has to be clean, one call,
 * and a load run whose figures are printed. Needs a build.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fetched } from './fetched.mjs';

const INSPECTOR = '@modelcontextprotocol/inspector@2.12.0';
const LAUNCHER = 'node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js';
const launcher = join(fetched('inspector', [INSPECTOR]), LAUNCHER);
const cli = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));

function inspect(...args) {
  const all = [launcher, '--cli', process.execPath, cli, 'mcp', ...args];
  const { stdout, stderr, status } = spawnSync(process.execPath, all, { encoding: 'utf8', timeout: 120_000 });
  // The inspector passes on what our server logs; its own words are the lines that are no JSON.
  const words = stderr.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('{"level"'));
  return { stdout, words: words.join('\n'), status };
}

function check(name, isOk, detail) {
  console.log(`${isOk ? 'ok  ' : 'FAIL'}  ${name}${detail === '' ? '' : `: ${detail}`}`);
  if (!isOk) process.exitCode = 1;
}

const list = inspect('--method', 'tools/list', '--strict');
const tools = list.status === 0 ? JSON.parse(list.stdout).tools.length : 0;
check('tools/list --strict', tools > 0 && list.words === '', list.words || `${tools} tools, no warning`);

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
  once.words,
);

const load = ['--load', '--load-concurrency', '4', '--load-duration', '4'];
const run = inspect('--method', 'tools/call', ...program, ...load);
const figures = run.status === 0 ? JSON.parse(run.stdout) : undefined;
check(
  'load, 4 at a time for 4 s',
  figures?.errorRate === 0 && figures.toolErrors === 0,
  figures === undefined
    ? run.words
    : `${figures.ok} calls, ${figures.throughput} a second, p50 ${figures.latencyMs.p50} ms, p99 ${figures.latencyMs.p99} ms`,
);
