/**
 * The tests of collections of algorithms, run in the JavaScript guest. `--data=FOLDER` names a folder of checkouts, such as
 * TheAlgorithms/JavaScript and TheAlgorithms/TypeScript, which are not part of this repository. Each test file is bundled with
 * what it imports and with the functions of Vitest. Only files that pass in Node.js count. With `--baseline=FOLDER`, another
 * build runs them as well.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import * as current from 'llm-wasm-sandbox';
import { loadBaseline } from './baseline.mjs';
import { markdown } from './measure.mjs';

const FLAG = '--data=';
/** The default fuel budget, and a time limit that the load of the machine does not reach. */
const policy = { timeout_seconds: 300 };
/** Defines the global functions of a test file and runs the tests when the program has ended. The status is 1 if one fails. */
const RUNNER = `
  import * as chai from 'chai';
  import { ASYMMETRIC_MATCHERS_OBJECT, JestAsymmetricMatchers, JestChaiExpect, JestExtend } from '@vitest/expect';
  import * as spies from '@vitest/spy';
  chai.use(JestExtend);
  chai.use(JestChaiExpect);
  chai.use(JestAsymmetricMatchers);
  const expect = Object.assign((value, message) => chai.expect(value, message), chai.expect);
  globalThis[ASYMMETRIC_MATCHERS_OBJECT] && Object.assign(expect, globalThis[ASYMMETRIC_MATCHERS_OBJECT]);
  let state = {};
  expect.getState = () => state;
  expect.setState = (next) => Object.assign(state, next);
  globalThis[Symbol.for('expect-global')] = expect;
  const tests = [];
  let group = { before: [], after: [], all: [] };
  const chain = (one) => (one === undefined ? [] : [...chain(one.parent), one]);
  const describe = (name, body) => {
    group = { parent: group, before: [], after: [], all: [] };
    body();
    group = group.parent;
  };
  const format = (name, values) => name + ' ' + values.map(String).join(' ');
  const each = (add) => (...table) => (name, body) =>
    table[0].forEach((row) => { const values = Array.isArray(row) ? row : [row]; add(format(name, values), () => body(...values)); });
  const test = (name, body) => tests.push({ name, body, group });
  test.each = each(test); describe.each = each(describe); test.skip = describe.skip = () => {}; test.only = test;
  test.todo = () => {};
  const hook = (kind) => (body) => group[kind].push(body);
  const vi = { ...spies, fn: spies.fn, spyOn: spies.spyOn };
  Object.assign(globalThis, { describe, test, it: test, expect, vi, jest: vi, beforeEach: hook('before'), afterEach: hook('after'),
    beforeAll: hook('all'), afterAll: () => {} });
  const runBody = (body) => (body.length > 0 ? new Promise((done, fail) => body((e) => (e ? fail(e) : done()))) : body());
  globalThis.runTests = async () => {
    const failed = [];
    const started = new Set();
    for (const { name, body, group } of tests) {
      try {
        for (const one of chain(group)) if (!started.has(one)) { started.add(one); for (const f of one.all) await f(); }
        for (const one of chain(group)) for (const f of one.before) await f();
        await runBody(body);
        for (const one of chain(group)) for (const f of one.after) await f();
      } catch (error) { failed.push(name + ': ' + (error?.message ?? error)); }
    }
    console.log(tests.length + ' tests, ' + failed.length + ' failed\\n' + failed.join('\\n'));
    if (failed.length > 0 || tests.length === 0) process.exitCode = 1;
  };
`;
const VITEST =
  'const { describe, test, it, expect, vi, beforeEach, afterEach, beforeAll, afterAll } = globalThis;\n' +
  'export { describe, test, it, expect, vi, beforeEach, afterEach, beforeAll, afterAll };';
const modules = fileURLToPath(new URL('../../node_modules', import.meta.url));

/** Replaces imports of the test library by the functions that the runner defines. */
const plugin = {
  name: 'test-library',
  setup(bundle) {
    bundle.onResolve({ filter: /^(vitest|@jest\/globals)$/ }, () => ({
      path: 'vitest',
      namespace: 'runner',
    }));
    bundle.onResolve({ filter: /^runner$/ }, () => ({ path: 'runner', namespace: 'runner' }));
    bundle.onLoad({ filter: /.*/, namespace: 'runner' }, ({ path }) => ({
      contents: path === 'runner' ? RUNNER : VITEST,
      resolveDir: modules,
    }));
  },
};

async function bundleTest(file) {
  const { outputFiles } = await build({
    stdin: {
      contents: `import 'runner';\nawait import(${JSON.stringify(file)});\nawait globalThis.runTests();`,
      resolveDir: modules,
    },
    bundle: true,
    format: 'esm',
    platform: 'node',
    write: false,
    nodePaths: [modules],
    plugins: [plugin],
    logLevel: 'silent',
  });
  return outputFiles[0].text;
}

async function runInGuest(library, code) {
  const sandbox = await library.createSandbox({ runtime: 'javascript', policy });
  try {
    const result = await sandbox.execute("await import('./test.mjs');", { files: { 'test.mjs': code } });
    const { error, trap_reason } = result.metadata;
    const cause = trap_reason ?? error?.message ?? `${result.stdout}${result.stderr}`.slice(0, 300);
    return { passed: result.success, cause };
  } finally {
    await sandbox.close();
  }
}

function passesInNode(folder, code) {
  const path = join(folder, 'test.mjs');
  writeFileSync(path, code);
  return spawnSync(process.execPath, [path], { timeout: 60_000 }).status === 0;
}

async function runFile(file, builds, folder) {
  const code = await bundleTest(file).catch(() => undefined);
  if (code === undefined || !passesInNode(folder, code)) return undefined;
  const outcomes = {};
  for (const [name, library] of Object.entries(builds)) outcomes[name] = await runInGuest(library, code);
  return outcomes;
}

async function runCollection(root, builds, folder) {
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.test\.[jt]s$/.test(name),
  );
  const counts = { files: 0, passed: {} };
  for (const name of files.sort()) {
    const outcomes = await runFile(join(root, name), builds, folder);
    if (outcomes === undefined) continue;
    counts.files++;
    for (const [build, { passed, cause }] of Object.entries(outcomes)) {
      if (passed) counts.passed[build] = (counts.passed[build] ?? 0) + 1;
      else process.stderr.write(`algorithms: ${build}: ${name}: ${cause}\n`);
    }
  }
  return counts;
}

export async function table() {
  const data = process.argv.find((argument) => argument.startsWith(FLAG))?.slice(FLAG.length);
  if (data === undefined) throw new Error('--data=FOLDER must name a folder of checkouts.');
  const baseline = await loadBaseline();
  const builds = { now: current, ...(baseline && { baseline: baseline.library }) };
  const folder = mkdtempSync(join(tmpdir(), 'algorithms-'));
  const rows = [];
  for (const collection of readdirSync(data).sort()) {
    const { files, passed } = await runCollection(join(data, collection), builds, folder);
    rows.push([collection, `${files}`, ...Object.keys(builds).map((name) => `${passed[name] ?? 0}`)]);
  }
  rmSync(folder, { recursive: true });
  return markdown(
    'Collections of algorithms',
    'Test files that pass in Node.js, run in the sandbox with the default fuel budget.',
    ['collection', 'files', ...Object.keys(builds)],
    rows,
  );
}
