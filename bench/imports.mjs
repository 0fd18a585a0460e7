/**
 * What a first import of a heavy package costs: from source, from the bytecode that guests have, and in an image in
 * which it is loaded, beside what the original publishes for the same import.
 */
import { createSandbox } from '../dist/index.js';
import { markdown, median, ms } from './measure.mjs';

const PACKAGES = ['openpyxl', 'PyPDF2', 'jinja2', 'sympy', 'networkx', 'bs4', 'tabulate', 'yaml'];
/** Fuel of a first import as the original documents it. */
const PUBLISHED = { openpyxl: '5–7 G', PyPDF2: '5–6 G', jinja2: '4–5 G', tabulate: '1.4 G' };
/** Makes the interpreter find no bytecode, so that it compiles what it imports. */
const NO_BYTECODE = `
import importlib._bootstrap_external as external
def none(*_, **__): raise NotImplementedError
external.cache_from_source = none
`;
const ROUNDS = { source: 2, bytecode: 7, warm: 15 };

const mega = (fuel) =>
  fuel >= 1e9
    ? `${(fuel / 1e9).toFixed(2)} G`
    : fuel >= 1e6
      ? `${(fuel / 1e6).toFixed(1)} M`
      : fuel.toLocaleString('en-US');

async function cost(name, how) {
  const policy = { fuel_budget: 1e12, timeout_seconds: 600 };
  const sandbox = await createSandbox({ runtime: 'python', policy, preload: how === 'warm' ? [name] : [] });
  const before = how === 'source' ? NO_BYTECODE : '';
  const run = async (code) => {
    const result = await sandbox.execute(code);
    if (!result.success) throw new Error(result.stderr);
    return result;
  };
  const idle = await run(`${before}\nimport sys`);
  const results = [];
  for (let i = -1; i < ROUNDS[how]; i++) {
    const result = await run(`${before}\nimport ${name}`);
    if (i >= 0) results.push(result);
  }
  await sandbox.close();
  return {
    fuel: Math.max(0, results[0].fuel_consumed - idle.fuel_consumed),
    time: median(results.map(({ duration_ms }) => duration_ms)),
  };
}

export async function table() {
  const rows = [];
  for (const name of PACKAGES) {
    const costs = [];
    for (const how of ['source', 'bytecode', 'warm']) costs.push(await cost(name, how));
    const cells = costs.map(({ fuel, time }) => `${mega(fuel)}, ${ms(time)} ms`);
    rows.push([name, PUBLISHED[name] ?? '', ...cells]);
  }
  return markdown(
    'First import of heavy packages',
    'Fuel of the import statement alone; time of the whole run in a fresh guest, in a worker that has run it before.',
    ['package', 'the original, published', 'from source', 'from bytecode', 'preloaded'],
    rows,
  );
}

if (import.meta.url === `file://${process.argv[1]}`) {
  console.log(await table());
  process.exit();
}
