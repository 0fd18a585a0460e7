/**
 * Fuel of the first `require` of the Node.js modules; and with `--baseline`, the time to the first result compared with another
 * build.
 */
import { createSandbox } from 'llm-wasm-sandbox';
import { formatFuel } from '../../packages/core/dist/quantities.js';
import { IMPLEMENTED } from '../../packages/core/dist/runtimes/javascript/guest/node-module-names.js';
import { baselineNote, loadBaseline } from './baseline.mjs';
import { markdown, median, ms, sampleInterleaved } from './measure.mjs';

const ROUNDS = 60;
const WARMUP = 10;
/** The most expensive modules are listed. */
const LISTED = 10;

async function fuelOf(code) {
  const sandbox = await createSandbox({ runtime: 'javascript' });
  const result = await sandbox.execute(code);
  await sandbox.close();
  if (!result.success) throw new Error(`${code}: ${result.stderr}`);
  return result.fuel_consumed;
}

/** The fuel of loading each module in a fresh guest, in descending order. */
async function modulesTable() {
  const idle = await fuelOf('require; 0');
  const costs = [];
  for (const name of IMPLEMENTED) costs.push([name, (await fuelOf(`require('node:${name}'); 0`)) - idle]);
  costs.sort(([, a], [, b]) => b - a);
  const [, most] = costs[LISTED];
  return markdown(
    'First require of the Node.js modules',
    `Fuel of the first \`require\` of a module in a fresh guest, including the modules that it loads. The ${costs.length - LISTED} modules that are not listed take at most ${formatFuel(most)}. \`console.log(1)\` takes ${formatFuel(await fuelOf('console.log(1)'))}.`,
    ['module', 'fuel'],
    costs.slice(0, LISTED).map(([name, fuel]) => [`\`${name}\``, formatFuel(Math.max(0, fuel))]),
  );
}

async function startTable(baseline) {
  const run = (create) => async () => {
    const sandbox = await create({ runtime: 'javascript' });
    const { stdout } = await sandbox.execute('console.log(1)');
    await sandbox.close();
    if (stdout !== '1\n') throw new Error(`unexpected output: ${stdout}`);
  };
  const samples = await sampleInterleaved(
    {
      'this build': { run: run(createSandbox) },
      baseline: { run: run(baseline.library.createSandbox) },
    },
    { warmup: WARMUP, rounds: ROUNDS },
  );
  return markdown(
    'Start of a JavaScript sandbox',
    `Median milliseconds of ${ROUNDS} fresh sandboxes that run \`console.log(1)\`. The builds alternate in one process.${baselineNote(baseline)}`,
    ['build', 'time', 'ratio'],
    Object.entries(samples).map(([build, times]) => [
      build,
      ms(median(times)),
      (median(times) / median(samples.baseline)).toFixed(2),
    ]),
  );
}

export async function table() {
  const baseline = await loadBaseline();
  return [await modulesTable(), ...(baseline ? [await startTable(baseline)] : [])].join('\n');
}

if (import.meta.url === `file://${process.argv[1]}`) {
  console.log(await table());
  process.exit();
}
