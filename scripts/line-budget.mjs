/**
 * Counts the lines of TypeScript, JavaScript and Python in the packages, and fails if one has more than its ceiling. The
 * target is what it should have. A change that needs more deletes elsewhere; a ceiling is raised only by a decision record.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const GUESTS = /^packages\/core\/src\/(?:runtimes\/\w+\/guest|packages\/first-party|charts\/guest)\//;
const BUILDS = /^packages\/core\/src\/runtimes\/(?:\w+\/)?build\//;

/** By package: which files belong to it, the ceiling and the target in lines. Without a ceiling, lines are only shown. */
const BUDGETS = [
  { name: 'core', files: (path) => path.startsWith('packages/core/src/'), ceiling: 66_300, target: 62_000 },
  { name: 'core, guests', files: (path) => GUESTS.test(path), ceiling: 24_000, target: 21_000 },
  {
    name: 'server',
    files: (path) => path.startsWith('packages/server/src/'),
    ceiling: 14_600,
    target: 12_000,
  },
  { name: 'cli', files: (path) => path.startsWith('packages/cli/src/'), ceiling: 5_200, target: 5_000 },
  {
    name: 'adapters',
    files: (path) => path.startsWith('packages/adapters/src/'),
    ceiling: 1_920,
    target: 2_000,
  },
  { name: 'builds of guests', files: (path) => BUILDS.test(path) },
  { name: 'tools', files: (path) => /^(?:tools|scripts|programs)\//.test(path) },
  { name: 'page', files: (path) => path.startsWith('page/') },
];

/** Guests and their builds are parts of the library with rows of their own. */
const ORDER = ['core, guests', 'builds of guests'];
const rowOf = (path) =>
  BUDGETS.find(({ name, files }) => ORDER.includes(name) && files(path)) ??
  BUDGETS.find(({ files }) => files(path));

const root = fileURLToPath(new URL('../', import.meta.url));
const lines = new Map(BUDGETS.map(({ name }) => [name, 0]));
for (const path of execFileSync('git', ['ls-files'], {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 2 ** 26,
}).split('\n')) {
  if (!/\.(?:[cm]?[jt]s|tsx|py)$/.test(path)) continue;
  const row = rowOf(path);
  if (row !== undefined)
    lines.set(row.name, lines.get(row.name) + readFileSync(`${root}${path}`, 'utf8').split('\n').length - 1);
}

const format = (count) => (count === undefined ? '' : count.toLocaleString('en-US')).padStart(9);
console.log(`${'package'.padEnd(18)}${'lines'.padStart(9)}${'ceiling'.padStart(9)}${'target'.padStart(9)}`);
for (const { name, ceiling, target } of BUDGETS)
  console.log(`${name.padEnd(18)}${format(lines.get(name))}${format(ceiling)}${format(target)}`);
const shipped = BUDGETS.filter(({ ceiling }) => ceiling !== undefined);
const sum = (of) => shipped.reduce((total, row) => total + of(row), 0);
console.log(
  `${'what ships'.padEnd(18)}${format(sum(({ name }) => lines.get(name)))}${format(sum(({ ceiling }) => ceiling))}${format(sum(({ target }) => target))}`,
);

const over = shipped.filter(({ name, ceiling }) => lines.get(name) > ceiling);
for (const { name, ceiling } of over)
  console.error(
    `${name} has ${lines.get(name) - ceiling} lines more than its ceiling. Delete elsewhere in the package.`,
  );
if (over.length > 0) process.exitCode = 1;
