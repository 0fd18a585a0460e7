/**
 * The same measurements with several versions of Node.js from the npm registry. Fails if the fuel of a program differs. If
 * PIP_FIND_LINKS names a folder with the wheel of numpy, one of the programs uses numpy. As a script, `measure` measures the
 * Node.js that runs it, and `deterministic` prints what the programs in deterministic mode give. Needs Linux and bash.
 */
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installPinned } from '../../scripts/install-pinned-packages.mjs';
import { geomean, markdown, measuredEnv, median, ms, times } from './measure.mjs';
import { LOOPS } from './programs.mjs';
import { findWheel } from './wheels.mjs';

const VERSIONS = ['22.23.3', '24.21.0', '26.9.0'];
const ROUNDS = 7;
const METERING = { warmup: 1, rounds: 3 };
const root = fileURLToPath(new URL('..', import.meta.url));
const cli = join(root, 'packages/cli/dist/cli/main.js');
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
  import { createSandbox } from 'llm-wasm-sandbox';
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

/** Starts processes, and uses the clock and random numbers in them. */
const PROCESSES = {
  bash: `seq 2000 | sort -rn | awk '{ s += $1 } END { print s }'
echo $RANDOM $$ $(date +%s) $(head -c 4 /dev/urandom | od -An -tx1)
python3 -c 'import random, time; print(random.random(), time.time())'
node -e 'console.log(Math.random(), Date.now())'`,
  python: `import subprocess, time
for command in 'echo $RANDOM; ls -l | wc -l', 'node -p "Math.random()"', 'python3 -c "import time; print(time.time())"':
    print(subprocess.run(command, shell=True, capture_output=True, text=True).stdout)
print(time.time())`,
};

/** Prints the fuel, the output and the value of a program in deterministic mode. */
const deterministicRun = (code, options) => `
  import { createSandbox } from 'llm-wasm-sandbox';
  const policy = { deterministic: true, timeout_seconds: 300 };
  const sandbox = await createSandbox({ ...${JSON.stringify(options)}, policy });
  const { fuel_consumed, metadata, stdout, stderr } = await sandbox.execute(${JSON.stringify(code)});
  if (stderr !== '') throw new Error(stderr);
  console.log(fuel_consumed + ', ' + (stdout === '' ? 'value ' + metadata.result : JSON.stringify(stdout)));
  process.exit();`;

/** What the programs above give with each of these versions of Node.js: that with numpy only if there is a wheel. */
function deterministicRuns(nodes) {
  const wheel = findWheel('numpy');
  const programs = {
    ...(wheel !== undefined && { numpy: deterministicRun(NUMPY, { runtime: 'python', packages: [wheel] }) }),
    'processes of a shell program': deterministicRun(PROCESSES.bash, { runtime: 'bash' }),
    'processes of a Python program': deterministicRun(PROCESSES.python, { runtime: 'python' }),
  };
  const runs = Object.entries(programs).map(([name, code]) => [
    name,
    nodes.map((path) => run(path, ['--input-type=module', '-e', code]).trim()),
  ]);
  for (const [name, outcomes] of runs)
    if (new Set(outcomes).size > 1)
      throw new Error(`${name}: different fuel or results: ${[...new Set(outcomes)].join('; ')}`);
  return Object.fromEntries(runs.map(([name, [outcome]]) => [name, outcome]));
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
  const deterministic = Object.entries(deterministicRuns(nodes.map(({ path }) => path)));
  const fuels = new Set(nodes.map(({ calls }) => `${calls.python.fuel} and ${calls.javascript.fuel}`));
  if (fuels.size > 1)
    throw new Error(`the versions of Node.js used different fuel: ${[...fuels].join('; ')}`);
  const ratio = (node, name) => times(median(node.commands[name]) / median(node.commands.empty));
  const first = (node, runtime) => ms(node.calls[runtime].first);
  const loop = (node, runtime) => times(node.calls[runtime].loop / node.calls[runtime].steady);
  const row = (title, cell) => [title, ...nodes.map(cell)];
  return markdown(
    'Versions of Node.js',
    `The first three rows are medians of ${ROUNDS} interleaved runs. The other rows come from one process per version. The last row is the geometric mean over the programs of the benchmark \`metering\`, fastest of ${METERING.rounds} rounds. The loops have 1,000,000 iterations. Their fuel was the same with every version: ${[...fuels][0]}. So were fuel and results of programs in deterministic mode: ${deterministic.map(([name, outcome]) => `${name} ${outcome.split(',')[0]}`).join(', ')}.`,
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
  if (process.argv[2] === 'deterministic') {
    const nodes = binaries();
    console.log(nodes.map((path) => run(path, ['-v']).trim()).join(', '), deterministicRuns(nodes));
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
