/**
 * Measures the cost of the fuel profile that every run records: the share of a run that is spent inside the profiler, and the
 * CPU time of the same programs with and without it, alternating in one process, which is more affected by noise.
 */
import { toFuelProfile } from '../../packages/core/dist/analysis/fuel-profile.js';
import { Guest } from '../../packages/core/dist/engine/guest.js';
import { readImage, resetToImage, writeImage } from '../../packages/core/dist/engine/image.js';
import { UNLIMITED_RUN } from '../../packages/core/dist/engine/run-context.js';
import { Volume } from '../../packages/core/dist/fs/volume.js';
import { OpenLayer } from '../../packages/core/dist/host/layer-pack.js';
import { formatFuel } from '../../packages/core/dist/quantities.js';
import {
  compileModule,
  findAssets,
  readImageBytes,
  readModule,
} from '../../packages/core/dist/runtimes/artifacts/guest-artifacts.js';
import { javascript } from '../../packages/core/dist/runtimes/javascript/index.js';
import { python } from '../../packages/core/dist/runtimes/python/index.js';
import { FuelProfiler } from '../../packages/core/dist/worker/thread/fuel-profiler.js';
import { ProgramStateSampler } from '../../packages/core/dist/worker/thread/program-state-sampler.js';
import { markdown, median } from './measure.mjs';
import { runInGuest } from './run-in-guest.mjs';

/** Programs with different stacks and variables. N is replaced by a number of repetitions. */
export const PROFILED_PROGRAMS = {
  python: {
    loop: `
total, seen = 0, {}
for i in range(N * 4000):
    total += i & 7
    seen[i & 255] = total`,
    recursion: `
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
for _ in range(N):
    fib(19)`,
    library: `
import json, textwrap
rows = [{'id': i, 'name': f'user {i}', 'tags': ['a', 'b']} for i in range(100)]
for _ in range(N):
    json.dumps(rows, indent=1)
    textwrap.fill('the quick brown fox ' * 20, 30)`,
  },
  javascript: {
    loop: `
let total = 0; const seen = {};
for (let i = 0; i < N * 3000; i++) { total += i & 7; seen[i & 255] = total; }`,
    recursion: `
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
for (let i = 0; i < N; i++) fib(17);`,
    library: `
const rows = Array.from({ length: 100 }, (_, i) => ({ id: i, name: 'user ' + i, tags: ['a', 'b'] }));
for (let i = 0; i < N; i++) rows.map((row) => JSON.parse(JSON.stringify(row))).sort((a, b) => b.id - a.id);`,
  },
};
export const withRepetitions = (code, count) => code.replaceAll(/\bN\b/g, String(count));

/** Repetitions in a program, and pairs of runs of it. The long runs come last, so that V8 has optimised the code by then. */
const LENGTHS = [
  { repetitions: 10, warmup: 6, pairs: 20 },
  { repetitions: 60, warmup: 0, pairs: 12 },
  { repetitions: 300, warmup: 0, pairs: 24 },
];
/** The highest share of the long runs that meets the target. */
const TARGET = 0.005;
/** The default limits. The budget is not enforced here, so that long programs end. */
const LIMITS = { fuel_budget: 10_000_000_000, timeout_seconds: 30 };

/** Returns a function that runs a program with or without the profile. */
function runner(runtime) {
  const assets = findAssets(runtime.name);
  const compiled = compileModule(assets, readModule(assets));
  const image = readImage(readImageBytes(assets), assets.origin);
  const { handles } = image.header;
  const volume = new Volume({ maxBytes: 1e8, maxFiles: 1e4 }, () => Date.now());
  for (const [i, layer] of assets.layers.entries()) volume.mount(layer.at, new OpenLayer(layer).tree(i + 1));
  const guest = new Guest(compiled, runtime.linkage, { pages: image.header.pages, maxPages: 8192 }, volume);
  writeImage(guest, image);
  return (code, isProfiled) => {
    resetToImage(guest, image);
    let insideMs = 0;
    const inside = (work) => {
      const started = performance.now();
      const value = work();
      insideMs += performance.now() - started;
      return value;
    };
    const cpuBefore = process.cpuUsage();
    const startedMs = performance.now();
    const profiler = isProfiled
      ? inside(
          () =>
            new FuelProfiler(
              new ProgramStateSampler(
                runtime.stackReader(guest, handles),
                { file: '/app/main', code },
                LIMITS,
                () => guest.memory.buffer.byteLength,
              ),
              false,
            ),
        )
      : undefined;
    guest.beginRun({
      ...UNLIMITED_RUN,
      onSlice: (fuel) => {
        inside(() => profiler?.sample(fuel));
        return 0;
      },
    });
    runInGuest(runtime, guest, handles, code);
    // Converts a profile as a run does: it is sent to the main thread and converted there.
    if (profiler !== undefined)
      inside(() => {
        const profile = structuredClone(profiler.finish(false));
        return profile && toFuelProfile(profile, code);
      });
    const wallMs = performance.now() - startedMs;
    const { user, system } = process.cpuUsage(cpuBefore);
    return { cpuMs: (user + system) / 1000, wallMs, insideMs, fuel: guest.fuelConsumed };
  };
}

function measure(run, code, warmup, pairs) {
  const on = [];
  const off = [];
  for (let i = -warmup; i < pairs; i++) {
    const pair = {};
    for (const isProfiled of i % 2 === 0 ? [true, false] : [false, true])
      pair[isProfiled] = run(code, isProfiled);
    if (i < 0) continue;
    on.push(pair[true]);
    off.push(pair[false]);
  }
  return { on, off };
}

const percent = (share, digits) => `${(share * 100).toFixed(digits)}%`;

/**
 * The mean of values and half the width of its 95% confidence interval, without the tenth of the values at either end,
 * which other processes distort.
 */
function meanOf(values) {
  const cut = Math.floor(values.length / 10);
  const kept = [...values].sort((a, b) => a - b).slice(cut, values.length - cut);
  const mean = kept.reduce((sum, value) => sum + value, 0) / kept.length;
  const variance = kept.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (kept.length - 1);
  return `${percent(mean, 2)} ± ${percent(1.96 * Math.sqrt(variance / kept.length), 2)}`;
}

export function table() {
  const rows = [];
  const allRatios = [];
  let inside = 0;
  let wall = 0;
  for (const runtime of [python, javascript]) {
    const run = runner(runtime);
    for (const [name, body] of Object.entries(PROFILED_PROGRAMS[runtime.name])) {
      const cells = [];
      for (const { repetitions, warmup, pairs } of LENGTHS) {
        const { on, off } = measure(run, withRepetitions(body, repetitions), warmup, pairs);
        // Medians, because a run that the operating system interrupts inside the profiler says nothing about it.
        // What is measured without the profile is the cost of reading the clock.
        const insideMs = Math.max(
          0,
          median(on.map((one) => one.insideMs)) - median(off.map((one) => one.insideMs)),
        );
        const wallMs = median(on.map((one) => one.wallMs));
        if (repetitions === LENGTHS.at(-1).repetitions) {
          allRatios.push(...on.map(({ cpuMs }, i) => cpuMs / off[i].cpuMs - 1));
          inside += insideMs;
          wall += wallMs;
        }
        cells.push(`${percent(insideMs / wallMs, 2)} of ${formatFuel(on[0].fuel)}`);
      }
      rows.push([runtime.name, name, ...cells]);
    }
  }
  const result = inside / wall <= TARGET ? 'met' : 'missed';
  return markdown(
    'Cost of the fuel profile',
    `The share of a run that is spent in the profiler, and the fuel of the run, with the default limits. Target: at most ${percent(TARGET, 1)} of the total time of the long runs.`,
    ['runtime', 'program', 'short run', 'medium run', 'long run'],
    rows,
    `The long runs together spend ${percent(inside / wall, 2)} of their time in the profiler, so the target is ${result}. Their CPU time is higher by ${meanOf(allRatios)} (95% confidence interval) than without the profile. The share is larger in short runs because the first samples and the creation of \`fuel_profile\` have a fixed cost. In runs that use more than 3.8B fuel, the profiler also reads the variables of the program.`,
  );
}
