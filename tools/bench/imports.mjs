/**
 * Measures the first import of large packages: compiled from source, loaded from the bytecode that guests contain, and
 * preloaded in the image. The table also shows the figures in the specification of the project.
 */
import { createSandbox } from 'llm-wasm-sandbox';
import { formatFuel } from '../../packages/core/dist/quantities.js';
import { markdown, median, ms } from './measure.mjs';

const PACKAGES = ['openpyxl', 'PyPDF2', 'jinja2', 'sympy', 'networkx', 'bs4', 'tabulate', 'yaml'];
/** Fuel of a first import according to the specification. */
const SPECIFIED = { openpyxl: '5–7B', PyPDF2: '5–6B', jinja2: '4–5B' };
/** Disables the bytecode cache, so that the interpreter compiles every module it imports. */
const NO_BYTECODE = `
import importlib._bootstrap_external as external
def none(*_, **__): raise NotImplementedError
external.cache_from_source = none
`;
const ROUNDS = { source: 2, bytecode: 7, warm: 15 };

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
    const cells = costs.map(({ fuel, time }) => `${formatFuel(fuel)}, ${ms(time)} ms`);
    rows.push([name, SPECIFIED[name] ?? '', ...cells]);
  }
  return markdown(
    'First import of large packages',
    'Fuel of the import statement, and duration of the whole run, in a fresh guest of a warmed-up worker. The second column is the fuel according to the specification of this project.',
    ['package', 'in the specification', 'from source', 'from bytecode', 'preloaded'],
    rows,
  );
}

if (import.meta.url === `file://${process.argv[1]}`) {
  console.log(await table());
  process.exit();
}
