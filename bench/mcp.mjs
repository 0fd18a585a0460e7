/**
 * What a call costs through MCP: round trips of `print(1)` against a tool that answers a constant over the same server,
 * transport and client; how fast a cancelled program stops.
 */

import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { serveHttp } from 'llm-wasm-sandbox/mcp';
import { markdown, median, ms, quantile } from './measure.mjs';

const ROUNDS = 200;
const WARMUP = 20;
const PRINT = { name: 'execute_code', arguments: { code: 'print(1)', language: 'python' } };
const SCRIPT = { name: 'execute_code', arguments: { code: 'console.log(1)', language: 'javascript' } };
const CONSTANT = { name: 'list_files', arguments: { session_id: 'default' } };
const ENDLESS = {
  name: 'execute_code',
  arguments: { code: 'while True: pass', language: 'python', fuel_budget: 100e9, timeout: 300 },
};
const TOKENS = ['one=0123456789abcdef-one', 'two=0123456789abcdef-two'];

const newClient = (mode) => new Client({ name: 'bench', version: '1' }, { versionNegotiation: { mode } });

async function overStdio(mode) {
  const cli = fileURLToPath(new URL('../dist/cli/main.js', import.meta.url));
  const client = newClient(mode);
  const args = [cli, 'mcp', '--log-level', 'silent'];
  await client.connect(new StdioClientTransport({ command: process.execPath, args }));
  return client;
}

async function overHttp(url, mode, token) {
  const client = newClient(mode);
  const requestInit = { headers: { authorization: `Bearer ${token.split('=')[1]}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

/** Times of calls one after another, the alternatives in turn. */
async function roundTrips(client, calls) {
  const times = calls.map(() => []);
  for (let round = -WARMUP; round < ROUNDS; round++) {
    for (const [i, call] of calls.entries()) {
      const started = performance.now();
      await client.callTool(call);
      if (round >= 0) times[i].push(performance.now() - started);
    }
  }
  return times;
}

async function perSecond(client, call, inFlight = 8, seconds = 3) {
  let count = 0;
  const end = performance.now() + seconds * 1000;
  const loop = async () => {
    while (performance.now() < end) {
      await client.callTool(call);
      count++;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, loop));
  return count / seconds;
}

/** From the cancellation in the client to the moment the server has no program running. */
async function cancelTimes(server, client, times = 20) {
  const found = [];
  for (let i = 0; i < times; i++) {
    const abort = new AbortController();
    const running = client.callTool(ENDLESS, { signal: abort.signal }).catch(() => {});
    while (server.state.scheduler.running === 0) await new Promise((next) => setTimeout(next, 5));
    await new Promise((next) => setTimeout(next, 100));
    const started = performance.now();
    abort.abort();
    while (server.state.scheduler.running > 0) await new Promise((next) => setImmediate(next));
    found.push(performance.now() - started);
    await running;
  }
  return found;
}

export async function table() {
  const rows = [];
  const row = (name, times, rate = '') =>
    rows.push([name, ms(median(times)), ms(quantile(times, 0.95)), ms(quantile(times, 0.99)), rate]);
  const server = await serveHttp({ port: 0, tokens: TOKENS, rate_per_minute: 1_000_000 });
  const places = [
    ['stdio, 2026 era', await overStdio({ pin: '2026-07-28' })],
    ['HTTP, 2026 era', await overHttp(server.url, { pin: '2026-07-28' }, TOKENS[0])],
    ['HTTP, 2025 era', await overHttp(server.url, 'legacy', TOKENS[0])],
  ];
  for (const [place, client] of places) {
    const [constant, python, javascript] = await roundTrips(client, [CONSTANT, PRINT, SCRIPT]);
    const rate = async (call) => `${(await perSecond(client, call)).toFixed(0)}`;
    row(`${place}: an empty list`, constant, await rate(CONSTANT));
    row(`${place}: print(1), Python`, python, await rate(PRINT));
    row(`${place}: console.log(1), JavaScript`, javascript, await rate(SCRIPT));
  }
  const other = await overHttp(server.url, { pin: '2026-07-28' }, TOKENS[1]);
  row('from cancel to stopped', await cancelTimes(server, other));
  await Promise.all([...places.map(([, client]) => client.close()), other.close()]);
  await server.close();
  const note = `${ROUNDS} calls one after another, in ms; "a second" is with 8 calls in flight.`;
  return markdown('Calls through MCP', note, ['call', 'median', 'p95', 'p99', 'a second'], rows);
}
