/**
 * `npm run soak`: mixed load of several tenants against a server on loopback, with cancellations and killed workers. Prints
 * latencies, resources and stalls. Fails if a call has a wrong outcome, if memory, descriptors or threads grow, or if the main
 * thread is busy for too long without a break.
 */
import { fork } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type CallRecord, runLoad } from './load.ts';
import { findGrowth, formatReport, STALL_TARGET_MS } from './report.ts';
import type { LoadMessage, Sample, ServerMessage } from './server.ts';

const TENANTS = ['ann', 'bob', 'cyd', 'dan'];
/** Clients of each tenant that send requests at the same time. */
const CLIENTS = 2;
const KILL_EVERY_MS = 7_000;
/** Share of the run, at the start, that does not count for growth and stalls. */
const WARM_UP = 1 / 3;
const MiB = 1024 * 1024;

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

/** A generator of numbers from 0 to 1, so that a run can be repeated with the same requests. */
function seededRandom(start: number): () => number {
  let state = start >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const secretOf = (tenant: string) => `${tenant}-secret-0123456789`;
const folder = mkdtempSync(join(tmpdir(), 'soak-'));
const child = fork(fileURLToPath(new URL('server.ts', import.meta.url)), {
  execArgv: ['--import', new URL('../../scripts/typescript.mjs', import.meta.url).href],
});
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

const ready = received('ready');
send({
  type: 'start',
  settings: {
    port: 0,
    tokens: TENANTS.map((tenant) => `${tenant}=${secretOf(tenant)}`),
    data_dir: folder,
    log_level: 'silent',
    rate_per_minute: 1_000_000,
    timeout_seconds: 10,
    fuel_budget: 2e9,
    memory_bytes: 128 * MiB,
  },
});
const { url } = await ready;
const started = Date.now();
const deadline = started + minutes * 60_000;
const killer = setInterval(() => send({ type: 'kill-worker' }), KILL_EVERY_MS);
let warmSamples = 0;
const warmUp = setTimeout(
  () => {
    warmSamples = samples.length;
    send({ type: 'measure' });
  },
  minutes * 60_000 * WARM_UP,
);
const loads = TENANTS.flatMap((tenant, i) =>
  Array.from({ length: CLIENTS }, (_, client) =>
    runLoad({
      url,
      tenant,
      secret: secretOf(tenant),
      random: seededRandom(seed + i * 100 + client),
      deadline,
    }),
  ),
);
const records: CallRecord[] = (await Promise.all(loads)).flat();
clearInterval(killer);
clearTimeout(warmUp);
const measured = samples.slice(warmSamples);
const stopped = received('stopped');
isStopped = true;
send({ type: 'stop' });
const { stalls, killed } = await stopped;
rmSync(folder, { recursive: true, force: true });

console.log(
  formatReport({ records, samples: measured, stalls, killed, minutes: (Date.now() - started) / 60_000 }),
);
const problems = findGrowth(measured);
const unexpected = records.filter(({ isExpected }) => !isExpected);
if (unexpected.length > 0) {
  problems.push(`${unexpected.length} calls had a wrong outcome`);
  for (const { program, outcome, detail } of unexpected.slice(0, 5))
    problems.push(`${program}: ${outcome}: ${detail}`);
}
// Unlike a delay, CPU time does not depend on other work on the machine.
if (stalls.work !== undefined && stalls.work.p999 > STALL_TARGET_MS)
  problems.push(
    `the main thread used ${stalls.work.p999.toFixed(1)} ms of CPU time at a stretch at p99.9; the limit is ${STALL_TARGET_MS} ms`,
  );
if (maxStallMs !== undefined && stalls.delay.p999 > maxStallMs)
  problems.push(
    `the main thread stalled for ${stalls.delay.p999.toFixed(1)} ms at p99.9; the limit is ${maxStallMs} ms`,
  );
for (const problem of problems) console.log(`FAIL  ${problem}`);
if (problems.length === 0) console.log('ok    no growth, and every call had a correct outcome');
process.exit(problems.length === 0 ? 0 : 1);
