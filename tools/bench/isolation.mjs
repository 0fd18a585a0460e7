/**
 * The cost of running guests in a separate process (`createPool({ isolation: 'process' })`) instead of threads of this
 * process: fresh runs, calls in a session, calls with files, the first result, and memory.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createPool, createSandbox } from 'llm-wasm-sandbox';
import { formatBytes } from '../../packages/core/dist/quantities.js';
import { elapsedMs, markdown, median, ms, quantile, sampleInterleaved, times } from './measure.mjs';

const ROUNDS = 100;
const WARMUP = 15;
const START_ROUNDS = 7;
const MODES = ['thread', 'process'];
const BEGIN = { python: 'x = 1', javascript: 'let x = 1' };
const STEP = 'x += 1';
const FILE_BYTES = 16 * 2 ** 20;

const pause = () => new Promise((next) => setTimeout(next, 10));

async function alternativesOf(runtime, isolation) {
  const pool = createPool({ isolation });
  const fresh = await createSandbox({ runtime, pool });
  const session = await createSandbox({ runtime, pool, auto_persist_globals: true });
  const files = await createSandbox({ runtime, pool });
  await session.execute(BEGIN[runtime]);
  await files.writeFile('data.bin', new Uint8Array(FILE_BYTES).fill(1));
  return {
    fresh: { before: pause, run: () => fresh.execute(BEGIN[runtime]) },
    session: { before: () => session.flush().then(pause), run: () => session.execute(STEP) },
    sessionAtOnce: { before: () => session.execute(STEP), run: () => session.execute(STEP) },
    files: { before: pause, run: () => files.execute(BEGIN[runtime]) },
  };
}

const ROWS = {
  fresh: 'fresh run, `x = 1`',
  session: 'session call, `x += 1`, previous call saved',
  sessionAtOnce: 'session call, `x += 1`, right after another call',
  files: 'fresh run with 16 MiB of files',
};

/** Milliseconds to the first result, and resident memory after it, of a new Node.js process. */
function firstResult(runtime, isolation) {
  const { stdout, status } = spawnSync(
    process.execPath,
    [fileURLToPath(import.meta.url), 'first', runtime, isolation],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] },
  );
  if (status !== 0) throw new Error(`${runtime}, ${isolation} failed`);
  return JSON.parse(stdout);
}

const residentBytes = (pid) =>
  1024 * Number(/^VmRSS:\s*(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);

async function measureFirst(runtime, isolation) {
  const firstMs = await elapsedMs(async () => {
    const sandbox = await createSandbox({ runtime, pool: createPool({ isolation, maxWorkers: 1 }) });
    await sandbox.execute(BEGIN[runtime]);
  });
  const children = readFileSync(`/proc/self/task/${process.pid}/children`, 'utf8');
  const pids = [process.pid, ...children.split(' ').filter(Boolean)];
  return { firstMs, bytes: pids.reduce((sum, pid) => sum + residentBytes(pid), 0) };
}

export async function table() {
  const rows = [];
  for (const runtime of ['python', 'javascript']) {
    const alternatives = {};
    for (const mode of MODES)
      for (const [name, one] of Object.entries(await alternativesOf(runtime, mode)))
        alternatives[`${name} ${mode}`] = one;
    const samples = await sampleInterleaved(alternatives, { warmup: WARMUP, rounds: ROUNDS });
    for (const [name, label] of Object.entries(ROWS)) {
      const [inThread, inProcess] = MODES.map((mode) => samples[`${name} ${mode}`]);
      const [p50, other] = [median(inThread), median(inProcess)];
      const p95 = [inThread, inProcess].map((values) => ms(quantile(values, 0.95)));
      rows.push([runtime, label, ms(p50), ms(other), times(other / p50), ...p95]);
    }
    const first = MODES.map(() => []);
    for (let round = 0; round < START_ROUNDS; round++)
      for (const [i, mode] of MODES.entries()) first[i].push(firstResult(runtime, mode));
    const [inThread, inProcess] = first.map((values) => median(values.map(({ firstMs }) => firstMs)));
    rows.push([
      runtime,
      'first result of a Node.js process',
      ms(inThread),
      ms(inProcess),
      times(inProcess / inThread),
      '',
      '',
    ]);
    const [bytes, both] = first.map((values) => median(values.map((one) => one.bytes)));
    rows.push([
      runtime,
      'resident memory after it, with one worker',
      formatBytes(bytes),
      formatBytes(both),
      times(both / bytes),
      '',
      '',
    ]);
  }
  return markdown(
    'Isolation in a separate process',
    `Milliseconds from call to result: median and 95th percentile of ${ROUNDS} interleaved rounds. The rows "first result of a Node.js process" are medians of ${START_ROUNDS} processes. Files and saved states are copied between the processes. Where the p95 is many times the p50, a small difference between the modes is noise.`,
    ['runtime', 'call', 'thread, p50', 'process, p50', 'process / thread', 'thread, p95', 'process, p95'],
    rows,
  );
}

if (process.argv[2] === 'first') {
  console.log(JSON.stringify(await measureFirst(process.argv[3], process.argv[4])));
  process.exit();
}
