/**
 * What sessions cost: a call in a live one against a fresh sandbox and against eval in node:vm; going back, apart, to
 * sleep and on again, in time and bytes; a thousand sessions asleep; and a soak, which must not take more and more
 * memory. The last two run in processes of their own, as `node bench/sessions.mjs asleep|soak …`.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import vm from 'node:vm';
import { createSandbox, diskStore, memoryStore } from '../dist/index.js';
import { markdown, median, ms, quantile, times } from './measure.mjs';

const ROUNDS = 150;
const WARMUP = 20;
const ASLEEP = 1000;
const SOAK = { sessions: 200, calls: 20_000, samples: 20 };
const RUNTIMES = ['python', 'javascript'];
const BEGIN = { python: 'x = 1', javascript: 'let x = 1' };
const STEP = 'x += 1';

const say = (text) => process.stderr.write(`sessions: ${text}\n`);
const mebibytes = (bytes) => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
const kibibytes = (bytes) => `${(bytes / 1024).toFixed(0)} KiB`;

async function timed(run) {
  const started = performance.now();
  await run();
  return performance.now() - started;
}

/** Times of alternatives that are run in turn. Each may say what is to happen before its time counts. */
async function inTurn(alternatives, rounds = ROUNDS, warmup = WARMUP) {
  const taken = Object.fromEntries(Object.keys(alternatives).map((name) => [name, []]));
  for (let round = -warmup; round < rounds; round++) {
    for (const [name, { before, run }] of Object.entries(alternatives)) {
      const prepared = await before?.();
      const took = await timed(() => run(prepared));
      if (round >= 0) taken[name].push(took);
    }
  }
  return taken;
}

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
  const rest = () => new Promise((next) => setTimeout(next, 10));
  const alternatives = {
    live: { before: () => live.flush().then(rest), run: () => live.execute(STEP) },
    liveAtOnce: { before: () => live.execute(STEP), run: () => live.execute(STEP) },
    same: { before: rest, run: () => same.execute(BEGIN[runtime]) },
    sameAtOnce: { before: () => same.execute(BEGIN[runtime]), run: () => same.execute(BEGIN[runtime]) },
    fresh: { before: rest, run: fresh },
    ...(runtime === 'python' && {
      heavyAtOnce: { before: () => heavy.execute(STEP), run: () => heavy.execute(STEP) },
    }),
  };
  const taken = await inTurn(alternatives);
  // Apart from the others, which would wait for the garbage of its contexts.
  const evals = await inTurn({
    eval: { run: () => vm.runInContext(STEP, context) },
    newContext: { run: () => vm.runInContext('let x = 1', vm.createContext({})) },
  });
  await Promise.all([live, same, heavy].map((sandbox) => sandbox.close()));
  return { ...taken, ...evals };
}

const CALL_ROWS = {
  live: 'live session, `x += 1`, the call before long done',
  liveAtOnce: 'live session, `x += 1`, right after the call before',
  heavyAtOnce: 'the same with openpyxl imported',
  same: 'fresh interpreter, `x = 1`, in a sandbox that is there',
  sameAtOnce: 'the same, right after the call before',
  fresh: 'fresh sandbox, `x = 1`',
  eval: '`x += 1` in a node:vm context, no sandbox at all',
  newContext: '`let x = 1` in a new node:vm context',
};

async function callTable() {
  const rows = [];
  for (const runtime of RUNTIMES) {
    say(`calls, ${runtime} …`);
    const taken = await callTimes(runtime);
    const reference = { live: 'same', liveAtOnce: 'sameAtOnce', heavyAtOnce: 'sameAtOnce' };
    for (const [name, label] of Object.entries(CALL_ROWS)) {
      if (taken[name] === undefined) continue;
      const p50 = median(taken[name]);
      const other = reference[name] && median(taken[reference[name]]);
      const evals = p50 / median(taken.eval);
      rows.push([
        runtime,
        label,
        p50 < 0.1 ? p50.toFixed(4) : ms(p50),
        ms(quantile(taken[name], 0.95)),
        other ? times(p50 / other) : '',
        name === 'eval' ? '' : times(evals),
      ]);
    }
  }
  return markdown(
    'Calls in a live session',
    `Milliseconds from call to answer over ${ROUNDS} interleaved rounds. What a call left is saved after its answer, so a call right after another waits for that. Target: at most ×2 of a fresh interpreter.`,
    ['runtime', 'call', 'p50', 'p95', '/ fresh interpreter', '/ eval'],
    rows,
  );
}

// ---- going back, apart, to sleep and on ----

async function changeTimes(runtime, setup, rounds) {
  const dir = mkdtempSync(join(tmpdir(), 'bench-sessions-'));
  try {
    return await changesIn(runtime, setup, rounds, diskStore(dir));
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function changesIn(runtime, setup, rounds, store) {
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
  const taken = await inTurn(
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
    rounds,
    Math.ceil(rounds / 5),
  );
  await sandbox.close();
  return {
    bytes,
    checkpointBytes,
    p50: Object.fromEntries(Object.entries(taken).map(([k, v]) => [k, median(v)])),
  };
}

const CASES = [
  ['python', '`x = 1`', [BEGIN.python], 60],
  ['python', 'openpyxl imported', [BEGIN.python, 'import openpyxl'], 20],
  ['javascript', '`x = 1`', [BEGIN.javascript], 60],
];

async function changeTable() {
  const rows = [];
  for (const [runtime, name, setup, rounds] of CASES) {
    say(`checkpoint, rollback, fork, hibernate, resume, ${runtime}, ${name} …`);
    const { bytes, checkpointBytes, p50 } = await changeTimes(runtime, setup, rounds);
    const copies = (p50.resume - p50.pageCopy) / p50.warm;
    rows.push([
      `${runtime}, ${name}`,
      kibibytes(bytes),
      kibibytes(checkpointBytes),
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
    'On a disk store that waits for the disk; milliseconds, medians. "Hibernate" is from the answer of a call until the session is on the disk and closed, "open" reads it back, "resume" is the first call then, in an interpreter made from it. The last column is resume less the copying of 32 MiB, over a warm call. Targets: `x = 1` under 1 MiB on disk, resume under 30 ms and ×5.',
    [
      'session',
      'on disk',
      'a checkpoint more',
      'warm call',
      'checkpoint',
      'rollback',
      'call after it',
      'fork',
      'its first call',
      'hibernate',
      'open',
      'resume',
      'resume / warm',
    ],
    rows,
  );
}

// ---- a thousand asleep, and the soak: in processes of their own ----

const resident = () => {
  globalThis.gc?.();
  return process.memoryUsage().rss;
};

async function asleep(runtime) {
  const store = memoryStore();
  const make = async (i) => {
    const sandbox = await createSandbox({ runtime, session_id: `s${i}`, store });
    await sandbox.execute(`${BEGIN[runtime].replace('1', String(i))}`);
    return sandbox;
  };
  // Enough to have all workers, all the guests they keep, and heaps of the size they will have.
  for (let round = 0; round < 50; round++) {
    const others = await Promise.all(Array.from({ length: 6 }, (_, i) => make(1_000_000 + round * 6 + i)));
    await Promise.all(others.map((sandbox) => sandbox.close()));
  }
  const before = resident();
  const kept = [];
  const making = await timed(async () => {
    for (let i = 0; i < ASLEEP; i++) {
      kept.push(await make(i));
      if (i % 250 === 249) say(`  ${i + 1} sessions made`);
    }
  });
  await Promise.all(kept.map((sandbox) => sandbox.flush()));
  const bytes = (await Promise.all(kept.map(({ session_id }) => store.size(session_id)))).reduce(
    (a, b) => a + b,
  );
  const held = resident() - before;
  const touches = [];
  for (const [i, sandbox] of kept.entries()) {
    touches.push(
      await timed(async () => {
        const { metadata } = await sandbox.execute('x');
        if (metadata.result !== i) throw new Error(`session ${i} holds ${metadata.result}`);
      }),
    );
  }
  return { held, bytes, making, touching: touches.reduce((a, b) => a + b), touch: median(touches) };
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
  // Sessions in an order without a pattern, a few calls at a time: some are still live, most have to be resumed.
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
          throw new Error(`${i}: ${metadata.result}, not ${counts[i]} ${stderr}`);
        if (++done % (SOAK.calls / SOAK.samples) === 0) {
          samples.push({ done, rss: resident() });
          say(`  ${done} calls, ${mebibytes(samples.at(-1).rss)}`);
        }
      }
      busy.delete(i);
    }
  };
  await Promise.all(Array.from({ length: 4 }, client));
  return { samples, seconds: (performance.now() - started) / 1000 };
}

function apart(...args) {
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

function asleepTable() {
  const rows = RUNTIMES.map((runtime) => {
    say(`${ASLEEP} sessions asleep, ${runtime} …`);
    const { held, bytes, making, touching, touch } = apart('asleep', runtime);
    return [
      runtime,
      mebibytes(bytes),
      mebibytes(held),
      kibibytes(held / ASLEEP),
      `${(making / 1000).toFixed(1)} s`,
      `${(touching / 1000).toFixed(1)} s`,
      ms(touch),
    ];
  });
  return markdown(
    `${ASLEEP} hibernated sessions`,
    'Each made with one call, in a memory store, then each called once again in the same order, so that every one has to be resumed. "Held" is resident memory, the interpreters that workers keep not counted.',
    ['runtime', 'saved states', 'held', 'held by each', 'making all', 'touching all', 'one touch, p50 ms'],
    rows,
  );
}

function soakTable() {
  say(`soak, ${SOAK.calls} calls over ${SOAK.sessions} sessions …`);
  const { samples, seconds } = apart('soak');
  const after = samples.slice(samples.length / 4);
  const sizes = after.map(({ rss }) => rss);
  const rows = samples.filter((_, i) => i % 2 === 1).map(({ done, rss }) => [String(done), mebibytes(rss)]);
  const half = Math.floor(after.length / 2);
  const drift = median(sizes.slice(half)) / median(sizes.slice(0, half));
  const note = `${SOAK.calls} calls over ${SOAK.sessions} sessions, half Python, half JavaScript, 4 callers, in ${seconds.toFixed(0)} s (${(SOAK.calls / seconds).toFixed(0)} calls a second). Resident memory after a quarter of the calls: ${mebibytes(Math.min(...sizes))} to ${mebibytes(Math.max(...sizes))}, the median of its second half ${times(drift)} of that of its first.`;
  return markdown('Soak', note, ['calls', 'resident'], rows);
}

export async function table() {
  return [await callTable(), await changeTable(), asleepTable(), soakTable()].join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [part, runtime] = process.argv.slice(2);
  const parts = { asleep: () => asleep(runtime), soak, calls: callTable, changes: changeTable };
  const result = await (part === undefined ? table() : parts[part]());
  console.log(typeof result === 'string' ? result : JSON.stringify(result));
  process.exit();
}
