/**
 * The cost of error guidance and fuel analysis: the time of one analysis for various runs, and its share of the shortest
 * possible run, measured in the same process.
 */
import { pathToFileURL } from 'node:url';
import { createSandbox } from 'llm-wasm-sandbox';
import { analyse } from '../../packages/core/dist/analysis/analyse.js';
import { exampleInput } from '../../packages/core/dist/analysis/example-failure.js';
import { formatPercent } from '../../packages/core/dist/quantities.js';
import { LANGUAGES } from '../../packages/core/dist/runtimes/registry/languages.js';

/** About as many packages as are vendored, since they are searched. */
const PACKAGES = Array.from({ length: 40 }, (_, i) => ({
  name: i === 39 ? 'openpyxl' : `package-${i}`,
  import_names: [i === 39 ? 'openpyxl' : `package_${i}`],
  heavy: i > 35,
  fuel_first_import: 500_000_000,
  fuel_cached_import: 50_000,
  use: 'a benchmark',
}));
const BOTH = { error_guidance: true, fuel_analysis: true };
const exception = (type, message, more = {}) => ({
  type,
  message,
  module: 'builtins',
  kind: type,
  line: 1,
  ...more,
});
const missing = (path) => exception('FileNotFoundError', path, { errno: 44, path });
const outOfFuel = {
  trap: { reason: 'out_of_fuel', message: 'Execution trapped: OutOfFuel' },
  exitCode: 152,
};
const longSource = 'import openpyxl\nfor i in range(10):\n    print(i)\n'.repeat(20_000);

const manyFiles = Array.from({ length: 200 }, (_, i) => `folder/dat-${i}.csv`);

const CASES = {
  success: { exitCode: 0, ending: 'returned' },
  'a path outside /app': { source: "open('/etc/passwd')", error: missing('/etc/passwd') },
  'out of fuel, a program of 1 MB': {
    ...outOfFuel,
    source: longSource,
    error: exception('OutOfFuel', '', { line: 60_000 }),
  },
  'a missing file among 200': {
    error: missing('data.csv'),
    files: () => manyFiles,
  },
  'an undefined name, 16 earlier programs of 32 KB': {
    error: exception('NameError', "name 'df' is not defined", { name: 'df' }),
    earlier: {
      persistent: false,
      sources: Array.from({ length: 16 }, () => `${longSource.slice(0, 32_000)}\nprint(df)`),
      heavyImports: new Map(),
    },
  },
  'a JavaScript value that is not iterable': {
    runtime: 'javascript',
    source: "const files = os.readdir('/app');\nfor (const [n] of files) n;",
    error: { type: 'TypeError', message: 'value is not iterable', line: 2 },
  },
  'an unknown exception': { error: exception('BadThing', 'x', { module: 'elsewhere', kind: 'Exception' }) },
  'exit code 1 and 10 MB of standard error': { ending: 'exited', stderr: 'MemoryError: x\n'.repeat(700_000) },
  'no report from the guest and 10 MB of standard error': {
    ending: 'unknown',
    stderr: 'Traceback (most recent call last):\n'.repeat(290_000),
  },
};

const median = (values) => values.sort((a, b) => a - b)[Math.floor(values.length / 2)];

function analysisMs({ runtime = 'python', ...run }) {
  const language = LANGUAGES[runtime];
  const input = exampleInput(language, { packages: PACKAGES, ...run });
  const times = [];
  for (let i = 0; i < 300; i++) {
    const start = performance.now();
    analyse(input, language.rules, BOTH);
    times.push(performance.now() - start);
  }
  return median(times);
}

async function trivialRunMs() {
  const sandbox = await createSandbox({ runtime: 'python' });
  const times = [];
  for (let i = 0; i < 60; i++) {
    const start = performance.now();
    await sandbox.execute('print(1)');
    times.push(performance.now() - start);
  }
  await sandbox.close();
  return median(times);
}

/** The table in Markdown. */
export async function table() {
  const runMs = await trivialRunMs();
  const rows = Object.entries(CASES).map(([name, run]) => {
    const ms = analysisMs(run);
    return `| ${name} | ${(ms * 1000).toFixed(1)} | ${formatPercent((ms / runMs) * 100, 2)} |`;
  });
  const head = `| run | analysis, µs | share of \`print(1)\` (${runMs.toFixed(2)} ms) |`;
  const title = '## Guidance and fuel analysis';
  const note = 'The duration of the analysis of a finished run, and its share of the duration of `print(1)`.';
  return `${[title, '', note, '', head, '|---|---|---|', ...rows].join('\n')}\n`;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) console.log(await table());
