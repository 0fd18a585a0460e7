/**
 * Runs all benchmarks, writes their tables to tools/bench/RESULTS.md, and their figures to docs/BENCHMARKS.md. Names select
 * benchmarks, whose tables are only printed unless `--write` is given: `npm run bench -- metering`. Other flags are for the benchmarks; `--baseline=FOLDER` names another
 * build to measure as well (`node-modules`, `commit-bytes`, `workspace`). The exit code is 1 if a benchmark has failed.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { similarNames } from '../../packages/core/dist/schema/similar-names.js';
import { withFigures } from '../../scripts/benchmark-page.mjs';
import { replaceSection } from './sections.mjs';

const HELPERS = [
  'run.mjs',
  'sections.mjs',
  'measure.mjs',
  'programs.mjs',
  'overshoot-peers.mjs',
  'peer-process.mjs',
  'retrieval.mjs',
  'cold-start.mjs',
  'baseline.mjs',
  'run-in-guest.mjs',
  'peer-packages.mjs',
  'wheels.mjs',
  'suites.mjs',
];
const all = readdirSync(new URL('./', import.meta.url)).filter(
  (name) => name.endsWith('.mjs') && !HELPERS.includes(name),
);
const args = process.argv.slice(2);
const selected = args.filter((name) => !name.startsWith('--'));
const isWritten = selected.length === 0 || args.includes('--write');
const names = all.map((name) => name.replace('.mjs', ''));
for (const name of selected.filter((name) => !names.includes(name))) {
  const [similar] = similarNames(name, names, 1);
  const hint = similar === undefined ? '' : ` Did you mean ${similar}?`;
  console.error(`bench: there is no benchmark "${name}".${hint} The benchmarks are ${names.join(', ')}.`);
  process.exit(2);
}
const files = all.filter((name) => selected.length === 0 || selected.includes(name.replace('.mjs', '')));
const machine = `${process.arch}, ${availableParallelism()} cores, Node.js ${process.version}`;
const report = new URL('RESULTS.md', import.meta.url);
const page = new URL('../../docs/BENCHMARKS.md', import.meta.url);
const failed = [];

function write(name, text) {
  const written = existsSync(report) ? readFileSync(report, 'utf8') : '# Results\n';
  writeFileSync(report, replaceSection(written, name, text, machine));
  const figures = withFigures(readFileSync(page, 'utf8'), name, text);
  writeFileSync(page, name === 'peers' ? replaceSection(figures, name, text, machine) : figures);
}

for (const file of files) {
  process.stderr.write(`bench: ${file} …\n`);
  const name = file.replace('.mjs', '');
  try {
    const { table } = await import(`./${file}`);
    const text = await table();
    console.log(text);
    // Written after each benchmark, because a full run takes long and can be interrupted.
    if (isWritten) write(name, text);
  } catch (cause) {
    // A benchmark may need something that this machine does not have. The others do not depend on it.
    console.error(`bench: ${name} failed:`, cause);
    failed.push(name);
  }
}
if (failed.length > 0) console.error(`bench: failed: ${failed.join(', ')}`);
process.exit(failed.length > 0 ? 1 : 0);
