/**
 * Latency of a short call over HTTP while other tenants run endless programs: none, one, one per core, and as many as the
 * server admits. The delay is compared with the time slice of the operating system, which a thread waits for if every
 * core is busy.
 */
import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { serveHttp } from 'llm-wasm-sandbox/mcp';
import { markdown, median, ms, quantile, times } from './measure.mjs';

const ROUNDS = 100;
const WARMUP = 10;
const PAUSE_MS = 5;
const NAMES = ['short', 'ann', 'bob', 'cem', 'dee'];
const PRINT = { name: 'execute_code', arguments: { code: 'print(1)', language: 'python' } };
const ENDLESS = {
  name: 'execute_code',
  arguments: { code: 'while True: pass', language: 'python', fuel_budget: 100e9, timeout: 300 },
};

const secretOf = (name) => `${name}-0123456789abcdef`;
const pause = (milliseconds) => new Promise((next) => setTimeout(next, milliseconds));

async function connect(url, name) {
  const client = new Client({ name, version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  const requestInit = { headers: { authorization: `Bearer ${secretOf(name)}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  return client;
}

/** A thread that reads the clock in a loop and reports every gap in which it did not run. */
const SPINNER = `
  const { parentPort } = require('node:worker_threads');
  const gaps = [];
  const end = performance.now() + 1500;
  for (let last = performance.now(), now; last < end; last = now) {
    now = performance.now();
    if (now - last > 0.5) gaps.push(now - last);
  }
  parentPort.postMessage(gaps);
`;

/** Median time that a thread waits if two threads share a core. */
async function timeSlice() {
  const spinners = Array.from(
    { length: 2 * availableParallelism() },
    () => new Worker(SPINNER, { eval: true }),
  );
  const gaps = await Promise.all(
    spinners.map((spinner) => new Promise((resolve) => spinner.once('message', resolve))),
  );
  return median(gaps.flat());
}

async function roundTrips(client) {
  const found = [];
  for (let round = -WARMUP; round < ROUNDS; round++) {
    const started = performance.now();
    await client.callTool(PRINT, { timeout: 600_000 });
    if (round >= 0) found.push(performance.now() - started);
    await pause(PAUSE_MS);
  }
  return found;
}

/** Round trips while other tenants run `count` endless programs. One slot stays reserved for the short call. */
async function roundTripsUnderLoad(server, short, others, count) {
  const stop = new AbortController();
  const options = { signal: stop.signal, timeout: 600_000 };
  const endlessCalls = Array.from({ length: count }, (_, i) =>
    others[i % others.length].callTool(ENDLESS, options).catch(() => {}),
  );
  while (server.state.pool.running < count) await pause(20);
  // After a while the pool treats these programs as long and starts threads for further calls.
  await pause(2000);
  const found = await roundTrips(short);
  stop.abort();
  await Promise.all(endlessCalls);
  while (server.state.pool.running > 0) await pause(20);
  return found;
}

export async function table() {
  const tokens = NAMES.map((name) => `${name}=${secretOf(name)}`);
  const slice = await timeSlice();
  const server = await serveHttp({ port: 0, tokens, rate_per_minute: 1_000_000 });
  const [short, ...others] = await Promise.all(NAMES.map((name) => connect(server.url, name)));
  await roundTrips(short);
  const cores = availableParallelism();
  const counts = [...new Set([0, 1, cores, server.state.pool.maxWorkers - 1])];
  const rows = [];
  let baseline;
  for (const count of counts) {
    const found = await roundTripsUnderLoad(server, short, others, count);
    baseline ??= median(found);
    const delay = median(found) - baseline;
    rows.push([
      count,
      ms(median(found)),
      ms(quantile(found, 0.95)),
      times(median(found) / baseline),
      `${(delay / slice).toFixed(1)}`,
    ]);
  }
  await Promise.all([short, ...others].map((client) => client.close()));
  await server.close();
  const note = `Milliseconds from request to response of \`print(1)\` over HTTP, for ${ROUNDS} sequential calls, while other tenants run endless programs. A time slice of the operating system is ${ms(slice)} ms.`;
  const head = ['endless programs', 'median', 'p95', 'relative to none', 'delay in time slices'];
  return markdown('Short calls next to endless programs', note, head, rows);
}
