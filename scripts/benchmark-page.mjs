/** The table of bench/BENCHMARKS.md: one figure of each benchmark, taken from the tables in bench/RESULTS.md. */

/** What a row says, and where its figure is: the heading, the start of the row and the column of a table. */
const FIGURES = [
  ['new Python sandbox and `print(1)`', 'Time to the first result', 'Python: new sandbox', 'ratio'],
  [
    'new JavaScript sandbox and `console.log(1)`',
    'Time to the first result',
    'JavaScript: new sandbox',
    'ratio',
  ],
  ['metered Python, relative to unmetered', 'Cost of metering', '**geometric mean**', '/ unmetered'],
  [
    'metered Python, relative to Pyodide, which is not metered',
    'Cost of metering',
    '**geometric mean**',
    '/ Pyodide',
  ],
  ['metered Python, relative to native python3', 'Cost of metering', '**geometric mean**', '/ python3'],
  ['metered numpy, relative to native numpy', 'numpy compared with native numpy', 'geometric mean', 'ratio'],
  [
    'speed of the JavaScript engine, relative to quickjs-wasi',
    'JavaScript engine',
    'geometric mean',
    'speed',
  ],
  ['first run of a process, relative to `node -e 0`', 'Versions of Node.js', '`run -c "print(1)"`', 'v24.'],
  [
    'call in a session right after another, relative to a fresh interpreter',
    'Calls in a live session',
    'python | live session, `x += 1`, right after',
    '/ fresh interpreter',
  ],
  [
    'checkpoint of a Python session, ms',
    'Checkpoint, rollback, fork, hibernate, resume',
    'checkpoint',
    'python, `x = 1`',
  ],
  [
    'the same, size',
    'Checkpoint, rollback, fork, hibernate, resume',
    'size of a checkpoint',
    'python, `x = 1`',
  ],
  [
    'resume of a Python session from disk, ms',
    'Checkpoint, rollback, fork, hibernate, resume',
    'resume:',
    'python, `x = 1`',
  ],
  [
    'call in a session with 10,000 files on disk, relative to none',
    'Cost by size of the workspace',
    '`x += 1`, live session on disk',
    'largest / empty',
  ],
  [
    '`import pandas` from a warm image, relative to plain Python',
    'Warm images',
    '`import pandas`',
    '/ plain',
  ],
  [
    'call of a host function, relative to Vercel Run',
    'Tool calls',
    'this sandbox, JavaScript | one after another',
    'relative to Vercel Run',
  ],
  ['excess over a time limit of 1 s, Python', 'Limits: overshoot', 'time', 'this sandbox, python'],
  ['the same, quickjs-wasi', 'Limits: overshoot', 'time', 'quickjs-wasi'],
  [
    'session call in a separate process, relative to a thread',
    'Isolation in a separate process',
    'python | session call, `x += 1`, previous',
    'process / thread',
  ],
  [
    'short call next to 7 endless programs of other tenants, relative to none',
    'Short calls next to endless programs',
    '7',
    'relative to none',
  ],
  [
    'session call saved in PostgreSQL, relative to memory',
    'Sessions by store',
    'PostgreSQL, lease held',
    'ratio',
  ],
  [
    'runs whose fuel profile differs between repetitions',
    'Determinism of the fuel profile',
    'python | detailed',
    'different runs',
  ],
  [
    'failing programs whose guidance names the fix, held out, at first sight',
    'Error guidance for held-out programs',
    'at first sight',
    'names the fix',
  ],
  [
    'programs of models that work at first try, common packages added',
    'Programs at first try',
    '**all**',
    'numpy, pandas, matplotlib and Pillow added',
  ],
  [
    'tasks of BigCodeBench that pass, of those whose packages are available',
    'BigCodeBench',
    'all other wheels',
    'pass',
  ],
  [
    "expected lines of bash's own test suite that the shell prints",
    'Shell: the test suites of bash and toybox',
    'bash 5.2.37',
    'result',
  ],
  ['files of the tests of Node.js that pass', 'Tests of Node.js', 'all', 'pass'],
];

const cells = (line) => line.slice(2, -2).split(' | ');
const anchor = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-');

function section(results, heading) {
  const start = results.indexOf(`\n## ${heading}\n`);
  if (start < 0) throw new Error(`bench/RESULTS.md has no section "${heading}".`);
  const end = results.indexOf('\n## ', start + 1);
  return results.slice(start, end < 0 ? undefined : end);
}

function figure(results, heading, row, column) {
  const text = section(results, heading);
  const [head, , ...rows] = text.match(/^\|.*\|$/gm);
  const at = cells(head).findIndex((name) => name.startsWith(column));
  const line = rows.find((one) => one.startsWith(`| ${row}`));
  if (at < 0 || line === undefined)
    throw new Error(`bench/RESULTS.md: "${heading}" has no row "${row}" or column "${column}".`);
  const command = /`npm run bench -- ([\w-]+)`/.exec(text)[1];
  return { value: cells(line)[at].trim().replaceAll('**', ''), command };
}

/** The rows of the table: what is measured, the figure, and the benchmark with a link to its table. */
export const benchmarkRows = (results) =>
  FIGURES.map(([what, heading, row, column]) => {
    const { value, command } = figure(results, heading, row, column);
    return [what, value, `[${command}](RESULTS.md#${anchor(heading)})`];
  });
