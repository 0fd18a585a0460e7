/**
 * The reference solutions of BigCodeBench with their own tests, run in the sandbox. `--data=FILE` names the data set
 * (BigCodeBench.jsonl or .jsonl.gz), which is not part of this repository; PIP_FIND_LINKS names folders of wheels. The wheels of
 * one package with the newest version are used. `--only=TEXT` selects tasks by their id or code, `--every=N` every Nth task.
 * `--details=FILE` appends the outcome of each task as a line of JSON; tasks that have a line in the file are not run again.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { createSandbox } from 'llm-wasm-sandbox';
import { formatFuel } from '../../packages/core/dist/quantities.js';
import { markdown, quantile } from './measure.mjs';
import { newestWheels } from './wheels.mjs';

const POLICY = { fuel_budget: 2e11, timeout_seconds: 120, memory_bytes: 2 ** 29 };
const DEFAULT_FUEL = 1e10;
/** Modules whose import takes long. They are imported once, when the image is built, and not by each task. */
const PRELOADED = ['numpy', 'pandas', 'matplotlib.pyplot', 'seaborn', 'scipy', 'sklearn'];
/** Package sets, each with the modules that it adds to the one before. */
const SETS = [
  ['the packages that come with the sandbox', undefined],
  ['numpy, pandas, matplotlib', ['numpy', 'pandas', 'matplotlib', 'PIL']],
  ['all other wheels', []],
];
/** Runs the tests of a task and writes the outcome to a file, because the tests may replace sys.stdout. */
const HARNESS = `
def __run_tests(path=__import__('os').getcwd() + '/.report.json'):
    import io, json, unittest
    tests = unittest.defaultTestLoader.loadTestsFromTestCase(TestCases)
    result = unittest.TextTestRunner(stream=io.StringIO()).run(tests)
    problems = [[str(test), text[-2000:]] for test, text in result.errors + result.failures]
    with open(path, 'w') as file:
        json.dump({'run': result.testsRun, 'problems': problems}, file)
__run_tests()
`;

const flag = (name) => {
  const prefix = `--${name}=`;
  return process.argv.find((argument) => argument.startsWith(prefix))?.slice(prefix.length);
};

function readTasks() {
  const path = flag('data');
  if (path === undefined)
    throw new Error('--data=FILE must name BigCodeBench.jsonl or BigCodeBench.jsonl.gz.');
  const bytes = readFileSync(path);
  const text = (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8');
  const only = flag('only') ?? '';
  return parseLines(text)
    .map(({ task_id, complete_prompt, canonical_solution, test }) => ({
      id: task_id.split('/').at(-1),
      code: `${complete_prompt}${canonical_solution}\n${test}\n`,
    }))
    .filter(({ id, code }) => id === only || code.includes(only))
    .filter((_, index) => index % Number(flag('every') ?? 1) === 0);
}

/** Tasks with the same image follow one another, because a process holds only a few images. */
function byImage(tasks, wheels) {
  const groups = groupBy(tasks, ({ code }) => preloadFor(code, wheels).join());
  return [...groups.values()].flat();
}

/** The top-level modules that a program imports, by its text. */
const importsOf = (code) =>
  new Set([...code.matchAll(/^\s*(?:from|import)\s+([A-Za-z_]\w*)/gm)].map(([, name]) => name));

/** The image that suits a task: the modules that are preloaded and that the task imports. */
function preloadFor(code, wheels) {
  const imported = importsOf(code);
  return PRELOADED.filter((module) => {
    const [top] = module.split('.');
    return (
      imported.has(top) && wheels.some((path) => new RegExp(`^(${top}|scikit_learn)-`).test(basename(path)))
    );
  });
}

async function runTask({ id, code }, wheels) {
  const sandbox = await createSandbox({
    runtime: 'python',
    policy: POLICY,
    packages: wheels,
    preload: preloadFor(code, wheels),
  });
  try {
    const started = performance.now();
    const result = await sandbox.execute(code + HARNESS);
    const seconds = (performance.now() - started) / 1000;
    return { id, seconds, fuel: result.fuel_consumed, ...(await judge(sandbox, result)) };
  } finally {
    await sandbox.close();
  }
}

async function judge(sandbox, result) {
  const text = await sandbox.readFile('.report.json', 'utf8').catch(() => undefined);
  if (text === undefined)
    return { passed: false, cause: causeOf(result.metadata.trap_reason, result.stderr) };
  const { run, problems } = JSON.parse(text);
  if (run > 0 && problems.length === 0) return { passed: true };
  const [[, problem] = [undefined, 'no test was found']] = problems;
  return { passed: false, cause: causeOf(null, problem), failed: `${problems.length}/${run}` };
}

/** The reason of a failure, for grouping: the limit that was reached, or the last line of the traceback. */
function causeOf(trap, text) {
  if (trap !== null) return trap;
  const lines = text.trimEnd().split('\n');
  const last =
    lines.findLast((line) => /^[A-Za-z_][\w.]*(Error|Exception|Warning|Exit|Interrupt)\b/.test(line)) ??
    lines.at(-1);
  const missing = /^ModuleNotFoundError: No module named '([\w.]+)'/.exec(last)?.[1];
  return missing === undefined ? last.slice(0, 200) : `no module ${missing.split('.')[0]}`;
}

const parseLines = (text) =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));

/** Runs the tasks that have no recorded outcome, a few at a time, with a line of progress. */
async function runAll(tasks, wheels) {
  const details = flag('details');
  const recorded = details !== undefined && existsSync(details) ? readFileSync(details, 'utf8') : '';
  const byId = new Map(parseLines(recorded).map((one) => [one.id, one]));
  const outcomes = tasks.filter(({ id }) => byId.has(id)).map((task) => ({ ...task, ...byId.get(task.id) }));
  const queue = tasks.filter(({ id }) => !byId.has(id));
  const work = async () => {
    for (let task = queue.shift(); task !== undefined; task = queue.shift()) {
      const outcome = await runTask(task, wheels).catch((cause) => ({
        id: task.id,
        passed: false,
        cause: String(cause),
      }));
      if (details !== undefined) appendFileSync(details, `${JSON.stringify(outcome)}\n`);
      outcomes.push({ ...task, ...outcome });
      if (outcomes.length % 25 === 0)
        process.stderr.write(
          `bigcodebench: ${outcomes.length} of ${tasks.length}, ${passed(outcomes)} passed\n`,
        );
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() }, work));
  return outcomes;
}

const passed = (outcomes) => outcomes.filter((one) => one.passed).length;

/** Whether a task imports only modules of a set, the standard library and its own. */
function needsOnly({ code, cause }, modules, wheels) {
  if (cause?.startsWith('no module ')) return false;
  if (modules === undefined) return true;
  const native = wheels.map((path) => basename(path).split('-')[0].toLowerCase());
  return [...importsOf(code)].every((name) => {
    const file = { PIL: 'pillow', sklearn: 'scikit_learn', cv2: 'opencv_python' }[name] ?? name.toLowerCase();
    return !native.includes(file) || modules.includes(name);
  });
}

function row(title, outcomes) {
  const fuel = outcomes.filter((one) => one.passed).map((one) => one.fuel);
  const seconds = outcomes.filter((one) => one.passed).map((one) => one.seconds);
  if (fuel.length === 0) return [title, `${outcomes.length}`, '0', '', '', ''];
  const share = (100 * fuel.length) / outcomes.length;
  return [
    title,
    `${outcomes.length}`,
    `${fuel.length} (${share.toFixed(1)} %)`,
    `${fuel.filter((used) => used <= DEFAULT_FUEL).length}`,
    `${formatFuel(quantile(fuel, 0.5))} / ${formatFuel(quantile(fuel, 0.95))}`,
    `${quantile(seconds, 0.5).toFixed(2)} / ${quantile(seconds, 0.95).toFixed(2)}`,
  ];
}

function setRows(outcomes, wheels) {
  const rows = [];
  let modules = [];
  for (const [title, added] of SETS) {
    modules = modules === undefined || added?.length === 0 ? undefined : [...modules, ...(added ?? [])];
    rows.push(
      row(
        title,
        outcomes.filter((one) => needsOnly(one, modules, wheels)),
      ),
    );
  }
  return [...rows, row('all tasks', outcomes)];
}

/** Groups of failures: by the cause, or else by the modules that the task imports. */
const GROUPS = [
  ['needs a package that is not available', /^no module (?!cgi$|turtle$)/],
  ['needs a module that Python 3.14 or this build of it does not have', /^no module /],
  ['needs data that a package downloads (nltk)', /^LookupError/],
  ['starts a process', /does not support processes/, ['subprocess']],
  [
    'uses the network',
    /gaierror|Name does not resolve|Address family not supported|HTTPSConnectionPool/,
    ['socket', 'requests', 'urllib', 'ssl', 'smtplib', 'ftplib'],
  ],
  ['reaches a limit', /^(out_of_fuel|timeout|out_of_memory|memory_limit)/],
  [
    'is written for older versions of Python or of a package',
    /^(AttributeError|TypeError|ValueError|KeyError|FutureWarning|ImportError|IndexError: pop|OverflowError: Python integer)|datetime64\[ns\]/,
  ],
];

function groupOf({ cause, code }) {
  const byCause = GROUPS.find(([, pattern]) => pattern.test(cause));
  const imported = importsOf(code);
  const byImports = () => GROUPS.find(([, , modules]) => modules?.some((name) => imported.has(name)));
  return (byCause ?? byImports())?.[0] ?? 'other';
}

/** The most frequent values, with their counts. */
const counted = (values) =>
  [...groupBy(values, (value) => value)]
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([value, { length }]) => (length === 1 ? value : `${value} (${length})`));

function causeRows(failures) {
  return [...groupBy(failures, groupOf)]
    .sort(([, a], [, b]) => b.length - a.length)
    .map(([group, tasks]) => {
      const missing = tasks.every(({ cause }) => cause.startsWith('no module '));
      const shown = missing
        ? counted(tasks.map(({ cause }) => cause.slice('no module '.length)))
        : tasks.map(({ id }) => id);
      return [group, `${tasks.length}`, shown.join(', ')];
    });
}

function groupBy(items, keyOf) {
  const groups = new Map();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

export async function table() {
  const wheels = newestWheels();
  const outcomes = await runAll(byImage(readTasks(), wheels), wheels);
  const day = new Date().toISOString().slice(0, 10);
  const failures = outcomes.filter((one) => !one.passed);
  return [
    markdown(
      'BigCodeBench',
      `Reference solutions of BigCodeBench that pass their own tests in the sandbox, on ${day}. A set contains the tasks whose ` +
        `imports are all available. The limits are ${formatFuel(POLICY.fuel_budget)} fuel, ${POLICY.timeout_seconds} s and 512 MiB; ` +
        'the fourth column counts the tasks that stay within the default of 10B fuel. numpy, pandas and matplotlib are preloaded.',
      ['packages', 'tasks', 'pass', 'within 10B fuel', 'fuel (median / p95)', 'seconds (median / p95)'],
      setRows(outcomes, wheels),
    ),
    markdown(
      'Failures in BigCodeBench',
      `The tasks that failed, grouped by the error or by the modules that they import; with the missing modules, or the numbers of the tasks.`,
      ['the task …', 'tasks', ''],
      causeRows(failures),
    ),
  ].join('\n');
}
