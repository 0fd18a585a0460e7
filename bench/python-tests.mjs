/**
 * Tests of CPython itself, run in the Python guest, each in a new interpreter. `--data=FOLDER` names a folder with the package
 * `test` of the Python version of the guest, which is not part of this repository. `--only=TEXT` selects tests by their name.
 * `--details=FILE` keeps the outcome of each test: the same command continues a run that ended early.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { createSandbox } from '../dist/index.js';
import { markdown } from './measure.mjs';
import { flag, outcomesOf, share } from './suites.mjs';

const MODULES = ['test_subprocess'];
const POLICY = { fuel_budget: 2e10, timeout_seconds: 60, memory_bytes: 2 ** 29 };

const pathsBelow = (path) =>
  statSync(path).isFile()
    ? [path].filter((name) => !name.endsWith('.pyc'))
    : readdirSync(path).flatMap((name) => pathsBelow(join(path, name)));

function testFiles() {
  const folder = join(flag('data') ?? '', 'test');
  if (flag('data') === undefined || !existsSync(join(folder, 'support')))
    throw new Error('--data=FOLDER must name a folder with the package "test" of CPython.');
  const files = { 'test/__init__.py': '' };
  for (const part of ['support', 'subprocessdata', ...MODULES.map((name) => `${name}.py`)])
    for (const path of pathsBelow(join(folder, part)))
      files[join('test', relative(folder, path))] = readFileSync(path);
  return files;
}

/** The test package takes Emscripten for a system without processes. */
const start = (module) => `import sys, unittest
sys.path.insert(0, '/app')
import test.support as support
support.has_subprocess_support, support.is_emscripten = True, False
from test import ${module} as module
`;

async function run(files, code) {
  const sandbox = await createSandbox({ runtime: 'python', policy: POLICY });
  try {
    return await sandbox.execute(code, { files });
  } finally {
    await sandbox.close();
  }
}

async function namesOf(files, module) {
  const { stdout, stderr, success } = await run(
    files,
    `${start(module)}
def names(tests):
    for test in tests:
        if isinstance(test, unittest.TestSuite): names(test)
        else: print(test.id())
names(unittest.defaultTestLoader.loadTestsFromModule(module))`,
  );
  if (!success) throw new Error(stderr);
  return stdout
    .trim()
    .split('\n')
    .filter((name) => name.includes(flag('only') ?? ''));
}

async function outcomeOf(files, module, name) {
  const { stdout, stderr, metadata } = await run(
    files,
    `${start(module)}
tests = unittest.defaultTestLoader.loadTestsFromName('${name}')
result = unittest.TextTestRunner(verbosity=0, stream=sys.stdout).run(tests)
print('OUTCOME', 'fail' if not result.wasSuccessful() else 'skip' if result.skipped else 'pass')`,
  );
  const state = /^OUTCOME (\w+)$/m.exec(stdout)?.[1] ?? 'fail';
  const output = `${stdout}${stderr}${metadata.trap_reason ?? ''}`;
  return { state, ...(state !== 'pass' && { output: output.slice(-2000) }) };
}

async function row(files, module) {
  const outcomes = await outcomesOf(module, await namesOf(files, module), (name) =>
    outcomeOf(files, module, name),
  );
  const count = (state) => outcomes.filter((outcome) => outcome.state === state).length;
  const skipped = count('skip');
  return [module, outcomes.length - skipped, share(count('pass'), outcomes.length - skipped), skipped];
}

export async function table() {
  const files = testFiles();
  const rows = [];
  for (const module of MODULES) rows.push(await row(files, module));
  return markdown(
    'Tests of CPython',
    'Tests of the package `test` of CPython 3.14, each in a new interpreter.',
    ['module', 'tests', 'pass', 'skipped'],
    rows,
  );
}
