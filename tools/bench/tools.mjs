/**
 * What one call to a host function costs a program: the time of a run with calls minus that of the same run without
 * them, divided by the number of calls. The function returns its argument. Also the size and the times of a program
 * that pauses.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createSandbox, diskStore } from 'llm-wasm-sandbox';
import { formatBytes, formatCount } from '../../packages/core/dist/quantities.js';
import { installPinned } from '../../scripts/install-pinned-packages.mjs';
import { elapsedMs, markdown, median, ms, quantile, sampleInterleaved, times } from './measure.mjs';

const CALLS = 1000;
const PARALLEL = 16;
const ROUNDS = 15;
/** The median cost of a call that this sandbox must not exceed. */
const TARGET_MS = 0.3;

const JAVASCRIPT = {
  sequential: (calls) => `for (let i = 0; i < ${calls}; i++) await tools.echo({ i });`,
  parallel: (calls) =>
    `for (let i = 0; i < ${calls}; i += ${PARALLEL}) await Promise.all(Array.from({ length: Math.min(${PARALLEL}, ${calls} - i) }, () => tools.echo({ i })));`,
};
const PYTHON = {
  sequential: (calls) => `for i in range(${calls}): await tools.echo(i=i)`,
  parallel: (calls) =>
    `import asyncio\nfor i in range(0, ${calls}, ${PARALLEL}): await asyncio.gather(*[tools.echo(i=i) for _ in range(min(${PARALLEL}, ${calls} - i))])`,
};

async function ours(runtime, programs) {
  const tools = { echo: async (args) => args };
  const sandbox = await createSandbox({ runtime, tools, policy: { max_tool_calls: 10_000 } });
  const run = async (code) => {
    const { success, stderr } = await sandbox.execute(code);
    if (!success) throw new Error(stderr);
  };
  return { programs, run };
}

async function vercelRun() {
  const folder = installPinned('run', ['run@2.1.5']);
  const { run } = await import(pathToFileURL(`${folder}/node_modules/run/dist/index.js`).href);
  const hostFunctions = { tools: { echo: async (args) => args } };
  const limits = { maxBridgeRequests: 10_000, timeoutMs: 60_000 };
  return {
    programs: JAVASCRIPT,
    run: async (source) => {
      const { status, error } = await run({ source, hostFunctions, limits });
      if (status !== 'completed') throw new Error(String(error?.message ?? status));
    },
  };
}

const PAUSING = {
  python: `import asyncio
data = list(range(1000))
print(sum(await asyncio.gather(*[tools.approve(n=n) for n in (1, 2, 3)])))`,
  javascript: `const data = Array.from({ length: 1000 }, (_, i) => i);
console.log((await Promise.all([1, 2, 3].map((n) => tools.approve({ n })))).reduce((a, b) => a + b))`,
};
const PAUSES = 15;

/** Pauses a program, closes its session, and resumes it from the store. Returns one row. */
async function pauseAndResume(runtime, folder) {
  const tools = { approve: { needsApproval: true, execute: async ({ n }) => n } };
  const samples = { pause: [], open: [], resume: [], bytes: [] };
  for (let i = 0; i < PAUSES; i++) {
    const options = { runtime, tools, session_id: `${runtime}-${i}` };
    const store = diskStore(folder);
    const session = await createSandbox({ ...options, store });
    await session.execute('0');
    let paused;
    samples.pause.push(
      await elapsedMs(async () => {
        paused = await session.execute(PAUSING[runtime]);
        await session.flush();
      }),
    );
    await session.close();
    samples.bytes.push(await store.size(options.session_id));
    let opened;
    samples.open.push(
      await elapsedMs(async () => {
        opened = await createSandbox({ ...options, store: diskStore(folder) });
      }),
    );
    const { execution_id, pending } = paused.metadata;
    const resolutions = pending.map(({ id }) => ({ id, approve: true })).toReversed();
    let result;
    samples.resume.push(
      await elapsedMs(async () => {
        result = await opened.resume(execution_id, { resolutions });
      }),
    );
    if (result.stdout !== '6\n') throw new Error(result.stderr);
    await opened.close();
  }
  const figures = [samples.pause, samples.open, samples.resume].map((values) => ms(median(values)));
  return [runtime === 'python' ? 'Python' : 'JavaScript', formatBytes(median(samples.bytes)), ...figures];
}

async function pauseTable() {
  const folder = mkdtempSync(join(tmpdir(), 'bench-pause-'));
  try {
    return markdown(
      'Paused programs',
      `A program in a session on disk waits for three approvals. The session is closed and opened again, and the program continues when all three calls are approved. Median of ${PAUSES} programs. "Pause" is the time from the start of the program until it is on disk. "Resume" includes restoring the interpreter and saving the result.`,
      ['runtime', 'size on disk', 'pause ms', 'open ms', 'resume ms'],
      [await pauseAndResume('python', folder), await pauseAndResume('javascript', folder)],
    );
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export async function table() {
  const sandboxes = {
    'this sandbox, Python': await ours('python', PYTHON),
    'this sandbox, JavaScript': await ours('javascript', JAVASCRIPT),
    'Vercel Run 2.1.5, JavaScript': await vercelRun(),
  };
  const alternatives = {};
  for (const [name, { programs, run }] of Object.entries(sandboxes))
    for (const [kind, program] of Object.entries(programs)) {
      alternatives[`${name}|${kind}|none`] = { run: () => run(program(0)) };
      alternatives[`${name}|${kind}|calls`] = { run: () => run(program(CALLS)) };
    }
  const samples = await sampleInterleaved(alternatives, { warmup: 3, rounds: ROUNDS });
  const perCall = (name, kind) => {
    const base = median(samples[`${name}|${kind}|none`]);
    const costs = samples[`${name}|${kind}|calls`].map((total) => (total - base) / CALLS);
    return { median: median(costs), p90: quantile(costs, 0.9), base };
  };
  const reference = {
    sequential: perCall('Vercel Run 2.1.5, JavaScript', 'sequential'),
    parallel: perCall('Vercel Run 2.1.5, JavaScript', 'parallel'),
  };
  const rows = Object.keys(sandboxes).flatMap((name) =>
    ['sequential', 'parallel'].map((kind) => {
      const cost = perCall(name, kind);
      return [
        name,
        kind === 'parallel' ? `${PARALLEL} at a time` : 'one after another',
        `${(cost.median * 1000).toFixed(0)} µs`,
        `${(cost.p90 * 1000).toFixed(0)} µs`,
        times(cost.median / reference[kind].median),
        `${cost.base.toFixed(1)} ms`,
      ];
    }),
  );
  const missed = Object.keys(sandboxes)
    .filter((name) => name.startsWith('this sandbox'))
    .flatMap((name) => ['sequential', 'parallel'].map((kind) => [name, kind]))
    .filter(([name, kind]) => perCall(name, kind).median > TARGET_MS);
  const verdict =
    missed.length === 0
      ? 'met in all four rows'
      : `missed by ${missed.map(([name, kind]) => `${name}, ${kind}`).join(' and ')}`;
  const calling = markdown(
    'Tool calls',
    `The cost of one call to a host function that returns its argument. A run makes ${formatCount(CALLS)} calls. The duration of a run without calls is subtracted, and the rest is divided by the number of calls. Median and 90th percentile of ${ROUNDS} runs. Target for this sandbox: a median of at most ${TARGET_MS * 1000} µs, ${verdict}.`,
    ['sandbox', 'calls', 'median', 'p90', 'relative to Vercel Run', 'run without calls'],
    rows,
  );
  return [calling, await pauseTable()].join('\n');
}
