/**
 * What charts cost: fuel and time of the first and the tenth chart of a process, for a bar chart and for a scatter plot with
 * 1,000 points, and what the renderer adds to the package. Calls of a session that draw nothing are the baseline.
 */
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { formatBytes, formatFuel } from '../../packages/core/dist/quantities.js';
import { markdown, median, ms, times } from './measure.mjs';

const PROCESSES = 3;
const CHARTS = 10;
const at = (path) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

const PROGRAMS = {
  'bar chart with 3 bars': "chart.bar({'North': 30, 'South': 52, 'West': 21}, title='Sales')",
  'line chart with 2 × 100 points':
    "chart.line({'x': range(100), 'a': range(100), 'b': range(100, 200)}, x='x', y=['a', 'b'])",
  'scatter plot with 1,000 points': 'chart.scatter([(i, i * 7919 % 1000) for i in range(1000)])',
};

/** Milliseconds of each call of a new process, and the fuel of the chart. */
function measure(program) {
  const script = `
    import { createSandbox } from './packages/core/dist/index.js';
    let fuel = 0;
    const { WorkerPool } = await import('./packages/core/dist/worker/pool/pool.js');
    const pool = new WorkerPool({ optimization: 'demand' }, { fuel: { check: () => undefined, charge: (_, used) => { fuel = used; } } });
    const policy = { fuel_budget: 50_000_000_000, timeout_seconds: 60 };
    const sandbox = await createSandbox({ runtime: 'python', pool, policy, auto_persist_globals: true });
    const program = ${JSON.stringify(program)};
    const times = [];
    let drawn = 0;
    const run = async (code) => {
      const started = performance.now();
      const result = await sandbox.execute(code);
      const took = performance.now() - started;
      await sandbox.flush();
      await new Promise((resolve) => setImmediate(resolve));
      return { result, took, drawing: fuel - result.fuel_consumed };
    };
    const idle = [];
    for (let i = 0; i < ${CHARTS}; i++) idle.push((await run('x = (' + program + ').to_dict()')).took);
    for (let i = 0; i < ${CHARTS}; i++) {
      const { result, took, drawing } = await run(program);
      if (result.results[0]?.png === undefined) throw new Error(result.results[0]?.note ?? result.stderr);
      times.push(took);
      drawn = drawing;
    }
    console.log(JSON.stringify({ idle, times, fuel: drawn }));
    process.exit();`;
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], {
    encoding: 'utf8',
    cwd: at(''),
  });
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout);
}

function sizes() {
  const folder = at('packages/core/dist/guests/charts/');
  const files = readdirSync(folder).map((name) => readFileSync(folder + name));
  const sum = (lengths) => lengths.reduce((total, length) => total + length, 0);
  const compressed = sum(files.map((file) => gzipSync(file).length));
  return `${formatBytes(compressed)} compressed and ${formatBytes(sum(files.map(({ length }) => length)))} unpacked`;
}

export async function table() {
  const rows = Object.entries(PROGRAMS).map(([name, program]) => {
    const runs = Array.from({ length: PROCESSES }, () => measure(program));
    const [first, tenth, without] = [
      median(runs.map(({ times: [took] }) => took)),
      median(runs.map(({ times: all }) => all[CHARTS - 1])),
      median(runs.map(({ idle }) => idle[CHARTS - 1])),
    ];
    return [
      name,
      formatFuel(runs[0].fuel),
      ms(first),
      ms(tenth),
      times(first / tenth),
      times(tenth / without),
    ];
  });
  const note = `Milliseconds of calls in a Python session, medians of ${PROCESSES} processes. The column "fuel" is the fuel used to draw the chart. It does not count towards the fuel of the program. The first chart of a process loads Vega and resvg, which V8 has not optimised yet. The last column compares the tenth chart with a call that creates the same chart without displaying it. The renderer adds ${sizes()} to the package.`;
  const head = ['chart', 'fuel', 'first', 'tenth', 'first / tenth', 'tenth / not displayed'];
  return markdown('Charts', note, head, rows);
}
