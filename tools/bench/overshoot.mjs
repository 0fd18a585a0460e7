/**
 * Measures by how much programs exceed a limit: the worst case of the whole corpus for fuel, time, memory and output, in
 * this and in other sandboxes, with the same programs in the same run; and the call after such a program. The peers are not
 * dependencies: pinned versions are installed in a cache outside the repository, and a note names those that are unavailable.
 * With `--ours` no peer runs, and the five worst programs of each limit are listed.
 */
import { Worker } from 'node:worker_threads';
import { createSandbox } from 'llm-wasm-sandbox';
import { GRACE } from '../../packages/core/dist/engine/grace.js';
import { formatBytes, formatFuel, formatItems } from '../../packages/core/dist/quantities.js';
import { ATTACK_PROGRAMS } from '../redteam/dist/programs/index.js';
import { markdown, median, ms } from './measure.mjs';
import { fetchPeers } from './overshoot-peers.mjs';

const CORPUS = Object.entries(ATTACK_PROGRAMS).flatMap(([runtime, { limitPrograms }]) =>
  limitPrograms.map((program) => ({ runtime, ...program })),
);

const MiB = 1024 * 1024;
const TIME_MS = 1000;
const FUEL = 200_000_000;
const MEMORY_BYTES = 64 * MiB;
const OUTPUT_BYTES = 10_000;
/** When a peer's thread is terminated because its own limit has failed. */
const TERMINATE_MS = 6_000;
/** Maximum start-up time of a peer, which is not measured. */
const START_MS = 10_000;
const OURS_ONLY = process.argv.includes('--ours');

const POLICIES = {
  time: { timeout_seconds: TIME_MS / 1000, fuel_budget: 1e15 },
  fuel: { fuel_budget: FUEL, timeout_seconds: 120 },
  memory: { memory_bytes: MEMORY_BYTES, fuel_budget: 1e15, timeout_seconds: 120 },
  output: {
    stdout_max_bytes: OUTPUT_BYTES,
    stderr_max_bytes: OUTPUT_BYTES,
    fuel_budget: 1e9,
    timeout_seconds: 120,
  },
};

/** The excess over each limit. */
const EXCESS = {
  time: ({ wallMs }) => wallMs - TIME_MS,
  fuel: ({ result }) => result.fuel_consumed - FUEL,
  memory: ({ result }) => result.memory_used_bytes - MEMORY_BYTES,
  output: ({ result }) =>
    Math.max(Buffer.byteLength(result.stdout), Buffer.byteLength(result.stderr)) - OUTPUT_BYTES,
};

const signed = (value, format) => `${value > 0 ? '+' : value < 0 ? '-' : ''}${format(Math.abs(value))}`;

const FORMAT = {
  time: (value) => signed(Math.round(value), (size) => `${size} ms`),
  fuel: (value) => signed(value, formatFuel),
  memory: (value) => signed(value, formatBytes),
  output: (value) => signed(value, (size) => formatItems(size, 'byte')),
};

const worst = (rows) =>
  rows.reduce((most, row) => (most === undefined || row.excess > most.excess ? row : most), undefined);

/** Duration of a short call in milliseconds. */
async function shortCall(sandbox, after) {
  const started = performance.now();
  const { metadata } = await sandbox.execute('6 * 7', { timeout_seconds: 60 });
  if (metadata.result !== 42)
    throw new Error(`The call after ${after} returned ${JSON.stringify(metadata)}.`);
  return performance.now() - started;
}

const WAITING = {
  python: (seconds) => `import time\ntime.sleep(${seconds})`,
  javascript: (seconds) => `import * as os from 'os'; os.sleep(${seconds * 1000});`,
};

/** Baseline: duration of a call after a harmless program that took as long under the same policy. */
async function callAfterHarmless(runtime, limit, wallMs) {
  const sandbox = await createSandbox({ runtime, policy: POLICIES[limit] });
  await sandbox.execute('1');
  await sandbox.execute(WAITING[runtime](Math.min(wallMs, 0.9 * TIME_MS) / 1000));
  const took = await shortCall(sandbox, 'a harmless program');
  await sandbox.close();
  return took;
}

/** Runs all programs that break a limit in this sandbox, and measures the call after each. */
async function ownRows(runtime, limit, nextCalls) {
  const rows = [];
  for (const { name, code } of CORPUS.filter((p) => p.runtime === runtime && p.breaks.includes(limit))) {
    const sandbox = await createSandbox({ runtime, policy: POLICIES[limit] });
    await sandbox.execute('1');
    const started = performance.now();
    const result = await sandbox.execute(code);
    const wallMs = performance.now() - started;
    rows.push({ name, excess: EXCESS[limit]({ result, wallMs }) });
    nextCalls.after.push(await shortCall(sandbox, `${runtime} ${name}`));
    await sandbox.close();
    nextCalls.harmless.push(await callAfterHarmless(runtime, limit, wallMs));
  }
  if (OURS_ONLY) {
    const five = rows.toSorted((a, b) => b.excess - a.excess).slice(0, 5);
    const list = five.map((row) => `${row.name} ${FORMAT[limit](row.excess)}`).join(', ');
    process.stderr.write(`  worst of ${rows.length}: ${list}\n`);
  }
  return rows;
}

/** Calls after a program that reached a limit, compared with calls after a harmless program. */
function nextCallTable(nextCalls) {
  const rows = Object.entries(nextCalls).map(([runtime, { after, harmless }]) => [
    runtime,
    ...[after, harmless].flatMap((values) => [median(values), Math.max(...values)]).map(ms),
  ]);
  return markdown(
    'Calls after a limit',
    'Milliseconds of a short call in a sandbox whose previous program reached a limit, compared with a call after a harmless program.',
    ['runtime', 'median', 'maximum', 'median after a harmless program', 'maximum after a harmless program'],
    rows,
  );
}

/** Runs a program in a peer in its own thread. The result is `killed` if the thread had to be terminated. */
function inPeer(peer, folder, code) {
  return new Promise((resolve) => {
    const workerData = { peer, folder, code, timeMs: TIME_MS, memoryBytes: MEMORY_BYTES };
    const thread = new Worker(new URL('./overshoot-peers.mjs', import.meta.url), {
      workerData,
      resourceLimits: { stackSizeMb: 16 },
    });
    let timer = setTimeout(() => thread.terminate(), START_MS);
    let answer = { crashed: true };
    thread.on('message', (message) => {
      if (message !== 'ready') answer = message;
      else {
        answer = { killed: true };
        clearTimeout(timer);
        timer = setTimeout(() => thread.terminate(), TERMINATE_MS);
      }
    });
    thread.on('error', () => {
      // A thread that died has no time to compare.
      answer = { crashed: true };
    });
    thread.on('exit', () => {
      clearTimeout(timer);
      resolve(answer);
    });
  });
}

async function peerRows(peer, folder, runtime) {
  const rows = { time: [], memory: [] };
  let unsupportedCount = 0;
  const programs = CORPUS.filter((p) => p.runtime === runtime && !p.sandboxOnly);
  for (const { name, code, breaks } of programs) {
    if (!breaks.includes('time') && !breaks.includes('memory')) continue;
    const { ms: took, memoryBytes, unsupported, killed, crashed } = await inPeer(peer, folder, code);
    if (unsupported) unsupportedCount++;
    else if (breaks.includes('time') && !crashed)
      rows.time.push({ name, excess: killed ? TERMINATE_MS - TIME_MS : took - TIME_MS, killed });
    else if (breaks.includes('memory') && memoryBytes !== undefined)
      rows.memory.push({ name, excess: memoryBytes - MEMORY_BYTES });
  }
  return { rows, unsupported: unsupportedCount, programs: programs.length };
}

function cell(limit, rows) {
  const row = worst(rows);
  if (row === undefined) return '–';
  const over = rows.filter(({ killed }) => killed).length;
  const more = over > 1 ? `, and ${over - 1} more` : '';
  return `${row.killed ? 'more than ' : ''}${FORMAT[limit](row.excess)} (${row.name}${more})`;
}

export async function table() {
  const nextCalls = {
    python: { after: [], harmless: [] },
    javascript: { after: [], harmless: [] },
  };
  const columns = {};
  for (const runtime of ['python', 'javascript']) {
    columns[`this sandbox, ${runtime}`] = {};
    for (const limit of Object.keys(POLICIES)) {
      process.stderr.write(`overshoot: ${runtime}, ${limit} …\n`);
      columns[`this sandbox, ${runtime}`][limit] = cell(
        limit,
        await ownRows(runtime, limit, nextCalls[runtime]),
      );
    }
  }
  const { found, missing } = OURS_ONLY ? { found: [], missing: [] } : fetchPeers();
  const notes = [...missing];
  for (const { peer, title, runtime, folder } of found) {
    process.stderr.write(`overshoot: ${title} …\n`);
    const { rows, unsupported, programs } = await peerRows(peer, folder, runtime);
    columns[title] = {
      time: cell('time', rows.time),
      memory: cell('memory', rows.memory),
      fuel: 'no limit',
      output: 'no limit',
    };
    if (unsupported > 0) notes.push(`${title} does not support ${unsupported} of ${programs} programs.`);
  }
  const limits = {
    time: `time (${TIME_MS} ms)`,
    fuel: `fuel (${formatFuel(FUEL)})`,
    memory: `memory (${formatBytes(MEMORY_BYTES)})`,
    output: `output (${formatItems(OUTPUT_BYTES, 'byte')})`,
  };
  const body = Object.keys(limits).map((limit) => [
    limits[limit],
    ...Object.values(columns).map((column) => column[limit]),
  ]);
  const count = (runtime) => CORPUS.filter((program) => program.runtime === runtime).length;
  const note = [
    `The largest excess over each limit in ${CORPUS.length} programs (${count('python')} Python, ${count('javascript')} JavaScript), with the name of the program. A negative value is below the limit. Time is the wall time that the caller sees. Fuel can exceed its budget by the grace period of ${formatFuel(GRACE.fuel)}.`,
    `In the other products, a program is terminated if it is still running ${TERMINATE_MS / 1000} s after its start.`,
    ...notes,
  ].join(' ');
  return [
    markdown('Limits: overshoot', note, ['limit', ...Object.keys(columns)], body),
    nextCallTable(nextCalls),
  ].join('\n');
}

if (process.argv[1] && import.meta.url.endsWith(process.argv[1].split('/').pop())) {
  console.log(await table());
  process.exit();
}
