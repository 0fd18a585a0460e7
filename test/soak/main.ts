/**
 * `npm run soak`: mixed load of several tenants against a server on loopback, with cancellations and killed workers. After a
 * quiet phase, a hostile tenant and hostile tool servers attack the server. Prints latencies, resources and stalls of both
 * phases. Fails if a call has a wrong outcome, if memory, descriptors or threads grow, if honest tenants wait much longer than
 * before, or if the main thread is busy for too long without a break.
 */
import { fork } from 'node:child_process';
import { existsSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { toolsConfig } from './attacks.ts';
import type { CallRecord } from './load.ts';
import { findGrowth, findHarm, formatReport, type Phase, summary } from './report.ts';
import type { LoadMessage, Sample, ServerMessage } from './server.ts';
import type { Stalls } from './stall-meter.ts';
import { secretOf, type Tenants } from './tenants.ts';

const HONEST = ['ann', 'bob', 'cyd', 'dan'];
const HOSTILE = 'eve';
const CLIENTS = 2;
const HOSTILE_CLIENTS = 4;
const KILL_EVERY_MS = 7_000;
const STORE_FAULT_EVERY_MS = 20_000;
const STORE_FAULT_MS = 1_000;
/** Shares of the run: the warm-up is not measured, and the hostile phase is the rest. */
const WARM_UP = 0.1;
const QUIET = 0.2;
const MiB = 1024 * 1024;
/** Wrong outcomes that are printed. */
const MAX_SHOWN = 50;

const { values } = parseArgs({
  options: { minutes: { type: 'string' }, seed: { type: 'string' }, 'max-stall': { type: 'string' } },
});
const minutes = Number(values.minutes ?? 2);
const maxStallMs = values['max-stall'] === undefined ? undefined : Number(values['max-stall']);
const seed = Number(values.seed ?? 1);
if (!(minutes > 0) || Number.isNaN(seed) || Number.isNaN(maxStallMs ?? 0)) {
  console.error('usage: npm run soak -- [--minutes N] [--seed S] [--max-stall MILLISECONDS]');
  process.exit(2);
}

const start = (file: string) =>
  fork(fileURLToPath(new URL(file, import.meta.url)), {
    execArgv: ['--import', new URL('../../scripts/typescript.mjs', import.meta.url).href],
  });
const folder = mkdtempSync(join(tmpdir(), 'soak-'));
const child = start('server.ts');
const send = (message: LoadMessage) => child.send(message);
const samples: Sample[] = [];
let isStopped = false;
child.on('message', (message: ServerMessage) => {
  if (message.type === 'sample') samples.push(message.sample);
});
child.on('exit', (code) => {
  if (isStopped) return;
  console.error(`FAIL  the server exited with code ${code}`);
  rmSync(folder, { recursive: true, force: true });
  process.exit(1);
});
function received<T extends ServerMessage['type']>(type: T): Promise<Extract<ServerMessage, { type: T }>> {
  return new Promise((resolve) => {
    child.on('message', (message: ServerMessage) => {
      if (message.type === type) resolve(message as Extract<ServerMessage, { type: T }>);
    });
  });
}

const started = Date.now();
const deadline = started + minutes * 60_000;
const quietFrom = started + minutes * 60_000 * WARM_UP;
const hostileFrom = quietFrom + minutes * 60_000 * QUIET;
const tools_config = join(folder, 'tools.json');
writeFileSync(tools_config, JSON.stringify(toolsConfig(hostileFrom)));
const ready = received('ready');
send({
  type: 'start',
  settings: {
    port: 0,
    e2b: true,
    jupyter: true,
    playground: true,
    tokens: [...HONEST, HOSTILE].map((tenant) => `${tenant}=${secretOf(tenant)}`),
    store: join(folder, 'data'),
    tools_config,
    log_level: 'silent',
    rate_per_minute: 1_000_000,
    timeout_seconds: 10,
    fuel_budget: 2e9,
    memory_bytes: 128 * MiB,
  },
});
const { url } = await ready;
const killer = setInterval(() => send({ type: 'kill-worker' }), KILL_EVERY_MS);

/** Starts the process that sends the requests of tenants until the deadline, and returns its records of them. */
function runTenants(tenants: Pick<Tenants, 'type' | 'tenants' | 'clients'>): Promise<readonly CallRecord[]> {
  const load = start('tenants.ts');
  load.send({ ...tenants, url, seed, deadline } satisfies Tenants);
  return new Promise((resolve, reject) => {
    load.once('message', (records: readonly CallRecord[]) => resolve(records));
    load.once('exit', () => reject(new Error(`the process of the ${tenants.type} tenants ended early`)));
  });
}

const honestLoad = runTenants({ type: 'honest', tenants: HONEST, clients: CLIENTS });

/** Measures from now to a time. */
async function measure(name: Phase['name'], to: number): Promise<Phase> {
  await takeStalls();
  const from = Date.now();
  const first = samples.length;
  await delay(to - from);
  return { name, from, to, samples: samples.slice(first), stalls: await takeStalls() };
}

/** For a short time, a file is where the sessions of the hostile tenant are stored, so loading and saving them fails. */
async function failStore(): Promise<void> {
  const sessions = join(folder, 'data', `caller-${HOSTILE}`);
  const hidden = join(folder, 'hidden');
  if (!existsSync(sessions)) return;
  renameSync(sessions, hidden);
  writeFileSync(sessions, '');
  await delay(STORE_FAULT_MS);
  rmSync(sessions);
  renameSync(hidden, sessions);
}

function takeStalls(): Promise<Stalls> {
  const stalls = received('stalls');
  send({ type: 'take-stalls' });
  return stalls.then((message) => message.stalls);
}

await delay(quietFrom - Date.now());
const quiet = await measure('quiet', hostileFrom);
const hostileLoad = runTenants({ type: 'hostile', tenants: [HOSTILE], clients: HOSTILE_CLIENTS });
let fault = Promise.resolve();
const storeFaults = setInterval(() => {
  fault = failStore();
}, STORE_FAULT_EVERY_MS);
const phases = [quiet, await measure('hostile', deadline)] as const;
const honest = await honestLoad;
const hostile = await hostileLoad;
clearInterval(killer);
clearInterval(storeFaults);
await fault;
const stopped = received('stopped');
isStopped = true;
send({ type: 'stop' });
const { killed } = await stopped;
rmSync(folder, { recursive: true, force: true });

console.log(formatReport({ honest, hostile, phases, killed }));
console.log(`\n${summary(honest, phases)}`);
const problems = [...findGrowth(phases[1].samples), ...findHarm(honest, phases)];
const unexpected = [...honest, ...hostile].filter(({ isExpected }) => !isExpected);
if (unexpected.length > 0) {
  problems.push(`${unexpected.length} calls had a wrong outcome`);
  for (const { tenant, program, outcome, detail } of unexpected.slice(0, MAX_SHOWN))
    problems.push(`${tenant}: ${program}: ${outcome}: ${detail}`);
}
const stallMs = phases[1].stalls.delay.p999;
if (maxStallMs !== undefined && stallMs > maxStallMs)
  problems.push(
    `the main thread stalled for ${stallMs.toFixed(1)} ms at p99.9; the limit is ${maxStallMs} ms`,
  );
for (const problem of problems) console.log(`FAIL  ${problem}`);
if (problems.length === 0)
  console.log('ok    no growth, honest tenants were served, and every call had a correct outcome');
process.exit(problems.length === 0 ? 0 : 1);
