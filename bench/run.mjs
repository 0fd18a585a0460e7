/**
 * Runs all benchmarks, prints their tables and writes bench/BENCHMARKS.md. Arguments select benchmarks by name, whose
 * tables are only printed: `npm run bench -- metering`. Arguments that start with two dashes are for the benchmarks.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

const HELPERS = [
  'run.mjs',
  'measure.mjs',
  'programs.mjs',
  'peers.mjs',
  'retrieval.mjs',
  'cold-start.mjs',
  'profile-cost.mjs',
];
const all = readdirSync(new URL('./', import.meta.url)).filter(
  (name) => name.endsWith('.mjs') && !HELPERS.includes(name),
);
const selected = process.argv.slice(2).filter((name) => !name.startsWith('--'));
const files = all.filter((name) => selected.length === 0 || selected.includes(name.replace('.mjs', '')));
const intro = `# Benchmarks

Written by \`npm run bench\`. All rows of a table were measured together on one machine (${process.arch}, ${availableParallelism()} cores, Node.js
${process.version}). On other machines only the ratios apply.
`;

/** Figures of runs that take too long to repeat with every benchmark. */
const recorded = ['fuzz-and-soak.md', 'resources.md'].map((name) =>
  readFileSync(new URL(name, import.meta.url), 'utf8'),
);

const tables = [];
for (const name of files) {
  process.stderr.write(`bench: ${name} …\n`);
  const { table } = await import(`./${name}`);
  const text = await table();
  console.log(text);
  tables.push(text);
  // Written after each benchmark, because a full run takes long and a later one may fail.
  if (selected.length === 0)
    writeFileSync(new URL('BENCHMARKS.md', import.meta.url), [intro, ...tables, ...recorded].join('\n'));
}
process.exit();
