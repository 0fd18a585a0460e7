/** The figures of docs/BENCHMARKS.md, which are taken from the tables that the benchmarks print. */

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
const headings = (text) => [...text.matchAll(/^## (.*)$/gm)].map(([, title]) => title);

function section(text, heading) {
  const start = `\n${text}`.indexOf(`\n## ${heading}\n`);
  const end = text.indexOf('\n## ', start + 1);
  return text.slice(start, end < 0 ? undefined : end);
}

function figure(text, heading, row, column) {
  const [head, , ...rows] = section(text, heading).match(/^\|.*\|$/gm);
  const at = cells(head).findIndex((name) => name.startsWith(column));
  const line = rows.find((one) => one.startsWith(`| ${row}`));
  if (at < 0 || line === undefined)
    throw new Error(`"${heading}" has no row "${row}" or column "${column}".`);
  return cells(line)[at].trim().replaceAll('**', '');
}

/** The page with the figures that the tables of one benchmark contain; the other figures stay. */
export function withFigures(page, benchmark, text) {
  const found = headings(text);
  const lines = page.split('\n');
  for (const [what, heading, row, column] of FIGURES.filter(([, one]) => found.includes(one))) {
    const at = lines.findIndex((line) => line.startsWith(`| ${what} | `));
    if (at < 0) throw new Error(`docs/BENCHMARKS.md has no row "${what}".`);
    lines[at] = `| ${what} | ${figure(text, heading, row, column)} | \`${benchmark}\` |`;
  }
  return lines.join('\n');
}
