/**
 * Runs all benchmark programs, prints their tables, and writes bench/BENCHMARKS.md. Names as arguments pick some, which
 * are then only printed: `npm run bench -- metering`. What starts with two dashes is for the programs themselves.
 */
import { readdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';

const NOT_TABLES = ['run.mjs', 'measure.mjs', 'programs.mjs', 'corpus.mjs', 'peers.mjs', 'retrieval.mjs'];
const all = readdirSync(new URL('./', import.meta.url)).filter(
  (name) => name.endsWith('.mjs') && !NOT_TABLES.includes(name),
);
const wanted = process.argv.slice(2).filter((name) => !name.startsWith('--'));
const chosen = all.filter((name) => wanted.length === 0 || wanted.includes(name.replace('.mjs', '')));
const intro = `# Benchmarks

Written by \`npm run bench\`. Everything in a table ran side by side on one machine (${process.arch}, ${availableParallelism()} cores, Node
${process.version}); only ratios mean anything elsewhere.
`;

const tables = [];
for (const name of chosen) {
  process.stderr.write(`bench: ${name} …\n`);
  const { table } = await import(`./${name}`);
  const text = await table();
  console.log(text);
  tables.push(text);
  // After each, because all of them take a while and a later one may fail.
  if (wanted.length === 0)
    writeFileSync(new URL('BENCHMARKS.md', import.meta.url), [intro, ...tables].join('\n'));
}
process.exit();
