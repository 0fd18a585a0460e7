/**
 * What the first calls of a process cost, with and without idle optimisation: processor time of calls 1 to 100 of a
 * session, and of a long loop as the first call. Processor time is read per thread, so other load
 * matters little. Needs Linux.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { markdown, median, ms, times } from './measure.mjs';
import { LOOPS } from './programs.mjs';

const PROCESSES = 3;
/** Time of the loop after idle optimisation, relative to the steady state. */
const MAX_RATIO = 1.3;
const CALLS = 100;
const SHOWN = [1, 2, 5, 10, 100];
const FIRST = { python: 'x = 1', javascript: 'let x = 1' };

/** Threads that exist before the pool are those of V8, except the main thread. */
const PROLOGUE = (runtime, optimization) => `
  import { readdirSync, readFileSync } from 'node:fs';
  import { createPool, createSandbox } from 'llm-wasm-sandbox';
  const threads = () => readdirSync('/proc/self/task');
  const ofV8 = new Set(threads());
  const cpu = (wanted) => threads().filter(wanted).reduce((sum, id) => {
    try { return sum + Number(readFileSync('/proc/self/task/' + id + '/schedstat', 'utf8').split(' ')[0]) / 1e6; }
    catch { return sum; }
  }, 0);
  const isOurs = (id) => Number(id) === process.pid || !ofV8.has(id);
  const sleep = (time) => new Promise((resolve) => setTimeout(resolve, time));
  const pool = createPool({ optimization: '${optimization}' });
  const policy = { fuel_budget: 50_000_000_000, timeout_seconds: 300 };
  const sandbox = await createSandbox({ runtime: '${runtime}', pool, policy, auto_persist_globals: true });
  const alive = setInterval(() => {}, 1000);
  await pool.optimized();
  // V8 completes what it has begun to compile.
  if ('${optimization}' === 'idle') for (let last = -1, now = 0; now - last > 5; await sleep(500)) [last, now] = [now, cpu((id) => !isOurs(id))];
  const measure = async (code) => {
    await sleep(2);
    const before = [cpu(isOurs), cpu((id) => !isOurs(id))];
    const { success, stderr } = await sandbox.execute(code);
    if (!success) throw new Error(stderr);
    await sandbox.flush();
    await sleep(5);
    return [cpu(isOurs) - before[0], cpu((id) => !isOurs(id)) - before[1]];
  };`;

function inProcess(script) {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    cwd: fileURLToPath(new URL('..', import.meta.url)),
  });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

const curve = (runtime, optimization) =>
  inProcess(`${PROLOGUE(runtime, optimization)}
  const taken = [await measure(${JSON.stringify(FIRST[runtime])})];
  while (taken.length < ${CALLS}) taken.push(await measure('x += 1'));
  console.log(JSON.stringify(taken)); process.exit();`);

const loop = (runtime, optimization) =>
  inProcess(`${PROLOGUE(runtime, optimization)}
  const taken = [];
  for (let i = 0; i < 4; i++) { taken.push((await measure(${JSON.stringify(LOOPS[runtime])}))[0]); await sleep(1500); }
  console.log(JSON.stringify(taken)); process.exit();`);

const repeat = (run) => Array.from({ length: PROCESSES }, run);

export async function table() {
  const curveRows = [];
  const loopRows = [];
  const missed = [];
  for (const runtime of ['python', 'javascript']) {
    for (const optimization of ['demand', 'idle']) {
      const curves = repeat(() => curve(runtime, optimization));
      for (const [kind, name] of ['main thread and worker', 'V8'].entries()) {
        const at = (call) => ms(median(curves.map((calls) => calls[call - 1][kind])));
        curveRows.push([runtime, optimization, name, ...SHOWN.map(at)]);
      }
      const loops = repeat(() => loop(runtime, optimization));
      const first = median(loops.map(([taken]) => taken));
      const steady = median(loops.map((taken) => Math.min(...taken.slice(1))));
      if (optimization === 'idle' && first / steady > MAX_RATIO) missed.push(runtime);
      loopRows.push([runtime, optimization, ms(first), ms(steady), times(first / steady)]);
    }
  }
  return [
    markdown(
      'The first calls of a process',
      `Milliseconds of processor time for \`x += 1\` in a session, including the save, by call number. Median of ${PROCESSES} processes. With \`optimization: 'idle'\`, the first call is made after idle optimisation has ended. With \`'demand'\`, the first call is made immediately. V8 compiles in its own threads, and calls wait for these threads if there are few cores.`,
      ['runtime', 'optimization', 'threads', ...SHOWN.map((call) => `call ${call}`)],
      curveRows,
    ),
    markdown(
      'A long loop as the first call of a process',
      `Milliseconds of processor time of the main thread and the worker for a loop of 1,000,000 iterations. Median of ${PROCESSES} processes. Target with \`'idle'\`: at most ×${MAX_RATIO} the time of the steady state.`,
      ['runtime', 'optimization', 'first call', 'steady state', 'ratio'],
      loopRows,
      missed.length === 0 ? 'The target is met.' : `The target is missed for ${missed.join(' and ')}.`,
    ),
  ].join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(await table());
