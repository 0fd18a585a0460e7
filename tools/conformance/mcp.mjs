/**
 * Runs the official MCP conformance suite against the HTTP server: every scenario that two protocol revisions require of a
 * server. The suite needs a newer Node.js than the server; both are installed, pinned, into a cache outside the
 * repository. Exits with 1 if a required scenario fails. `--verbose` shows the output of the suite.
 */
import { spawn, spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { installPinned } from '../../scripts/install-pinned-packages.mjs';

const SUITE = '@modelcontextprotocol/conformance@0.2.0-alpha.12';
const NODE = { name: `node-${process.platform}-${process.arch}`, version: '24.21.0' };
/** Number of scenarios that each revision requires of a server, as listed by the suite. */
const REVISIONS = { '2025-11-25': 30, '2026-07-28': 37 };

const isNewEnough = Number(process.versions.node.split('.')[0]) >= 22;
const INDEX = 'node_modules/@modelcontextprotocol/conformance/dist/index.js';
const cache = installPinned('conformance', [SUITE, ...(isNewEnough ? [] : [`${NODE.name}@${NODE.version}`])]);
const suite = join(cache, INDEX);
const node = isNewEnough ? process.execPath : join(cache, `node_modules/${NODE.name}/bin/node`);

async function startServer() {
  const path = fileURLToPath(new URL('../../test/conformance/server.mjs', import.meta.url));
  const child = spawn(process.execPath, [path], { stdio: ['pipe', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: child.stdout })) return { child, url: line };
  throw new Error('The server exited before it printed its URL.');
}

/** Runs the scenarios of one revision and prints the result. Returns whether all required ones passed. */
function run(revision, required, url) {
  const args = [suite, 'server', '--url', url, '--requirements', revision];
  const { stdout, status } = spawnSync(node, args, { cwd: cache, encoding: 'utf8', maxBuffer: 64 * 2 ** 20 });
  if (process.argv.includes('--verbose')) process.stdout.write(stdout);
  const [, summary = '', notScored = ''] =
    /=== SUMMARY ===\n([\s\S]*?)\nTotal:[^\n]*\n([\s\S]*)$/.exec(stdout) ?? [];
  const extra = [...notScored.matchAll(/^ {2}[✓✗] (\S+) \(/gm)].map(([, name]) => name);
  const rows = [...summary.matchAll(/^([✓✗]) (\S+): (\d+) passed, (\d+) failed/gm)].filter(
    ([, , name]) => !extra.includes(name),
  );
  const failed = rows.filter(([, mark]) => mark === '✗').map(([, , name]) => name);
  const checks = rows.reduce((sum, [, , , passed]) => sum + Number(passed), 0);
  const isComplete = rows.length === required && failed.length === 0 && status === 0;
  console.log(
    `${isComplete ? 'ok  ' : 'FAIL'}  ${revision}: ${rows.length - failed.length} of ${required} required scenarios, ${checks} checks`,
  );
  for (const name of failed) console.log(`      failed: ${name}`);
  return isComplete;
}

const { child, url } = await startServer();
try {
  const passed = Object.entries(REVISIONS).map(([revision, required]) => run(revision, required, url));
  process.exitCode = passed.every(Boolean) ? 0 : 1;
} finally {
  child.stdin.end();
}
