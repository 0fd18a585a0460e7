/**
 * The JavaScript engine that programs/build/ builds, compared with the binary of the package quickjs-wasi, which has the same
 * release of QuickJS. Both are metered and run the same programs in one process, alternating.
 */
import { bareEngine, quickJsBinary } from '../../scripts/bare-quickjs.mjs';
import { geomean, markdown, ms, times } from './measure.mjs';
import { fetchPeer, loadQuickJsWasi, peerTitle } from './peer-packages.mjs';
import { JAVASCRIPT_PROGRAMS } from './programs.mjs';

const ROUNDS = 8;
/** The lowest geometric mean of the speeds that meets the target. */
const TARGET = 2;

/** Processor time is not affected by other processes as much as elapsed time is. */
function measure(engine, code) {
  const fuel = engine.fuel();
  const started = process.cpuUsage();
  const { value, text } = engine.evaluate(`(() => {${code}})()`);
  const { user, system } = process.cpuUsage(started);
  if (value === undefined) throw new Error(`a benchmark program failed: ${text}`);
  return { value, cpuMs: (user + system) / 1000, fuel: engine.fuel() - fuel };
}

/** The fastest run of each program in each engine. */
function fastest(engines) {
  const names = Object.keys(JAVASCRIPT_PROGRAMS);
  const best = Object.fromEntries(names.map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; round++)
    for (const name of names) {
      const runs = engines.map((engine) => measure(engine, JAVASCRIPT_PROGRAMS[name]));
      if (runs[0].value !== runs[1].value) throw new Error(`the engines disagree about ${name}`);
      runs.forEach((run, i) => {
        if (!(best[name][i]?.cpuMs <= run.cpuMs)) best[name][i] = run;
      });
    }
  return best;
}

export async function table() {
  const { wasm } = await loadQuickJsWasi(fetchPeer('quickjs-wasi'));
  const best = fastest([wasm, quickJsBinary()].map((binary) => bareEngine(binary, { meter: true })));
  const speeds = Object.values(best).map(([old, own]) => old.cpuMs / own.cpuMs);
  const fuels = Object.values(best).map(([old, own]) => own.fuel / old.fuel);
  const rows = Object.entries(best).map(([name, [old, own]], i) => [
    name,
    ms(old.cpuMs),
    ms(own.cpuMs),
    times(speeds[i]),
    times(fuels[i]),
  ]);
  const mean = geomean(speeds);
  rows.push(['geometric mean', '', '', times(mean), times(geomean(fuels))]);
  return markdown(
    'JavaScript engine',
    `Milliseconds of processor time of the fastest of ${ROUNDS} runs, and fuel. Both binaries have QuickJS 0.17.0 and are metered.`,
    ['program', peerTitle('quickjs-wasi'), 'own build', 'speed', 'fuel'],
    rows,
    `Target: ${times(TARGET)} in the geometric mean: ${mean >= TARGET ? 'met' : 'missed'}.`,
  );
}
