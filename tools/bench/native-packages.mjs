/**
 * numpy, pandas and matplotlib from the wheels in the folder that PIP_FIND_LINKS names, compared with plain Python: starting and
 * resetting guests, imports, sessions; and numpy in the sandbox compared with native numpy, if python3 has it.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { mainSymbols } from '../../packages/core/dist/engine/compile-side-module.js';
import { resetToImage } from '../../packages/core/dist/engine/image.js';
import { UNLIMITED_RUN } from '../../packages/core/dist/engine/run-context.js';
import { createSandbox, diskStore } from '../../packages/core/dist/index.js';
import { readPackageSet } from '../../packages/core/dist/packages/package-set.js';
import { formatBytes, formatFuel } from '../../packages/core/dist/quantities.js';
import { build as pythonBuild } from '../../packages/core/dist/runtimes/python/build/index.js';
import { python } from '../../packages/core/dist/runtimes/python/index.js';
import { prepareModule } from '../../packages/core/dist/wasm/prepare-module.js';
import { prepareSideModule } from '../../packages/core/dist/wasm/prepare-side-module.js';
import { sharedPool } from '../../packages/core/dist/worker/pool/pool.js';
import { unpackInThread } from '../../packages/core/dist/worker/pool/unpack-in-thread.js';
import { instantiateGuest } from '../../packages/core/dist/worker/thread/guest-from-image.js';
import { createVolume } from '../../packages/core/dist/worker/thread/guest-volume.js';
import { compiledLibraries, loadImage } from '../../packages/core/dist/worker/thread/load-image.js';
import { elapsedMs, geomean, markdown, median, ms, sampleInterleaved, times } from './measure.mjs';
import { runInGuest } from './run-in-guest.mjs';
import { wheel } from './wheels.mjs';

const ROUNDS = 7;
const WARMUP = 2;
const POLICY = { fuel_budget: 1e12, timeout_seconds: 600, memory_bytes: 2 ** 29 };
/** The sets of packages: wheels, the module that programs import, and a short program. */
const SETS = {
  plain: { wheels: [], code: 'x = sum(range(1000))' },
  numpy: { wheels: ['numpy'], module: 'numpy', code: 'import numpy as np; x = int(np.arange(1000).sum())' },
  pandas: {
    wheels: ['numpy', 'pandas'],
    module: 'pandas',
    code: "import pandas as pd; x = pd.DataFrame({'a': [1, 2, 1]}).groupby('a').size().to_dict()",
  },
  matplotlib: {
    wheels: ['numpy', 'matplotlib', 'contourpy', 'kiwisolver', 'fonttools', 'pillow'],
    module: 'matplotlib.pyplot',
    code: 'import matplotlib.pyplot as plt; plt.plot([1, 4, 9]); plt.show()',
  },
};
const OPERATIONS = {
  'sin of 10⁶ numbers': 'np.sin(a)',
  'sum of products of 10⁶ numbers': '(a * a + a).sum()',
  'sort 10⁶ numbers': 'np.sort(b)',
  'FFT of 2¹⁸ numbers': 'np.fft.fft(a[:2**18])',
  'product of 300 × 300 matrices': 'm @ m',
  'inverse of a 300 × 300 matrix': 'np.linalg.inv(m)',
};
const SETUP =
  'import numpy as np, time\nr = np.random.default_rng(1)\na = r.random(10**6); b = r.permutation(10**6); m = r.random((300, 300))';
/** Sets `fastest` to the milliseconds of the fastest of seven runs after one that is not measured. */
const timing = (expression) => `
${expression}
times = []
for _ in range(7):
    t = time.perf_counter(); ${expression}; times.append(time.perf_counter() - t)
fastest = min(times) * 1000`;
/** A guest has one thread, and threads of OpenBLAS that wait for a busy core take many times as long as one thread. */
const ONE_THREAD = { ...process.env, OPENBLAS_NUM_THREADS: '1', OMP_NUM_THREADS: '1' };

function nativeTime(expression) {
  const code = `${SETUP}${timing(expression)}\nprint(fastest)`;
  return Number(spawnSync('python3', ['-c', code], { encoding: 'utf8', env: ONE_THREAD }).stdout);
}

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');

async function run(sandbox, code) {
  const result = await sandbox.execute(code);
  if (!result.success) throw new Error(result.stderr);
  return result;
}

const options = (name, preload) => ({
  runtime: 'python',
  policy: POLICY,
  packages: SETS[name].wheels.map(wheel),
  preload: preload && SETS[name].module !== undefined ? [SETS[name].module] : [],
});

/** Fuel of the first import without and with `preload`. */
async function imports(name) {
  const { module } = SETS[name];
  if (module === undefined) return ['', ''];
  const cells = [];
  for (const preload of [false, true]) {
    const sandbox = await createSandbox(options(name, preload));
    const { fuel_consumed: idle } = await run(sandbox, 'import sys');
    const { fuel_consumed, duration_ms } = await run(sandbox, `import ${module}`);
    cells.push(`${formatFuel(Math.max(0, fuel_consumed - idle))}, ${ms(duration_ms)} ms`);
    await sandbox.close();
  }
  return cells;
}

async function states(name) {
  const dir = mkdtempSync(join(tmpdir(), 'bench-native-'));
  try {
    const store = diskStore(dir);
    const open = () => createSandbox({ ...options(name, true), session_id: 'one', store });
    let session = await open();
    await run(session, SETS[name].code);
    await session.flush();
    const bytes = await store.size('one');
    await session.close();
    const resumed = [];
    for (let round = 0; round < 5; round++) {
      resumed.push(
        await elapsedMs(async () => {
          session = await open();
          await run(session, '1');
        }),
      );
      await session.close();
    }
    return [formatBytes(bytes), ms(median(resumed))];
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

async function costs() {
  const names = Object.keys(SETS);
  const kept = {};
  let created;
  for (const name of names) kept[name] = await createSandbox(options(name, true));
  const alternatives = Object.fromEntries(
    names.flatMap((name) => [
      [
        `${name} create`,
        {
          before: () => created?.close(),
          run: async () => {
            created = await createSandbox(options(name, true));
          },
        },
      ],
      [`${name} first`, { run: () => run(created, '1') }],
      [`${name} reset`, { before: () => run(kept[name], SETS[name].code), run: () => run(kept[name], '1') }],
    ]),
  );
  const samples = await sampleInterleaved(alternatives, { warmup: WARMUP, rounds: ROUNDS });
  await created.close();
  const at = (key) => median(samples[key]);
  const rows = [];
  for (const name of names) {
    const program = await run(kept[name], SETS[name].code);
    rows.push([
      name,
      ms(at(`${name} create`)),
      `${ms(at(`${name} first`))} (${times(at(`${name} first`) / at('plain first'))})`,
      `${ms(at(`${name} reset`))} (${times(at(`${name} reset`) / at('plain reset'))})`,
      ...(await imports(name)),
      formatFuel(program.fuel_consumed),
      ...(await states(name)),
    ]);
    await kept[name].close();
  }
  return rows;
}

/** A new sandbox that imports a module, when the image with the module exists, and its ratio to a new sandbox that imports none. */
async function warm() {
  const fresh = (name, preload) => async () => {
    const sandbox = await createSandbox(options(name, preload));
    await run(sandbox, SETS[name].module === undefined ? '1' : `import ${SETS[name].module}`);
    await sandbox.close();
  };
  const names = Object.keys(SETS);
  const samples = await sampleInterleaved(
    Object.fromEntries(names.map((name) => [name, { before: collectGarbage, run: fresh(name, true) }])),
    { warmup: WARMUP, rounds: ROUNDS },
  );
  const plain = median(samples.plain);
  const rows = [];
  for (const name of names) {
    const took = median(samples[name]);
    const cold = SETS[name].module === undefined ? undefined : await elapsedMs(fresh(name, false));
    rows.push([
      SETS[name].module === undefined ? 'plain Python' : `\`import ${SETS[name].module}\``,
      ms(took),
      times(took / plain),
      cold === undefined ? '' : `${ms(cold)} (${times(cold / plain)})`,
    ]);
  }
  return rows;
}

async function operations() {
  const sandbox = await createSandbox({ ...options('numpy', true), auto_persist_globals: true });
  await run(sandbox, SETUP);
  const hasNative = spawnSync('python3', ['-c', 'import numpy']).status === 0;
  const ratios = [];
  const rows = [];
  for (const [label, expression] of Object.entries(OPERATIONS)) {
    const guest = Number((await run(sandbox, `${timing(expression)}\nprint(fastest)`)).stdout);
    const native = hasNative ? nativeTime(expression) : undefined;
    if (native !== undefined) ratios.push(guest / native);
    rows.push([
      label,
      ms(guest),
      native === undefined ? '' : ms(native),
      native === undefined ? '' : times(guest / native),
    ]);
  }
  await sandbox.close();
  if (ratios.length > 0) rows.push(['geometric mean', '', '', times(geomean(ratios))]);
  return rows;
}

// ---- guests without threads and calls ----

const MAX_PAGES = 8192;
const JOB = {
  limits: { workspace_max_bytes: 1e8, workspace_max_files: 1e4 },
  mountSet: { id: '', mounts: [] },
};

/** The image with the module of a set preloaded, and the packages. */
async function load(name) {
  const { packages: sources, preload } = options(name, true);
  const packages = sources.length === 0 ? undefined : await readPackageSet(sources, unpackInThread);
  const build = { tenant: 'bench', limits: POLICY, signal: undefined };
  const extension = packages && { preload, packages };
  return { packages, image: loadImage(await sharedPool().images.extended('python', extension, build), []) };
}

function runIn(guest, { layers, image }, code) {
  guest.beginRun(UNLIMITED_RUN);
  guest.kernel.volume = createVolume(layers, JOB, () => guest.now());
  return runInGuest(python, guest, image.header.handles, code).result;
}

/** Creating a guest from the image and resetting it after a program, without threads. */
async function guests() {
  const names = Object.keys(SETS);
  const loaded = {};
  const used = {};
  for (const name of names) {
    loaded[name] = (await load(name)).image;
    used[name] = instantiateGuest(loaded[name], MAX_PAGES);
  }
  const bytesOf = (name) => loaded[name].image.segments.reduce((sum, { bytes }) => sum + bytes.length, 0);
  const samples = await sampleInterleaved(
    Object.fromEntries(
      names.flatMap((name) => [
        [`${name} create`, { before: collectGarbage, run: () => instantiateGuest(loaded[name], MAX_PAGES) }],
        [
          `${name} reset`,
          {
            before: () => runIn(used[name], loaded[name], 'x = sum(range(1000))'),
            run: () => resetToImage(used[name], loaded[name].image),
          },
        ],
      ]),
    ),
    { warmup: WARMUP, rounds: ROUNDS },
  );
  const cell = (name, kind) => {
    const took = median(samples[`${name} ${kind}`]);
    return `${ms(took)} (${times(took / median(samples[`plain ${kind}`]))})`;
  };
  return names.map((name) => [name, formatBytes(bytesOf(name)), cell(name, 'create'), cell(name, 'reset')]);
}

/** The operations in metered guests and in guests without fuel code, which alternate. */
async function metering() {
  const { packages, image: metered } = await load('numpy');
  const original = readFileSync(createRequire(import.meta.url).resolve(pythonBuild.binary.specifier));
  const main = prepareModule(original, { ...pythonBuild.prepare, meter: false }).bytes;
  const mainFunctions = new Set(mainSymbols(metered.compiled.module).functions.keys());
  const libraries = (await packages.load()).libraries.map(({ sha256, bytes }) => ({
    sha256,
    prepared: prepareSideModule(bytes, { mainFunctions, meter: false }),
  }));
  const unmetered = {
    ...metered,
    compiled: { ...metered.compiled, module: await WebAssembly.compile(main) },
    findSideModule: compiledLibraries(libraries),
  };
  const rows = [];
  const ratios = [];
  for (const [label, expression] of Object.entries(OPERATIONS)) {
    const best = { metered: Infinity, unmetered: Infinity };
    for (let round = 0; round < 4; round++) {
      for (const [kind, image] of Object.entries({ metered, unmetered })) {
        const guest = instantiateGuest(image, MAX_PAGES);
        best[kind] = Math.min(best[kind], runIn(guest, image, `${SETUP}${timing(expression)}\nfastest`));
      }
    }
    ratios.push(best.metered / best.unmetered);
    rows.push([label, ms(best.unmetered), ms(best.metered), times(best.metered / best.unmetered)]);
  }
  return [...rows, ['geometric mean', '', '', times(geomean(ratios))]];
}

export async function table() {
  return [
    markdown(
      'Native packages',
      `Median milliseconds of ${ROUNDS} interleaved rounds with the module preloaded, and their ratio to plain Python. \`createSandbox\` receives the wheels as files, which each process unpacks and checks once. "First call" runs \`1\` in a new sandbox. "Reset" runs \`1\` in a sandbox that has just run a program with the package. "Program" is the fuel of this program. "Resume" opens the stored session of this program and runs \`1\`. The wheels are test builds, not official wheels.`,
      [
        'packages',
        'createSandbox',
        'first call',
        'reset',
        'first import',
        'preloaded import',
        'program',
        'session on disk',
        'resume, ms',
      ],
      await costs(),
    ),
    markdown(
      'Warm images',
      `Median milliseconds of ${ROUNDS} interleaved rounds: a new sandbox is created, runs the import and is closed, in a process that has used the image before. The image contains the module (\`preload\`, or \`packages: 'auto'\`). "Not preloaded" is one run with the packages, but without the module in the image. Target: at most ×3 the time of plain Python, which runs \`1\`.`,
      ['program', 'ms', '/ plain', 'not preloaded'],
      await warm(),
    ),
    markdown(
      'Guests with native packages',
      `Median milliseconds of ${ROUNDS} interleaved rounds in one thread, and their ratio to plain Python. A new guest is instantiated from the image with the module preloaded. A reset restores a guest in place after a short program; its time grows with the size of the image. Targets: with numpy, a new guest takes at most ×3 the time of a plain guest, and a reset takes no longer than the reset of a plain guest.`,
      ['packages', 'image', 'new guest', 'reset'],
      await guests(),
    ),
    markdown(
      'Cost of metering in numpy',
      'Milliseconds of the fastest of 28 runs in four guests. Metered and unmetered guests alternate in one process.',
      ['operation', 'unmetered', 'metered', '/ unmetered'],
      await metering(),
    ),
    markdown(
      'numpy compared with native numpy',
      'Milliseconds of the fastest of seven runs, after a run that is not measured. Native numpy uses SIMD instructions and OpenBLAS with one thread.',
      ['operation', 'sandbox', 'native', 'ratio'],
      await operations(),
    ),
  ].join('\n');
}

if (import.meta.url === `file://${process.argv[1]}`) {
  console.log(await table());
  process.exit();
}
