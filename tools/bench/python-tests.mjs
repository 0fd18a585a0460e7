/**
 * Tests of CPython itself, run in the Python guest, each in a new interpreter. `--data=FOLDER` names a folder with the package
 * `test` of the Python version of the guest, which is not part of this repository. `--only=TEXT` selects tests by their name.
 * `--details=FILE` keeps the outcome of each test: the same command continues a run that ended early.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { createSandbox } from 'llm-wasm-sandbox';
import { markdown } from './measure.mjs';
import { flag, outcomesOf, share } from './suites.mjs';

const MODULES = ['test_subprocess'];
/** Why tests fail, by their names. */
const CAUSES = [
  [
    'a process runs to its end before the program goes on: it cannot be watched, answered or continued after a timeout',
    /test_(kill|terminate|send_signal|broken_pipe_cleanup|communicate_timeout|communicate_timeout_large_output|post_timeout_communicate_sends_input|universal_newlines_and_text|wait_timeout|communicate_repeated_call_after_stdout_close|pipe_cloexec_real_tools)$/,
  ],
  ['functions that run in the child (preexec_fn)', /preexec|surrogates_error_message/],
  ['process groups and sessions', /test_(process_group_0|start_new_session)$/],
  ['threads that wait for one another', /threadsafe_wait/],
  ['a server', /communicate_timeout_large_input/],
  ['other users', /test_user$/],
  ['the module resource, and options of the interpreter (-X)', /max_fd_is_lowered|encoding_warning/],
  ['the tests are of a later version than 3.14.2', /CalledProcessError_str_non_zero/],
];
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
  const failed = outcomes.filter((outcome) => outcome.state === 'fail').map(({ name }) => name);
  return {
    cells: [module, outcomes.length - skipped, share(count('pass'), outcomes.length - skipped), skipped],
    failed,
  };
}

function causeRows(names) {
  const causeOf = (name) => CAUSES.find(([, pattern]) => pattern.test(name))?.[0] ?? 'not examined';
  const groups = new Map();
  for (const name of names) {
    const cause = causeOf(name);
    groups.set(cause, [
      ...(groups.get(cause) ?? []),
      name
        .split('.')
        .at(-1)
        .replace(/^test_/, ''),
    ]);
  }
  const counted = (tests) =>
    [...new Set(tests)].map((test) => {
      const times = tests.filter((one) => one === test).length;
      return times === 1 ? test : `${test} (${times})`;
    });
  return [...groups]
    .toSorted(([, a], [, b]) => b.length - a.length)
    .map(([cause, tests]) => [cause, tests.length, counted(tests).join(', ')]);
}

export async function table() {
  const files = testFiles();
  const rows = [];
  for (const module of MODULES) rows.push(await row(files, module));
  return [
    markdown(
      'Tests of CPython',
      'Tests of the package `test` of CPython 3.14, each in a new interpreter.',
      ['module', 'tests', 'pass', 'skipped'],
      rows.map(({ cells }) => cells),
    ),
    markdown(
      'Tests of CPython that fail',
      'What the tests need that fail.',
      ['need', 'tests', 'names'],
      causeRows(rows.flatMap(({ failed }) => failed)),
    ),
  ].join('\n');
}
