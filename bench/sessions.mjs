/**
 * The cost of sessions: a call in a live session compared with a fresh sandbox and with eval in node:vm; checkpoint,
 * rollback, fork, hibernation and resumption in time and bytes; a thousand hibernated sessions; and a soak test, in
 * which memory must not grow. The last two run in their own processes, as `node bench/sessions.mjs hibernated|soak`.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import vm from 'node:vm';
import { createSandbox, diskStore, memoryStore } from '../dist/index.js';
import { formatBytes } from '../dist/quantities.js';
import { elapsedMs, markdown, median, ms, quantile, sampleInterleaved, times } from './measure.mjs';

const ROUNDS = 150;
const WARMUP = 20;
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
  const context = vm.createContext({ x: 1 });
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
  // Measured separately: garbage collection of its contexts would slow down the other alternatives.
  const evals = await sampleInterleaved(
    {
      eval: { run: () => vm.runInContext(STEP, context) },
      newContext: { run: () => vm.runInContext('let x = 1', vm.createContext({})) },
    },
    { warmup: WARMUP, rounds: ROUNDS },
  );
  await Promise.all([live, same, heavy].map((sandbox) => sandbox.close()));
  return { ...samples, ...evals };
}

const CALL_ROWS = {
  live: 'live session, `x += 1`, previous call saved',
  liveAtOnce: 'live session, `x += 1`, right after another call',
  heavyAtOnce: 'same, with openpyxl imported',
  same: 'existing sandbox, fresh interpreter, `x = 1`',
  sameAtOnce: 'same, right after another call',
  fresh: 'new sandbox, `x = 1`',
  eval: '`x += 1` in a node:vm context, no sandbox',
  newContext: '`let x = 1` in a new node:vm context',
};

async function callTable() {
  const rows = [];
  for (const runtime of RUNTIMES) {
    logProgress(`calls, ${runtime} …`);
    const samples = await callTimes(runtime);
    const reference = { live: 'same', liveAtOnce: 'sameAtOnce', heavyAtOnce: 'sameAtOnce' };
    for (const [name, label] of Object.entries(CALL_ROWS)) {
      if (samples[name] === undefined) continue;
      const p50 = median(samples[name]);
      const other = reference[name] && median(samples[reference[name]]);
      const evals = p50 / median(samples.eval);
      rows.push([
        runtime,
        label,
        p50 < 0.1 ? p50.toFixed(4) : ms(p50),
        ms(quantile(samples[name], 0.95)),
        other ? times(p50 / other) : '',
        name === 'eval' ? '' : times(evals),
      ]);
    }
  }
  return markdown(
    'Calls in a live session',
    `Milliseconds from call to result over ${ROUNDS} interleaved rounds. A session is saved after the call returns, so a call that immediately follows another one waits for the save. Target: at most ×2 the time of a fresh interpreter.`,
    ['runtime', 'call', 'p50', 'p95', '/ fresh interpreter', '/ node:vm'],
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

async function stateTable() {
  const rows = [];
  for (const [runtime, name, setup, rounds] of CASES) {
    logProgress(`checkpoint, rollback, fork, hibernate, resume, ${runtime}, ${name} …`);
    const { bytes, checkpointBytes, p50 } = await stateTimes(runtime, setup, rounds);
    const copies = (p50.resume - p50.pageCopy) / p50.warm;
    rows.push([
      `${runtime}, ${name}`,
      formatBytes(bytes),
      formatBytes(checkpointBytes),
      ...[
        'warm',
        'checkpoint',
        'rollback',
        'rolledBackCall',
        'fork',
        'forkCall',
        'hibernate',
        'open',
        'resume',
      ].map((what) => ms(p50[what])),
      times(copies),
    ]);
  }
  return markdown(
    'Checkpoint, rollback, fork, hibernate, resume',
    'Median milliseconds on a disk store that syncs every write. "Hibernate" is the time from the result of a call until the session is on disk and closed; "open" reads it back; "resume" is the first call after that, in an interpreter restored from the stored state. Each round opens the session again, so "rollback" reads the checkpoint from the disk, after the previous call has been saved. The last column is the time of resume minus the time to copy 32 MiB, divided by the time of a warm call. Targets: `x = 1` takes less than 1 MiB on disk; resume takes less than 30 ms and at most ×5.',
    [
      'session',
      'on disk',
      'per checkpoint',
      'warm call',
      'checkpoint',
      'rollback',
      'call after rollback',
      'fork',
      'first call of the fork',
      'hibernate',
      'open',
      'resume',
      'resume / warm',
    ],
    rows,
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
    'Each session is created with one call in a memory store, then called once more in the same order, so that every one has to be resumed. Resident memory does not include the interpreters that workers cache.',
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
  const rows = samples.filter((_, i) => i % 2 === 1).map(({ done, rss }) => [String(done), formatBytes(rss)]);
  const half = Math.floor(after.length / 2);
  const drift = median(sizes.slice(half)) / median(sizes.slice(0, half));
  const note = `${SOAK.calls} calls over ${SOAK.sessions} sessions, half Python, half JavaScript, 4 clients, in ${seconds.toFixed(0)} s (${(SOAK.calls / seconds).toFixed(0)} calls per second). Resident memory after the first quarter of the calls ranges from ${formatBytes(Math.min(...sizes))} to ${formatBytes(Math.max(...sizes))}; the median of the second half is ${times(drift)} that of the first.`;
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
