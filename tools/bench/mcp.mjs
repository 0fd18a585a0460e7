/**
 * Latency of MCP calls: round trips of `print(1)` compared with a tool that runs no program, over the same server,
 * transport and client; and the time from a cancellation until the program has stopped.
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
  const cli = fileURLToPath(new URL('../../packages/cli/dist/cli/main.js', import.meta.url));
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

/** Round-trip times of sequential calls, alternating between the given calls. */
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

/** Time from the cancellation in the client until the server has no program running. */
async function cancelTimes(server, client, times = 20) {
  const durations = [];
  for (let i = 0; i < times; i++) {
    const abort = new AbortController();
    const running = client.callTool(ENDLESS, { signal: abort.signal }).catch(() => {});
    while (server.state.pool.running === 0) await new Promise((next) => setTimeout(next, 5));
    await new Promise((next) => setTimeout(next, 100));
    const started = performance.now();
    abort.abort();
    while (server.state.pool.running > 0) await new Promise((next) => setImmediate(next));
    durations.push(performance.now() - started);
    await running;
  }
  return durations;
}

export async function table() {
  const rows = [];
  const row = (name, times, rate = '') =>
    rows.push([name, ms(median(times)), ms(quantile(times, 0.95)), ms(quantile(times, 0.99)), rate]);
  const server = await serveHttp({ port: 0, tokens: TOKENS, rate_per_minute: 1_000_000 });
  const connections = [
    ['stdio, 2026 era', await overStdio({ pin: '2026-07-28' })],
    ['HTTP, 2026 era', await overHttp(server.url, { pin: '2026-07-28' }, TOKENS[0])],
    ['HTTP, 2025 era', await overHttp(server.url, 'legacy', TOKENS[0])],
  ];
  for (const [connection, client] of connections) {
    const [constant, python, javascript] = await roundTrips(client, [CONSTANT, PRINT, SCRIPT]);
    const rate = async (call) => `${(await perSecond(client, call)).toFixed(0)}`;
    row(`${connection}: list_files`, constant, await rate(CONSTANT));
    row(`${connection}: print(1), Python`, python, await rate(PRINT));
    row(`${connection}: console.log(1), JavaScript`, javascript, await rate(SCRIPT));
  }
  const other = await overHttp(server.url, { pin: '2026-07-28' }, TOKENS[1]);
  row('HTTP, 2026 era: from a cancellation until the program has stopped', await cancelTimes(server, other));
  await Promise.all([...connections.map(([, client]) => client.close()), other.close()]);
  await server.close();
  const note = `Milliseconds per call, for ${ROUNDS} sequential calls. The rate is measured with 8 concurrent calls. [MCP_INTEGRATION.md](../../docs/MCP_INTEGRATION.md) explains 2026-era and 2025-era clients.`;
  return markdown('Calls through MCP', note, ['call', 'median', 'p95', 'p99', 'calls per second'], rows);
}
