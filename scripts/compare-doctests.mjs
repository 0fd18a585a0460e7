/**
 * Runs the doctests of every Python module of a folder natively and in the sandbox, and prints the modules that pass
 * only natively, with the reason. Both runs use the same program and the same files: natively a temporary copy of the
 * folder, in the sandbox its /app.
 */
import { spawn } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { createSandbox, listPackages } from 'llm-wasm-sandbox';

const USAGE = `Usage: node scripts/compare-doctests.mjs [OPTIONS] DIR

Runs the doctests of every Python module of DIR with python3 and in the sandbox, and prints the modules that pass natively and
fail in the sandbox. Natively, the doctests run with your permissions: use it only for code that you trust.

Options:
  --packages LIST    added packages that programs can import, separated by commas (default: all that "packages add" added)
  --no-packages      no added packages
  --python COMMAND   the native interpreter (default: python3)
  --timeout SECONDS  time limit of a module, in each of the two runs (default: 60)
  --fuel NUMBER      fuel budget of a module in the sandbox (default: 50000000000)
  --jobs NUMBER      modules that run at the same time (default: the number of processors)
  --json             print the outcomes of all modules as JSON
  --help             print this text

Exit codes: 0 if every module that passes natively also passes in the sandbox, 1 if not, 2 for invalid arguments.`;

/** Printed before the outcome, on a line of its own, because modules may print when they are imported. */
const MARKER = 'doctest-outcome:';
/** The rest of the output is not needed. */
const MAX_OUTPUT = 1_000_000;
const IGNORED = /^(\.|__pycache__$|node_modules$)/;

/** Runs in both interpreters. Its arguments are the root of the files and the path of the module. */
const PROGRAM = `
import contextlib, doctest, importlib, importlib.util, io, json, os, sys
root, path = sys.argv[1:3]
os.chdir(root)
sys.path[:0] = [root, os.path.dirname(os.path.join(root, path))]
parts = path[:-3].split('/')
if parts[-1] == '__init__' and len(parts) > 1:
    parts.pop()
out = io.StringIO()

def load():
    if all(part.isidentifier() for part in parts):
        return importlib.import_module('.'.join(parts))
    spec = importlib.util.spec_from_file_location('module_under_test', path)
    module = importlib.util.module_from_spec(spec)
    sys.modules['module_under_test'] = module
    spec.loader.exec_module(module)
    return module

def first_failure(text):
    lines = [line.strip() for line in text.splitlines()]
    start = next((i for i, line in enumerate(lines) if line == 'Failed example:'), None)
    example = lines[start + 1] if start is not None and start + 1 < len(lines) else ''
    errors = [line for line in lines if line.partition(':')[0].isidentifier() and 'Error' in line.partition(':')[0]]
    if errors:
        return errors[0]
    got = next((lines[i + 1] for i, line in enumerate(lines[:-1]) if line == 'Got:'), None)
    return f'{example} printed {got}' if got is not None else f'{example} failed'

try:
    with contextlib.redirect_stdout(out):
        module = load()
        runner = doctest.DocTestRunner(verbose=False)
        for test in doctest.DocTestFinder().find(module):
            runner.run(test, out=out.write)
    tried, failed = runner.tries, runner.failures
    outcome = {'status': 'failed' if failed else 'passed' if tried else 'empty', 'examples': tried, 'failures': failed}
    if failed:
        outcome['reason'] = first_failure(out.getvalue())[:300]
except BaseException as error:
    outcome = {'status': 'error', 'reason': f'{type(error).__name__}: {error}'.splitlines()[0][:300]}
print('\\n${MARKER}' + json.dumps(outcome))
`;

function usageError(message) {
  console.error(`${message}\n\n${USAGE}`);
  process.exit(2);
}

function parseArguments() {
  try {
    return parseArgs({
      options: {
        packages: { type: 'string' },
        'no-packages': { type: 'boolean' },
        python: { type: 'string', default: 'python3' },
        timeout: { type: 'string', default: '60' },
        fuel: { type: 'string', default: '50000000000' },
        jobs: { type: 'string', default: String(availableParallelism()) },
        json: { type: 'boolean' },
        help: { type: 'boolean' },
      },
      allowPositionals: true,
    });
  } catch (cause) {
    return usageError(cause.message);
  }
}

function positive(name, text) {
  const value = Number(text);
  if (!(value > 0 && Number.isFinite(value))) usageError(`--${name} must be a positive number, not ${text}.`);
  return value;
}

/** The files below a folder, as paths with forward slashes. Links are not followed. */
function filesIn(folder, prefix = '') {
  return readdirSync(join(folder, prefix), { withFileTypes: true })
    .filter((entry) => !IGNORED.test(entry.name))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = prefix + entry.name;
      if (entry.isDirectory()) return filesIn(folder, `${path}/`);
      return entry.isFile() ? [path] : [];
    });
}

function outcomeIn(stdout) {
  const start = stdout.lastIndexOf(`\n${MARKER}`);
  return start < 0 ? undefined : JSON.parse(stdout.slice(start + 1 + MARKER.length));
}

function runNatively(path) {
  return new Promise((done) => {
    // With -c, Python imports modules from the working directory.
    const python = values.python.includes('/') ? resolve(values.python) : values.python;
    const options = { cwd: copy, stdio: ['ignore', 'pipe', 'ignore'] };
    const child = spawn(python, ['-c', PROGRAM, copy, path], options);
    let stdout = '';
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      child.kill('SIGKILL');
    }, timeout * 1000);
    child.stdout.setEncoding('utf8').on('data', (text) => {
      stdout = (stdout + text).slice(-MAX_OUTPUT);
    });
    const end = (outcome) => {
      clearTimeout(timer);
      done(outcome);
    };
    child.on('error', (cause) => end({ status: 'error', reason: cause.message }));
    child.on('close', (code) => {
      const reason = isLate ? `more than ${timeout} s` : `exit code ${code}`;
      end(outcomeIn(stdout) ?? { status: 'error', reason });
    });
  });
}

async function runInSandbox(sandbox, path) {
  const result = await sandbox.execute(PROGRAM, { args: ['/app', path] });
  const { metadata, stdout, stderr } = result;
  const limit = metadata.trap_reason;
  const lastLine = stderr.trim().split('\n').at(-1) || `exit code ${metadata.exit_code}`;
  const fallback = { status: 'error', reason: limit ?? lastLine.slice(0, 300) };
  const found = limit === null || limit === undefined ? outcomeIn(stdout) : undefined;
  return { ...(found ?? fallback), fuel: metadata.fuel_consumed };
}

const { values, positionals } = parseArguments();
if (values.help) {
  console.log(USAGE);
  process.exit();
}
if (positionals.length !== 1) usageError('Specify one folder.');
const root = resolve(positionals[0]);
if (!statSync(root, { throwIfNoEntry: false })?.isDirectory())
  usageError(`${positionals[0]} is not a folder.`);
const timeout = positive('timeout', values.timeout);
const fuelBudget = positive('fuel', values.fuel);
const jobs = Math.ceil(positive('jobs', values.jobs));
const added = listPackages('python').filter(({ source }) => source === 'added');
const packages = values['no-packages'] ? [] : (values.packages?.split(',') ?? added.map(({ name }) => name));

const copy = mkdtempSync(join(tmpdir(), 'compare-doctests-'));
process.once('exit', () => rmSync(copy, { recursive: true, force: true }));
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
cpSync(root, copy, {
  recursive: true,
  filter: (from) => from === root || !IGNORED.test(basename(from)),
});
const files = filesIn(copy);
const modules = files.filter((path) => path.endsWith('.py'));
const withDoctests = modules.filter((path) => readFileSync(join(copy, path), 'utf8').includes('>>>'));

async function openSandbox() {
  const bytes = files.reduce((sum, path) => sum + statSync(join(copy, path)).size, 0);
  const sandbox = await createSandbox({
    runtime: 'python',
    packages,
    policy: {
      fuel_budget: fuelBudget,
      timeout_seconds: timeout,
      workspace_max_bytes: Math.max(64 * 2 ** 20, 2 * bytes),
      workspace_max_files: Math.max(10_000, 4 * files.length),
      error_guidance: false,
      fuel_analysis: false,
    },
  });
  for (const path of files) await sandbox.writeFile(path, readFileSync(join(copy, path)));
  return sandbox;
}

const outcomes = new Map();
const pending = [...withDoctests];
async function worker() {
  const sandbox = await openSandbox();
  try {
    for (let path = pending.shift(); path !== undefined; path = pending.shift()) {
      const native = await runNatively(path);
      const sandboxed = await runInSandbox(sandbox, path);
      outcomes.set(path, { module: path, native, sandbox: sandboxed });
      if (process.stderr.isTTY) process.stderr.write(`\r${outcomes.size} of ${withDoctests.length} modules`);
      else if (outcomes.size % 100 === 0) console.error(`${outcomes.size} of ${withDoctests.length} modules`);
    }
  } finally {
    await sandbox.close();
  }
}
await Promise.all(Array.from({ length: Math.min(jobs, Math.max(1, pending.length)) }, worker));
if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');

const rows = withDoctests.map((path) => outcomes.get(path));
const passes = ({ status }) => status === 'passed';
const differing = rows.filter(({ native, sandbox }) => passes(native) && !passes(sandbox));
const counts = {
  modules: modules.length,
  without_doctests: modules.length - withDoctests.length,
  pass_natively: rows.filter(({ native }) => passes(native)).length,
  pass_in_both: rows.filter(({ native, sandbox }) => passes(native) && passes(sandbox)).length,
  pass_natively_only: differing.length,
  pass_in_sandbox_only: rows.filter(({ native, sandbox }) => !passes(native) && passes(sandbox)).length,
};
if (values.json) console.log(JSON.stringify({ packages, counts, modules: rows }, null, 2));
else {
  console.log(`packages: ${packages.join(', ') || 'none added'}`);
  for (const [name, count] of Object.entries(counts)) console.log(`${name.replaceAll('_', ' ')}: ${count}`);
  if (differing.length > 0) console.log('\nThese modules pass natively and fail in the sandbox:');
  for (const { module, sandbox } of differing)
    console.log(`  ${module}: ${sandbox.reason ?? sandbox.status}`);
}
process.exit(differing.length > 0 ? 1 : 0);
