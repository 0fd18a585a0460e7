/**
 * Runs all benchmarks, prints their tables and replaces their sections in bench/BENCHMARKS.md. Arguments select benchmarks by
 * name, whose tables are only printed unless `--write` is given: `npm run bench -- metering`. Other arguments that start with
 * two dashes are for the benchmarks.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
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
];
const all = readdirSync(new URL('./', import.meta.url)).filter(
  (name) => name.endsWith('.mjs') && !HELPERS.includes(name),
);
const args = process.argv.slice(2);
const selected = args.filter((name) => !name.startsWith('--'));
const isWritten = selected.length === 0 || args.includes('--write');
const files = all.filter((name) => selected.length === 0 || selected.includes(name.replace('.mjs', '')));
const machine = `${process.arch}, ${availableParallelism()} cores, Node.js ${process.version}`;
const report = new URL('BENCHMARKS.md', import.meta.url);

for (const file of files) {
  process.stderr.write(`bench: ${file} …\n`);
  const name = file.replace('.mjs', '');
  const { table } = await import(`./${file}`);
  const text = await table();
  console.log(text);
  // Written after each benchmark, because a full run takes long and a later one may fail.
  if (isWritten) writeFileSync(report, replaceSection(readFileSync(report, 'utf8'), name, text, machine));
}
process.exit();
