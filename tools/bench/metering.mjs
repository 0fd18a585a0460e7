/**
 * Measures the cost of metering: runs the same Python programs in the metered module, in the same module without fuel
 * code (alternating, in one process), in Pyodide and in the python3 of the machine.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Guest } from '../../packages/core/dist/engine/guest.js';
import { readImage, resetToImage, writeImage } from '../../packages/core/dist/engine/image.js';
import { UNLIMITED_RUN } from '../../packages/core/dist/engine/run-context.js';
import { Volume } from '../../packages/core/dist/fs/volume.js';
import { OpenLayer } from '../../packages/core/dist/host/layer-pack.js';
import {
  compileModule,
  findAssets,
  readImageBytes,
  readModule,
} from '../../packages/core/dist/runtimes/artifacts/guest-artifacts.js';
import { build as pythonBuild } from '../../packages/core/dist/runtimes/python/build/index.js';
import { python } from '../../packages/core/dist/runtimes/python/index.js';
import { prepareModule } from '../../packages/core/dist/wasm/prepare-module.js';
import { geomean, markdown, ms, times } from './measure.mjs';
import { PYTHON_PROGRAMS } from './programs.mjs';
import { runInGuest } from './run-in-guest.mjs';

/** Rounds over all programs. In each round a program runs REPEATS times, and its fastest run counts. */
const ROUNDS = { warmup: 2, rounds: 6 };
const REPEATS = 4;
/** The highest geometric means that meet the targets. */
const TARGETS = { node20: 1.1, unmetered: 1.15, native: 1.5 };

/** Wraps a program so that the interpreter itself times it. After the first repeat, its imports are loaded. */
const harness = (code) => `
import time
def measure(source):
    compiled = compile(source, 'program', 'exec')
    best = 1e9
    for _ in range(${REPEATS}):
        started = time.perf_counter()
        exec(compiled, {'__name__': '__main__'})
        best = min(best, (time.perf_counter() - started) * 1000)
    return best
measure(${JSON.stringify(code)})
`;

/** Returns a function that runs a program in a guest of the given module, which is reset to the image first. */
function runner(module, compiled, assets, image) {
  const volume = new Volume({ maxBytes: 1e8, maxFiles: 1e4 }, () => Date.now());
  for (const [i, layer] of assets.layers.entries()) volume.mount(layer.at, new OpenLayer(layer).tree(i + 1));
  const guest = new Guest(
    { ...compiled, module },
    python.linkage,
    { pages: image.header.pages, maxPages: 8192 },
    volume,
  );
  writeImage(guest, image);
  return (code) => {
    const isGrown = guest.memory.buffer.byteLength !== image.header.pages * 65_536;
    if (isGrown) throw new Error('a benchmark program grew the memory; make the program smaller');
    resetToImage(guest, image);
    guest.beginRun(UNLIMITED_RUN);
    return runInGuest(python, guest, image.header.handles, harness(code)).result;
  };
}

/** Runs the programs in python3. */
function native() {
  const script = `
import json, sys
def run(text):
    *body, last = text.rstrip().split('\\n')
    scope = {}
    exec('\\n'.join(body), scope)
    return eval(last, scope)
best = {name: min(run(text) for _ in range(${ROUNDS.rounds})) for name, text in json.load(sys.stdin).items()}
print(json.dumps([sys.version.split()[0], best]))`;
  const input = JSON.stringify(
    Object.fromEntries(Object.entries(PYTHON_PROGRAMS).map(([name, code]) => [name, harness(code)])),
  );
  return JSON.parse(execFileSync('python3', ['-c', script], { input }));
}

/** Runs the programs in unmodified Pyodide, in a separate process. */
function pyodide() {
  const texts = Object.fromEntries(
    Object.entries(PYTHON_PROGRAMS).map(([name, code]) => [name, harness(code)]),
  );
  const script = `
    import { loadPyodide } from 'pyodide';
    const pyodide = await loadPyodide();
    const best = {};
    for (let round = -${ROUNDS.warmup}; round < ${ROUNDS.rounds}; round++) {
      for (const [name, text] of Object.entries(${JSON.stringify(texts)})) {
        const took = pyodide.runPython(text);
        if (round >= 0) best[name] = Math.min(best[name] ?? Infinity, took);
      }
    }
    console.log(JSON.stringify(best));`;
  return JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '-e', script], {
      encoding: 'utf8',
      cwd: new URL('..', import.meta.url),
    }),
  );
}

/** The fastest milliseconds of each program in the metered and in the unmetered module, which alternate. */
export async function meteredAndUnmetered({ warmup, rounds }) {
  const assets = findAssets('python');
  const compiled = compileModule(assets, readModule(assets));
  const image = readImage(readImageBytes(assets), assets.origin);
  const original = readFileSync(createRequire(import.meta.url).resolve(pythonBuild.binary.specifier));
  const unmetered = await WebAssembly.compile(
    prepareModule(original, { ...pythonBuild.prepare, meter: false }).bytes,
  );
  const runners = {
    metered: runner(compiled.module, compiled, assets, image),
    unmetered: runner(unmetered, compiled, assets, image),
  };
  const best = Object.fromEntries(
    Object.keys(PYTHON_PROGRAMS).map((name) => [name, { metered: Infinity, unmetered: Infinity }]),
  );
  for (let round = -warmup; round < rounds; round++) {
    for (const [name, code] of Object.entries(PYTHON_PROGRAMS)) {
      for (const kind of ['metered', 'unmetered']) {
        const took = runners[kind](code);
        if (round >= 0) best[name][kind] = Math.min(best[name][kind], took);
      }
    }
  }
  return best;
}

export async function table() {
  const best = await meteredAndUnmetered(ROUNDS);
  const [version, nativeMs] = native();
  const pyodideMs = pyodide();
  const rows = Object.entries(best).map(([name, row]) => ({
    name,
    ...row,
    native: nativeMs[name],
    pyodide: pyodideMs[name],
  }));
  const mean = (kind, base) => geomean(rows.map((row) => row[kind] / row[base]));
  const means = { unmetered: mean('metered', 'unmetered'), native: mean('metered', 'native') };
  const limit = process.versions.node.startsWith('20.') ? TARGETS.node20 : TARGETS.unmetered;
  const verdict = (value, target) => (value <= target ? 'met' : 'missed');
  const cells = rows.map((row) => [
    row.name,
    ...[row.native, row.pyodide, row.unmetered, row.metered].map(ms),
    ...[row.unmetered, row.pyodide, row.native].map((base) => times(row.metered / base)),
  ]);
  const note = `Milliseconds of the fastest of ${ROUNDS.rounds} rounds after ${ROUNDS.warmup} warm-up rounds. Metered and unmetered runs alternate in one process. Targets for the geometric means: relative to unmetered, at most ${times(TARGETS.node20)} with Node.js 20 and ${times(TARGETS.unmetered)} with later versions; relative to python3, at most ${times(TARGETS.native)}.`;
  const conclusion = `The target relative to unmetered is ${verdict(means.unmetered, limit)}. The target relative to python3 is ${verdict(means.native, TARGETS.native)}. Unmetered CPython in WebAssembly takes ${mean('unmetered', 'native').toFixed(2)} times as long as python3. See [Missed targets](../../docs/BENCHMARKS.md#missed-targets).`;
  const head = [
    'program',
    `python3 ${version}`,
    'Pyodide',
    'unmetered',
    'metered',
    '/ unmetered',
    '/ Pyodide',
    '/ python3',
  ];
  const last = [
    '**geometric mean**',
    '',
    '',
    '',
    '',
    ...[means.unmetered, mean('metered', 'pyodide'), means.native].map((value) => `**${times(value)}**`),
  ];
  return markdown('Cost of metering', note, head, [...cells, last], conclusion);
}

if (process.argv[1] === new URL(import.meta.url).pathname) console.log(await table());
