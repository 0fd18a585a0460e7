/**
 * The cost of a call in a session by store, measured together, with what each call sends to PostgreSQL; and the
 * throughput of several servers that share a database.
 */
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { diskStore, memoryStore, openSessions, postgresStore } from 'llm-wasm-sandbox';
import pg from 'pg';
import { formatBytes } from '../../packages/core/dist/quantities.js';
import { markdown, median, ms, quantile, sampleInterleaved } from './measure.mjs';

const ROUNDS = 100;
const WARMUP = 15;
/** The same number of clients for any number of servers, so that only the servers differ. */
const CLIENTS = 6;
const LOAD_SECONDS = 4;
const LOAD_ROUNDS = 7;
const WARMUP_SECONDS = 4;
/** Servers, and whether the calls of a session go to a different server each time. */
const SETUPS = [
  [1, false],
  [2, false],
  [2, true],
  [3, false],
  [3, true],
];
const CLI = fileURLToPath(new URL('../../packages/cli/dist/cli/main.js', import.meta.url));

/** Starts the PostgreSQL server of the tests. */
export async function startPostgres(folder) {
  const outfile = join(folder, 'postgres.mjs');
  const entry = fileURLToPath(new URL('../../test/support/postgres.ts', import.meta.url));
  const banner =
    "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
  await build({
    entryPoints: [entry],
    bundle: true,
    platform: 'node',
    format: 'esm',
    outfile,
    external: ['pg-native', 'cloudflare:sockets', '*/install-pinned-packages.mjs'],
    banner: { js: banner },
    plugins: [
      {
        name: 'pinned packages',
        setup: (context) =>
          context.onResolve({ filter: /install-pinned-packages\.mjs$/ }, () => ({
            path: new URL('../../scripts/install-pinned-packages.mjs', import.meta.url).href,
            external: true,
          })),
      },
    ],
  });
  const { PostgresServer } = await import(outfile);
  return PostgresServer.start();
}

export async function callCosts(folder, database) {
  const pool = new pg.Pool({ connectionString: database.connectionString, max: 4 });
  // Every transaction, and every statement outside of one, takes a connection from the pool once.
  let transactions = 0;
  const connect = pool.connect.bind(pool);
  pool.connect = () => {
    transactions++;
    return connect();
  };
  const sent = () => pool._clients.reduce((sum, { connection }) => sum + connection.stream.bytesWritten, 0);
  const received = () => pool._clients.reduce((sum, { connection }) => sum + connection.stream.bytesRead, 0);
  const registries = {
    memory: openSessions({ store: memoryStore(), commit: 'answer' }),
    disk: openSessions({ store: diskStore(join(folder, 'sessions')), commit: 'answer' }),
    'PostgreSQL, lease held while open': openSessions({
      store: postgresStore({ pool, tenant: 'open' }),
      commit: 'answer',
    }),
    'PostgreSQL, lease for each call': openSessions({
      store: postgresStore({ pool, tenant: 'call' }),
      commit: 'answer',
      lease: 'call',
    }),
  };
  const sessions = {};
  for (const [name, registry] of Object.entries(registries)) {
    sessions[name] = await registry.create({ runtime: 'javascript', session_id: 'bench' });
    await sessions[name].execute('let x = 1');
  }
  const alternatives = Object.fromEntries(
    Object.entries(sessions).map(([name, session]) => [name, { run: () => session.execute('x += 1') }]),
  );
  const samples = await sampleInterleaved(alternatives, { warmup: WARMUP, rounds: ROUNDS });
  const perCall = {};
  for (const name of Object.keys(sessions).filter((one) => one.startsWith('PostgreSQL'))) {
    const before = { transactions, sent: sent(), received: received() };
    for (let i = 0; i < ROUNDS; i++) await sessions[name].execute('x += 1');
    perCall[name] = {
      transactions: (transactions - before.transactions) / ROUNDS,
      sent: (sent() - before.sent) / ROUNDS,
      received: (received() - before.received) / ROUNDS,
    };
  }
  for (const registry of Object.values(registries)) await registry.close();
  await pool.end();
  const base = median(samples.memory);
  return Object.entries(samples).map(([name, times]) => [
    name,
    ms(median(times)),
    ms(quantile(times, 0.95)),
    `${(median(times) / base).toFixed(2)}×`,
    perCall[name] ? perCall[name].transactions.toFixed(1) : '–',
    perCall[name] ? formatBytes(Math.round(perCall[name].sent)) : '–',
    perCall[name] ? formatBytes(Math.round(perCall[name].received)) : '–',
  ]);
}

async function startServer(store) {
  const flags = ['--store', store, '--port', '0', '--log-level', 'silent', '--rate-per-minute', '1000000'];
  const child = spawn(process.execPath, [CLI, 'serve', ...flags], { stdio: ['ignore', 'ignore', 'pipe'] });
  for await (const line of createInterface({ input: child.stderr })) {
    const url = /listening on (\S+)/.exec(line)?.[1];
    if (url !== undefined) return { child, url };
  }
  throw new Error('The server has exited.');
}

const VERSION = '2026-07-28';
const META = {
  'io.modelcontextprotocol/protocolVersion': VERSION,
  'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
};

async function callTool(url, name, args) {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': VERSION,
      'mcp-method': 'tools/call',
      'mcp-name': name,
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name, arguments: args, _meta: META },
    }),
  });
  const text = await response.text();
  if (!response.ok || text.includes('"isError":true')) throw new Error(text.slice(0, 300));
}

/** The sessions of one setup, on the first `count` of the servers. */
async function openLoad(servers, count, isMoving) {
  const clients = Array.from({ length: CLIENTS }, (_, i) => ({
    session_id: `load-${count}-${isMoving}-${i}`,
    home: i % count,
    calls: 0,
  }));
  const language = 'javascript';
  const execute = ({ session_id, home, calls }, code) => {
    const { url } = servers[(home + (isMoving ? calls : 0)) % count];
    return callTool(url, 'execute_code', { session_id, language, code });
  };
  for (const client of clients) {
    await callTool(servers[client.home].url, 'create_session', { session_id: client.session_id, language });
    await execute(client, 'let x = 1');
  }
  /** Calls per second of all clients together. */
  const measure = async (seconds) => {
    const started = performance.now();
    let done = 0;
    const load = async (client) => {
      for (; performance.now() < started + seconds * 1000; client.calls++, done++)
        await execute(client, 'x += 1');
    };
    await Promise.all(clients.map(load));
    return (done * 1000) / (performance.now() - started);
  };
  return { count, isMoving, measure, rates: [] };
}

/** Calls per second by setup. All servers run all the time, and each round measures every setup once. */
export async function throughput(database) {
  const servers = [];
  for (let i = 0; i < Math.max(...SETUPS.map(([count]) => count)); i++)
    servers.push(await startServer(database.connectionString));
  try {
    const loads = [];
    for (const setup of SETUPS) loads.push(await openLoad(servers, ...setup));
    for (const { measure } of loads) await measure(WARMUP_SECONDS);
    for (let round = 0; round < LOAD_ROUNDS; round++)
      for (const { measure, rates } of loads) rates.push(await measure(LOAD_SECONDS));
    const base = median(loads[0].rates);
    return loads.map(({ count, isMoving, rates }) => [
      String(count),
      isMoving ? 'a different server for each call' : 'the same server',
      median(rates).toFixed(0),
      `${Math.min(...rates).toFixed(0)}–${Math.max(...rates).toFixed(0)}`,
      `${(median(rates) / base).toFixed(2)}×`,
    ]);
  } finally {
    for (const { child } of servers) child.kill('SIGKILL');
  }
}

export async function table() {
  const folder = mkdtempSync(join(tmpdir(), 'bench-stores-'));
  const database = await startPostgres(folder);
  try {
    const costs = await callCosts(folder, database);
    const rates = await throughput(database);
    return [
      markdown(
        'Sessions by store',
        'A call `x += 1` in a JavaScript session, which is saved before the call returns. PostgreSQL runs on the same machine with `fsync` off.',
        [
          'store',
          'median ms',
          'p95 ms',
          'ratio',
          'transactions per call',
          'sent per call',
          'received per call',
        ],
        costs,
      ),
      markdown(
        'Servers that share a database',
        `Each of ${CLIENTS} clients makes one call \`x += 1\` at a time in its own session. Median and range of ${LOAD_ROUNDS} interleaved rounds of ${LOAD_SECONDS} s. All servers are always running, even if the clients use only one of them. The clients and the database run on the same machine. The table therefore shows the cost of sharing a database, not the gain from more machines.`,
        ['servers', 'calls of a session go to', 'calls per second', 'range', 'ratio'],
        rates,
      ),
    ].join('\n');
  } finally {
    await database.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
