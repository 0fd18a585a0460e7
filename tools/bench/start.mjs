/**
 * Time to the first result: a fresh sandbox compared with a fresh Pyodide and a fresh quickjs-wasi, and the start of a
 * process (cold-start.mjs). Also throughput with all cores busy, and the memory of an idle guest.
 */
import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';
import { createSandbox } from 'llm-wasm-sandbox';
import { formatBytes } from '../../packages/core/dist/quantities.js';
import { coldStartTables } from './cold-start.mjs';
import { elapsedMs, markdown, median, ms, sampleInterleaved, times } from './measure.mjs';
import { fetchPeer, loadQuickJsWasi } from './peer-packages.mjs';

const ROUNDS = 60;
const WARMUP = 10;
const PYODIDE_ROUNDS = 3;

async function fresh(runtime, code) {
  const sandbox = await createSandbox({ runtime });
  const result = await sandbox.execute(code);
  await sandbox.close();
  if (result.stdout !== '1\n') throw new Error(`unexpected result: ${JSON.stringify(result)}`);
}

async function freshPyodide() {
  const { loadPyodide } = await import('pyodide');
  const pyodide = await loadPyodide({ stdout: () => {} });
  pyodide.runPython('print(1)');
}

async function freshQuickJs(QuickJS, module) {
  const vm = await QuickJS.create({ wasm: module });
  vm.evalCode('1');
  vm.dispose();
}

/** Median milliseconds of each alternative. */
async function startTimes() {
  const { QuickJS, wasm } = await loadQuickJsWasi(fetchPeer('quickjs-wasi'));
  const quickjs = await WebAssembly.compile(wasm);
  const python = await createSandbox({ runtime: 'python' });
  const javascript = await createSandbox({ runtime: 'javascript' });
  const alternatives = {
    python: { run: () => fresh('python', 'print(1)') },
    pythonAgain: { run: () => python.execute('print(1)') },
    javascript: { run: () => fresh('javascript', 'console.log(1)') },
    javascriptAgain: { run: () => javascript.execute('console.log(1)') },
    quickjs: { run: () => freshQuickJs(QuickJS, quickjs) },
  };
  const samples = await sampleInterleaved(alternatives, { warmup: WARMUP, rounds: ROUNDS });
  samples.pyodide = [];
  for (let round = 0; round < PYODIDE_ROUNDS; round++) samples.pyodide.push(await elapsedMs(freshPyodide));
  await Promise.all([python.close(), javascript.close()]);
  return Object.fromEntries(Object.entries(samples).map(([name, values]) => [name, median(values)]));
}

/** Calls per second with twice as many sandboxes as cores. */
async function throughput(runtime, code) {
  const count = availableParallelism() * 2;
  const sandboxes = await Promise.all(Array.from({ length: count }, () => createSandbox({ runtime })));
  await Promise.all(sandboxes.map((sandbox) => sandbox.execute(code)));
  const calls = 100;
  const took = await elapsedMs(() =>
    Promise.all(
      sandboxes.map(async (sandbox) => {
        for (let i = 0; i < calls; i++) await sandbox.execute(code);
      }),
    ),
  );
  await Promise.all(sandboxes.map((sandbox) => sandbox.close()));
  return (count * calls * 1000) / took;
}

/** Runs a script in a process of its own; it prints the resident memory of one idle instance. */
function memoryOf(script) {
  const { stdout, stderr } = spawnSync(
    process.execPath,
    ['--expose-gc', '--input-type=module', '-e', script],
    {
      encoding: 'utf8',
      cwd: fileURLToPath(new URL('..', import.meta.url)),
    },
  );
  if (stdout === '') throw new Error(stderr);
  return Number(stdout);
}

const SANDBOX_MEMORY = (runtime) => `
  import { createSandbox } from 'llm-wasm-sandbox';
  const make = async () => { const s = await createSandbox({ runtime: '${runtime}' }); await s.execute('1'); return s; };
  const sandboxes = [await make(), await make()];
  gc(); const before = process.memoryUsage().rss;
  for (let i = 0; i < 50; i++) sandboxes.push(await make());
  gc(); console.log((process.memoryUsage().rss - before) / 50); process.exit();`;

const GUEST_MEMORY = (runtime) => `
  import { Guest } from './packages/core/dist/engine/guest.js';
  import { writeImage, readImage } from './packages/core/dist/engine/image.js';
  import { Volume } from './packages/core/dist/fs/volume.js';
  import { compileModule, findAssets, readImageBytes, readModule } from './packages/core/dist/runtimes/artifacts/guest-artifacts.js';
  import { RUNTIMES } from './packages/core/dist/runtimes/registry/runtime-registry.js';
  const assets = findAssets('${runtime}');
  const compiled = compileModule(assets, readModule(assets));
  const image = readImage(readImageBytes(assets), assets.origin);
  const volume = new Volume({ maxBytes: 0, maxFiles: 0 }, () => 0);
  const make = () => {
    const guest = new Guest(compiled, RUNTIMES['${runtime}'].linkage, { pages: image.header.pages, maxPages: 4096 }, volume);
    writeImage(guest, image);
    return guest;
  };
  const guests = [make()];
  gc(); const before = process.memoryUsage().rss;
  for (let i = 0; i < 20; i++) guests.push(make());
  gc(); console.log((process.memoryUsage().rss - before) / 20); process.exit();`;

export async function table() {
  const start = await startTimes();
  const startRows = [
    [
      'Python: new sandbox and `print(1)`',
      ms(start.python),
      `${times(start.pyodide / start.python)} faster than Pyodide`,
    ],
    [
      'Python: existing sandbox, fresh interpreter',
      ms(start.pythonAgain),
      `${times(start.pyodide / start.pythonAgain)} faster than Pyodide`,
    ],
    ['Pyodide: `loadPyodide()` and `print(1)`', ms(start.pyodide), ''],
    [
      'JavaScript: new sandbox and `console.log(1)`',
      ms(start.javascript),
      `${times(start.javascript / start.quickjs)} the time of quickjs-wasi`,
    ],
    [
      'JavaScript: existing sandbox, fresh interpreter',
      ms(start.javascriptAgain),
      `${times(start.javascriptAgain / start.quickjs)} the time of quickjs-wasi`,
    ],
    ['quickjs-wasi: new VM and `1`, in the main thread, unmetered', ms(start.quickjs), ''],
  ];
  const rates = [];
  for (const [runtime, code] of [
    ['python', 'print(1)'],
    ['javascript', 'console.log(1)'],
  ]) {
    const rate = await throughput(runtime, code);
    const memory = [GUEST_MEMORY(runtime), SANDBOX_MEMORY(runtime)].map(memoryOf).map(formatBytes);
    rates.push([runtime, rate.toFixed(0), ...memory]);
  }
  return [
    markdown(
      'Time to the first result',
      `Median milliseconds of ${ROUNDS} interleaved rounds (Pyodide: ${PYODIDE_ROUNDS}). Target: a new Python sandbox is at least ×100 faster than Pyodide.`,
      ['case', 'ms', 'ratio'],
      startRows,
    ),
    ...coldStartTables(),
    markdown(
      'Throughput and memory',
      'Calls per second with all cores busy, each call in a fresh interpreter. The last two columns are the resident memory that each further instance of the image and each further idle sandbox adds.',
      ['runtime', 'calls/s', 'instance', 'idle sandbox'],
      rates,
    ),
  ].join('\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(await table());
