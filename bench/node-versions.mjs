/**
 * The same measurements with several versions of Node.js from the npm registry. Fails if the fuel of a program differs. If
 * PIP_FIND_LINKS names a folder with the wheel of numpy, one of the programs uses numpy. As a script, `measure` measures the
 * Node.js that runs it, and `numpy` prints the fuel of the program with numpy. Needs Linux.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installPinned } from '../scripts/install-pinned-packages.mjs';
import { geomean, markdown, measuredEnv, median, ms, times } from './measure.mjs';
import { LOOPS } from './programs.mjs';
import { findWheel } from './wheels.mjs';

const VERSIONS = ['22.23.3', '24.21.0', '26.9.0'];
const ROUNDS = 7;
const METERING = { warmup: 1, rounds: 3 };
const root = fileURLToPath(new URL('..', import.meta.url));
const cli = join(root, 'dist/cli/main.js');
const COMMANDS = {
  empty: ['-e', '0'],
  python: [cli, 'run', '-c', 'print(1)'],
  javascript: [cli, 'run', '-ljavascript', '-cconsole.log(1)'],
};

function run(node, args) {
  const { status, stdout, stderr, error } = spawnSync(node, args, {
    encoding: 'utf8',
    cwd: root,
    env: measuredEnv,
  });
  if (status !== 0) throw new Error(`${node} ${args.join(' ')} failed: ${error?.message ?? stderr}`);
  return stdout;
}

/** Wall time of the first call of a process and of six runs of the loop after it, and the fuel of the loop. */
const firstCalls = (runtime) => `
  import { createSandbox } from './dist/index.js';
  const started = performance.now();
  const policy = { fuel_budget: 50_000_000_000, timeout_seconds: 300 };
  const sandbox = await createSandbox({ runtime: '${runtime}', policy });
  await sandbox.execute('1');
  const first = performance.now() - started;
  const taken = [];
  let fuel;
  for (let i = 0; i < 6; i++) {
    const before = performance.now();
    fuel = (await sandbox.execute(${JSON.stringify(LOOPS[runtime])})).metadata.fuel_analysis.consumed;
    taken.push(performance.now() - before);
    await new Promise((resolve) => setTimeout(resolve, 700));
  }
  console.log(JSON.stringify({ first, loop: taken[0], steady: Math.min(...taken.slice(1)), fuel }));
  process.exit();`;

/** Loads the libraries of numpy and uses linear algebra, sorting, Fourier transforms, random numbers and exceptions. */
const NUMPY = `
import numpy as np
r = np.random.default_rng(7)
m = r.random((40, 40))
y = np.sort(r.random(5000))
z = np.fft.fft(y[:1024])
try:
    np.linalg.inv(np.zeros((2, 3)))
except np.linalg.LinAlgError:
    pass
float(np.linalg.inv(m).sum() + np.exp(y).sum() + abs(z).sum())`;

/** The fuel and the value of the program with numpy, as text. */
const numpyRun = (wheel) => `
  import { createSandbox } from './dist/index.js';
  const policy = { deterministic: true, timeout_seconds: 300 };
  const sandbox = await createSandbox({ runtime: 'python', policy, packages: [${JSON.stringify(wheel)}] });
  const { fuel_consumed, metadata, stderr } = await sandbox.execute(${JSON.stringify(NUMPY)});
  if (stderr !== '') throw new Error(stderr);
  console.log(fuel_consumed + ', value ' + metadata.result);
  process.exit();`;

/** What the program with numpy gives with each of these versions of Node.js; undefined without the wheel. */
function numpyRuns(nodes) {
  const wheel = findWheel('numpy');
  if (wheel === undefined) return undefined;
  return nodes.map((path) => run(path, ['--input-type=module', '-e', numpyRun(wheel)]).trim());
}

function binaries() {
  const folders = VERSIONS.map((version) => installPinned('node', [`node-linux-${process.arch}@${version}`]));
  const installed = folders.map((folder) => join(folder, `node_modules/node-linux-${process.arch}/bin/node`));
  return [process.execPath, ...installed];
}

export async function table() {
  const nodes = binaries().map((path) => ({ path, version: run(path, ['-v']).trim(), commands: {} }));
  for (let round = 0; round < ROUNDS; round++) {
    for (const node of nodes) {
      for (const [name, args] of Object.entries(COMMANDS)) {
        const started = performance.now();
        run(node.path, args);
        node.commands[name] ??= [];
        node.commands[name].push(performance.now() - started);
      }
    }
  }
  for (const node of nodes) {
    const calls = (runtime) => JSON.parse(run(node.path, ['--input-type=module', '-e', firstCalls(runtime)]));
    node.calls = { python: calls('python'), javascript: calls('javascript') };
    node.metering = Number(run(node.path, [fileURLToPath(import.meta.url), 'measure']));
  }
  const numpy = new Set(numpyRuns(nodes.map(({ path }) => path)));
  if (numpy.size > 1)
    throw new Error(`numpy used different fuel or had different results: ${[...numpy].join('; ')}`);
  const fuels = new Set(nodes.map(({ calls }) => `${calls.python.fuel} and ${calls.javascript.fuel}`));
  if (fuels.size > 1)
    throw new Error(`the versions of Node.js used different fuel: ${[...fuels].join('; ')}`);
  const ratio = (node, name) => times(median(node.commands[name]) / median(node.commands.empty));
  const first = (node, runtime) => ms(node.calls[runtime].first);
  const loop = (node, runtime) => times(node.calls[runtime].loop / node.calls[runtime].steady);
  const row = (title, cell) => [title, ...nodes.map(cell)];
  return markdown(
    'Versions of Node.js',
    `The first three rows are medians of ${ROUNDS} interleaved runs. The other rows come from one process per version. The last row is the geometric mean over the programs of the benchmark \`metering\`, fastest of ${METERING.rounds} rounds. The loops have 1,000,000 iterations. Their fuel was the same with every version: ${[...fuels][0]}.${numpy.size === 1 ? ` A program that uses numpy also had the same fuel and the same result with every version: ${[...numpy][0]}.` : ''}`,
    ['what', ...nodes.map(({ version }) => version)],
    [
      row('`node -e 0`, ms', (node) => ms(median(node.commands.empty))),
      row('`run -c "print(1)"`, relative to `node -e 0`', (node) => ratio(node, 'python')),
      row('the same in JavaScript', (node) => ratio(node, 'javascript')),
      row('`createSandbox` and first `execute`, Python, ms', (node) => first(node, 'python')),
      row('the same in JavaScript, ms', (node) => first(node, 'javascript')),
      row('Python loop after that, relative to its steady state', (node) => loop(node, 'python')),
      row('the same in JavaScript', (node) => loop(node, 'javascript')),
      row('Python loop, steady state, ms', (node) => ms(node.calls.python.steady)),
      row('Python, metered relative to unmetered', (node) => times(node.metering)),
    ],
  );
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  if (process.argv[2] === 'numpy') {
    const nodes = binaries();
    for (const [i, outcome] of (numpyRuns(nodes) ?? []).entries())
      console.log(`${run(nodes[i], ['-v']).trim()}: ${outcome}`);
    process.exit();
  }
  if (process.argv[2] === 'measure') {
    const { meteredAndUnmetered } = await import('./metering.mjs');
    const best = Object.values(await meteredAndUnmetered(METERING));
    console.log(geomean(best.map(({ metered, unmetered }) => metered / unmetered)));
    process.exit();
  }
  console.log(await table());
}
