/**
 * The cost of sessions: a call in a live session compared with a fresh sandbox and with node:vm; checkpoint,
 * rollback, fork, hibernation and resumption in time and bytes; a thousand hibernated sessions; and a soak test, in
 * which memory must not grow. The last two run in their own processes, as `node bench/sessions.mjs hibernated|soak`.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import vm from 'node:vm';
import { createSandbox, diskStore, memoryStore } from 'llm-wasm-sandbox';
import { formatBytes, formatItems } from '../../packages/core/dist/quantities.js';
import { elapsedMs, markdown, median, ms, quantile, sampleInterleaved, times } from './measure.mjs';

const ROUNDS = 150;
const WARMUP = 20;
/** Time of a call in a session, relative to a fresh interpreter. */
const MAX_RATIO = 2;
const HIBERNATED = 1000;
const SOAK = { sessions: 200, calls: 20_000, samples: 20 };
const RUNTIMES = ['python', 'javascript'];
const BEGIN = { python: 'x = 1', javascript: 'let x = 1' };
const STEP = 'x += 1';

const logProgress = (text) => process.stderr.write(`sessions: ${text}\n`);

// ---- calls ----

async function callTimes(runtime) {
  const live = await createSandbox({ runtime, auto_persist_globals: true });
  const same = await createSandbox({ runtime });
  const heavy = await createSandbox({ runtime, auto_persist_globals: true });
  await live.execute(BEGIN[runtime]);
  await heavy.execute(BEGIN[runtime]);
  if (runtime === 'python') await heavy.execute('import openpyxl');
  const fresh = async () => {
    const sandbox = await createSandbox({ runtime });
    await sandbox.execute(BEGIN[runtime]);
    await sandbox.close();
  };
  const pause = () => new Promise((next) => setTimeout(next, 10));
  const alternatives = {
    live: { before: () => live.flush().then(pause), run: () => live.execute(STEP) },
    liveAtOnce: { before: () => live.execute(STEP), run: () => live.execute(STEP) },
    same: { before: pause, run: () => same.execute(BEGIN[runtime]) },
    sameAtOnce: { before: () => same.execute(BEGIN[runtime]), run: () => same.execute(BEGIN[runtime]) },
    fresh: { before: pause, run: fresh },
    ...(runtime === 'python' && {
      heavyAtOnce: { before: () => heavy.execute(STEP), run: () => heavy.execute(STEP) },
    }),
  };
  const samples = await sampleInterleaved(alternatives, { warmup: WARMUP, rounds: ROUNDS });
  await Promise.all([live, same, heavy].map((sandbox) => sandbox.close()));
  return samples;
}

/** Measured after all other calls, because garbage collection of the contexts would slow them down. */
function evalTimes() {
  const context = vm.createContext({ x: 1 });
  return sampleInterleaved(
    {
      eval: { run: () => vm.runInContext(STEP, context) },
      newContext: { run: () => vm.runInContext('let x = 1', vm.createContext({})) },
    },
    { warmup: WARMUP, rounds: ROUNDS },
  );
}

const CALL_ROWS = {
  live: 'live session, `x += 1`, previous call saved',
  liveAtOnce: 'live session, `x += 1`, right after another call',
  heavyAtOnce: 'the same with openpyxl imported',
  same: 'existing sandbox, fresh interpreter, `x = 1`',
  sameAtOnce: 'the same right after another call',
  fresh: 'new sandbox, `x = 1`',
  eval: '`x += 1` in a `node:vm` context',
  newContext: '`let x = 1` in a new `node:vm` context',
};

async function callTable() {
  const rows = [];
  let missed = 0;
  for (const runtime of RUNTIMES) {
    logProgress(`calls, ${runtime} …`);
    const samples = { ...(await callTimes(runtime)), ...(runtime === 'javascript' && (await evalTimes())) };
    const reference = { live: 'same', liveAtOnce: 'sameAtOnce', heavyAtOnce: 'sameAtOnce' };
    for (const [name, label] of Object.entries(CALL_ROWS)) {
      if (samples[name] === undefined) continue;
      const p50 = median(samples[name]);
      const ratio = reference[name] && p50 / median(samples[reference[name]]);
      if (ratio > MAX_RATIO) missed++;
      rows.push([
        runtime,
        label,
        p50 < 0.1 ? p50.toFixed(4) : ms(p50),
        ms(quantile(samples[name], 0.95)),
        ratio === undefined ? '' : times(ratio),
      ]);
    }
  }
  return markdown(
    'Calls in a live session',
    `Milliseconds from call to result over ${ROUNDS} interleaved rounds. A session is saved after a call has returned, and the next call waits until the session is saved. Target: at most ×${MAX_RATIO} the time of a fresh interpreter, ${missed === 0 ? 'met' : `missed in ${formatItems(missed, 'row')}`}. The last two rows evaluate JavaScript in the host, without a sandbox.`,
    ['runtime', 'call', 'p50', 'p95', '/ fresh interpreter'],
    rows,
  );
}

// ---- checkpoint, rollback, fork, hibernate, resume ----

async function stateTimes(runtime, setup, rounds) {
  const dir = mkdtempSync(join(tmpdir(), 'bench-sessions-'));
  try {
    return await stateTimesIn(runtime, setup, rounds, diskStore(dir));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function stateTimesIn(runtime, setup, rounds, store) {
  const open = () => createSandbox({ runtime, session_id: 'one', store });
  let sandbox = await open();
  for (const code of setup) await sandbox.execute(code);
  await sandbox.flush();
  const bytes = await store.size('one');
  await sandbox.checkpoint('here');
  await sandbox.flush();
  const checkpointBytes = (await store.size('one')) - bytes;
  let fork;
  const image = new Uint8Array(32 * 2 ** 20).fill(1);
  const copy = new Uint8Array(image.length).fill(2);
  const quiet = async () => {
    await sandbox.flush();
    await new Promise((next) => setTimeout(next, 10));
  };
  const samples = await sampleInterleaved(
    {
      warm: { before: quiet, run: () => sandbox.execute('x') },
      pageCopy: { run: () => copy.set(image) },
      checkpoint: { before: quiet, run: () => sandbox.checkpoint('other') },
      rollback: { before: () => sandbox.execute('x'), run: () => sandbox.rollback('here') },
      rolledBackCall: { before: quiet, run: () => sandbox.execute('x') },
      fork: {
        before: quiet,
        run: async () => {
          fork = await sandbox.fork();
        },
      },
      forkCall: { before: quiet, run: () => fork.execute('x') },
      hibernate: {
        before: async () => {
          await fork.close();
          await store.delete(fork.session_id);
          await quiet();
          await sandbox.execute(STEP);
        },
        run: () => sandbox.close(),
      },
      open: {
        run: async () => {
          sandbox = await open();
        },
      },
      resume: { before: () => new Promise((next) => setTimeout(next, 10)), run: () => sandbox.execute('x') },
    },
    { warmup: Math.ceil(rounds / 5), rounds },
  );
  await sandbox.close();
  return {
    bytes,
    checkpointBytes,
    p50: Object.fromEntries(Object.entries(samples).map(([name, values]) => [name, median(values)])),
  };
}

const CASES = [
  ['python', '`x = 1`', [BEGIN.python], 60],
  ['python', 'openpyxl imported', [BEGIN.python, 'import openpyxl'], 20],
  ['javascript', '`x = 1`', [BEGIN.javascript], 60],
];

const STATE_ROWS = {
  warm: 'warm call',
  checkpoint: 'checkpoint',
  rollback: 'rollback, including reading the checkpoint from disk',
  rolledBackCall: 'first call after the rollback',
  fork: 'fork',
  forkCall: 'first call of the fork',
  hibernate: 'hibernate: from a result until the session is on disk and closed',
  open: 'open: read the session from disk',
  resume: 'resume: first call of the opened session',
};

async function stateTable() {
  const columns = [];
  for (const [runtime, name, setup, rounds] of CASES) {
    logProgress(`checkpoint, rollback, fork, hibernate, resume, ${runtime}, ${name} …`);
    const { bytes, checkpointBytes, p50 } = await stateTimes(runtime, setup, rounds);
    columns.push([
      `${runtime}, ${name}`,
      formatBytes(bytes),
      formatBytes(checkpointBytes),
      ...Object.keys(STATE_ROWS).map((what) => ms(p50[what])),
      times((p50.resume - p50.pageCopy) / p50.warm),
    ]);
  }
  const titles = [
    'size on disk',
    'size of a checkpoint',
    ...Object.values(STATE_ROWS),
    '(resume − time to copy the memory of a guest, 32 MiB) / warm call',
  ];
  return markdown(
    'Checkpoint, rollback, fork, hibernate, resume',
    'Median milliseconds on a disk store that syncs every write. Targets: a session with `x = 1` takes less than 1 MiB on disk, resume takes less than 30 ms, and the last row is at most ×5.',
    ['', ...columns.map(([title]) => title)],
    titles.map((title, i) => [title, ...columns.map((column) => column[i + 1])]),
  );
}

// ---- hibernated sessions and soak test, each in its own process ----

const residentMemory = () => {
  globalThis.gc?.();
  return process.memoryUsage().rss;
};

async function hibernated(runtime) {
  const store = memoryStore();
  const make = async (i) => {
    const sandbox = await createSandbox({ runtime, session_id: `s${i}`, store });
    await sandbox.execute(`${BEGIN[runtime].replace('1', String(i))}`);
    return sandbox;
  };
  // Warms up: starts all workers, fills their guest caches and grows the heaps to their final size.
  for (let round = 0; round < 50; round++) {
    const others = await Promise.all(Array.from({ length: 6 }, (_, i) => make(1_000_000 + round * 6 + i)));
    await Promise.all(others.map((sandbox) => sandbox.close()));
  }
  const before = residentMemory();
  const sandboxes = [];
  const createMs = await elapsedMs(async () => {
    for (let i = 0; i < HIBERNATED; i++) {
      sandboxes.push(await make(i));
      if (i % 250 === 249) logProgress(`  ${i + 1} sessions created`);
    }
  });
  await Promise.all(sandboxes.map((sandbox) => sandbox.flush()));
  const bytes = (await Promise.all(sandboxes.map(({ session_id }) => store.size(session_id)))).reduce(
    (a, b) => a + b,
  );
  const residentBytes = residentMemory() - before;
  const resumeTimes = [];
  for (const [i, sandbox] of sandboxes.entries()) {
    resumeTimes.push(
      await elapsedMs(async () => {
        const { metadata } = await sandbox.execute('x');
        if (metadata.result !== i) throw new Error(`session ${i} has x = ${metadata.result}`);
      }),
    );
  }
  return {
    residentBytes,
    bytes,
    createMs,
    resumeMs: resumeTimes.reduce((a, b) => a + b),
    medianResumeMs: median(resumeTimes),
  };
}

async function soak() {
  const store = memoryStore();
  const sandboxes = await Promise.all(
    Array.from({ length: SOAK.sessions }, (_, i) =>
      createSandbox({ runtime: RUNTIMES[i % 2], session_id: `soak-${i}`, store }),
    ),
  );
  const counts = sandboxes.map(() => 0);
  const samples = [];
  let done = 0;
  const started = performance.now();
  // Sessions in pseudo-random order, a few calls each: some are still live, most have to be resumed.
  let state = 1;
  const pick = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * SOAK.sessions);
  };
  const busy = new Set();
  const client = async () => {
    while (done < SOAK.calls) {
      let i = pick();
      while (busy.has(i)) i = (i + 1) % SOAK.sessions;
      busy.add(i);
      for (let call = 0; call < 4; call++) {
        const { metadata, stderr } = await sandboxes[i].execute(
          counts[i] === 0 ? `${BEGIN[RUNTIMES[i % 2]]}\nx` : `${STEP}\nx`,
        );
        if (metadata.result !== ++counts[i])
          throw new Error(`session ${i} has x = ${metadata.result}, expected ${counts[i]} ${stderr}`);
        if (++done % (SOAK.calls / SOAK.samples) === 0) {
          samples.push({ done, rss: residentMemory() });
          logProgress(`  ${done} calls, ${formatBytes(samples.at(-1).rss)}`);
        }
      }
      busy.delete(i);
    }
  };
  await Promise.all(Array.from({ length: 4 }, client));
  return { samples, seconds: (performance.now() - started) / 1000 };
}

function inOwnProcess(...args) {
  const { stdout, status } = spawnSync(
    process.execPath,
    ['--expose-gc', fileURLToPath(import.meta.url), ...args],
    {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  if (status !== 0) throw new Error(`${args.join(' ')} failed`);
  return JSON.parse(stdout);
}

function hibernatedTable() {
  const rows = RUNTIMES.map((runtime) => {
    logProgress(`${HIBERNATED} hibernated sessions, ${runtime} …`);
    const { residentBytes, bytes, createMs, resumeMs, medianResumeMs } = inOwnProcess('hibernated', runtime);
    return [
      runtime,
      formatBytes(bytes),
      formatBytes(residentBytes),
      formatBytes(Math.round(residentBytes / HIBERNATED)),
      `${(createMs / 1000).toFixed(1)} s`,
      `${(resumeMs / 1000).toFixed(1)} s`,
      ms(medianResumeMs),
    ];
  });
  return markdown(
    `${HIBERNATED} hibernated sessions`,
    `${HIBERNATED} sessions are created in a memory store with one call each. A second call then resumes each session, in the same order. Resident memory does not include the interpreters that workers cache.`,
    [
      'runtime',
      'stored bytes',
      'resident memory',
      'resident per session',
      'create all',
      'resume all',
      'resume one, p50 ms',
    ],
    rows,
  );
}

function soakTable() {
  logProgress(`soak, ${SOAK.calls} calls over ${SOAK.sessions} sessions …`);
  const { samples, seconds } = inOwnProcess('soak');
  const after = samples.slice(samples.length / 4);
  const sizes = after.map(({ rss }) => rss);
  const rows = samples.filter((_, i) => i % 4 === 3).map(({ done, rss }) => [String(done), formatBytes(rss)]);
  const half = Math.floor(after.length / 2);
  const drift = median(sizes.slice(half)) / median(sizes.slice(0, half));
  const note = `Four clients make ${SOAK.calls} calls in ${SOAK.sessions} sessions, half in Python and half in JavaScript, at ${(SOAK.calls / seconds).toFixed(0)} calls per second. After the first quarter of the calls, resident memory was between ${formatBytes(Math.min(...sizes))} and ${formatBytes(Math.max(...sizes))}. The median in the second half of this period was ${drift.toFixed(2)} times the median in the first half.`;
  return markdown('Soak', note, ['calls', 'resident memory'], rows);
}

export async function table() {
  return [await callTable(), await stateTable(), hibernatedTable(), soakTable()].join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [part, runtime] = process.argv.slice(2);
  const parts = { hibernated: () => hibernated(runtime), soak, calls: callTable, states: stateTable };
  const result = await (part === undefined ? table() : parts[part]());
  console.log(typeof result === 'string' ? result : JSON.stringify(result));
  process.exit();
}
