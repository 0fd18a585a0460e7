/**
 * Fuel of the first `require` of each Node.js module, the size of the JavaScript guest, and the time to the first result
 * compared with the build that `--baseline` names.
 */
import { readdirSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { createSandbox } from '../dist/index.js';
import { formatBytes, formatFuel } from '../dist/quantities.js';
import { IMPLEMENTED } from '../dist/runtimes/javascript/guest/node-module-names.js';
import { baselineNote, loadBaseline } from './baseline.mjs';
import { markdown, median, ms, sampleInterleaved } from './measure.mjs';

const ROUNDS = 60;
const WARMUP = 10;
const GUEST = fileURLToPath(new URL('../dist/guests/javascript/', import.meta.url));

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
  return markdown(
    'First require of the Node.js modules',
    `Fuel of the first \`require\` in a fresh guest, including the modules that it loads. \`console.log(1)\` takes ${formatFuel(await fuelOf('console.log(1)'))}.`,
    ['module', 'fuel'],
    costs.map(([name, fuel]) => [`\`${name}\``, formatFuel(Math.max(0, fuel))]),
  );
}

const files = readdirSync(GUEST, { recursive: true, encoding: 'utf8' })
  .map((name) => [name, statSync(GUEST + name)])
  .filter(([, status]) => status.isFile())
  .map(([name, { size }]) => [`\`${name}\``, formatBytes(size)]);

async function startTable() {
  const baseline = await loadBaseline();
  const run = (create) => async () => {
    const sandbox = await create({ runtime: 'javascript' });
    const { stdout } = await sandbox.execute('console.log(1)');
    await sandbox.close();
    if (stdout !== '1\n') throw new Error(`unexpected output: ${stdout}`);
  };
  const samples = await sampleInterleaved(
    {
      'this build': { run: run(createSandbox) },
      ...(baseline && { baseline: { run: run(baseline.library.createSandbox) } }),
    },
    { warmup: WARMUP, rounds: ROUNDS },
  );
  return markdown(
    'Start of a JavaScript sandbox',
    `Median of ${ROUNDS} fresh sandboxes that run \`console.log(1)\`, alternating in one process. ${baselineNote(baseline)}`,
    ['build', 'time', 'ratio'],
    Object.entries(samples).map(([build, times]) => [
      build,
      `${ms(median(times))} ms`,
      baseline === undefined ? '–' : (median(times) / median(samples.baseline)).toFixed(2),
    ]),
  );
}

export async function table() {
  const sizes = markdown('Files of the JavaScript guest', 'Sizes on disk.', ['file', 'size'], files);
  return [await modulesTable(), sizes, await startTable()].join('\n');
}

if (import.meta.url === `file://${process.argv[1]}`) {
  console.log(await table());
  process.exit();
}
