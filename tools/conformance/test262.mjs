/**
 * Runs a seeded sample of test262, the conformance tests of ECMAScript, in the bare engine and in the sandbox. Fails if a
 * test passes in the bare engine only, unless test262-differences.json gives a reason. TEST262_DIR is the path of a
 * checkout of tc39/test262. `--count` and `--seed` choose the sample; further arguments are paths of tests to run instead.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname } from 'node:path';
import { parseArgs } from 'node:util';
import { createSandbox } from 'llm-wasm-sandbox';
import { bareEngine, quickJsBinary } from '../../scripts/bare-quickjs.mjs';

const { values: options, positionals } = parseArgs({
  options: { count: { type: 'string', default: '2500' }, seed: { type: 'string', default: '1' } },
  allowPositionals: true,
});
const root = process.env.TEST262_DIR;
if (root === undefined) throw new Error('Set TEST262_DIR to the path of a checkout of tc39/test262');
const FOLDERS = ['test/language', 'test/built-ins'];
const DIFFERENCES = JSON.parse(readFileSync(new URL('./test262-differences.json', import.meta.url), 'utf8'));
/** The bare engine is stopped after this time; the sandbox counts instructions. */
const BARE_LIMIT_MS = 20_000;
const FUEL = 20_000_000_000;
const COMPLETE = 'Test262:AsyncTestComplete';

const binary = quickJsBinary();

/** A generator of random numbers whose sequence depends on the seed only (mulberry32). */
function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let n = Math.imul(state ^ (state >>> 15), state | 1);
    n ^= n + Math.imul(n ^ (n >>> 7), n | 61);
    return ((n ^ (n >>> 14)) >>> 0) / 2 ** 32;
  };
}

function sample() {
  if (positionals.length > 0) return positionals;
  const all = FOLDERS.flatMap((folder) =>
    readdirSync(`${root}/${folder}`, { recursive: true })
      .filter((file) => file.endsWith('.js') && !file.includes('_FIXTURE'))
      .map((file) => `${folder}/${file}`),
  ).sort();
  const random = randomNumbers(Number(options.seed));
  const chosen = [];
  for (let i = 0; i < Number(options.count) && all.length > 0; i++)
    chosen.push(...all.splice(Math.floor(random() * all.length), 1));
  return chosen;
}

const harness = (name) => readFileSync(`${root}/harness/${name}`, 'utf8');

function readTest(path) {
  const text = readFileSync(`${root}/${path}`, 'utf8');
  const head = /\/\*---([\s\S]*?)---\*\//.exec(text)?.[1] ?? '';
  const list = (key) => {
    const inline = new RegExp(`^${key}:\\s*\\[([^\\]]*)\\]`, 'm').exec(head)?.[1];
    const block = new RegExp(`^${key}:\\s*\\n((?:\\s+- .*\\n?)+)`, 'm').exec(head)?.[1];
    return (inline?.split(',') ?? block?.split('\n').map((line) => line.replace(/^\s+- /, '')) ?? [])
      .map((one) => one.trim())
      .filter((one) => one !== '');
  };
  const flags = list('flags');
  const negative = /^negative:\s*\n((?:\s+.*\n?)+)/m.exec(head)?.[1];
  const isAsync = flags.includes('async');
  const includes = ['assert.js', 'sta.js', ...(isAsync ? ['doneprintHandle.js'] : []), ...list('includes')];
  return {
    path,
    text,
    isModule: flags.includes('module'),
    isStrict: flags.includes('onlyStrict'),
    isAsync,
    prelude: flags.includes('raw') ? '' : `${includes.map(harness).join('\n')}\n`,
    isRaw: flags.includes('raw'),
    negative: negative && {
      phase: /phase:\s*(\w+)/.exec(negative)?.[1],
      type: /type:\s*(\w+)/.exec(negative)?.[1],
    },
  };
}

const sourceOf = ({ prelude, text, isStrict }) => `${isStrict ? '"use strict";\n' : ''}${prelude}${text}`;

/** Whether the outcome is what the test expects: `error` is the name of the uncaught error, if any. */
function isPassed({ negative, isAsync }, { error, output }) {
  if (negative) return error === negative.type;
  return error === undefined && (!isAsync || output.includes(COMPLETE));
}

/** Resolves a relative import to a path below the checkout. */
const resolvePath = (base, name) => new URL(name, `file:///${base}`).pathname.slice(1);

function runBare(test) {
  const deadline = Date.now() + BARE_LIMIT_MS;
  let output = '';
  const engine = bareEngine(binary, {
    isInterrupted: () => Date.now() > deadline,
    print: (text) => {
      output += `${text}\n`;
    },
    resolve: resolvePath,
    load: (name) => readFileSync(`${root}/${name}`, 'utf8'),
  });
  engine.definePrint();
  if (test.isModule && !test.isRaw) engine.evaluate(test.prelude, 'harness.js');
  const { error } = engine.evaluate(test.isModule ? test.text : sourceOf(test), test.path, test.isModule);
  return { error, output };
}

/** Files that a test can import: itself and the fixtures of its folder. */
function workspaceFiles({ path, isModule, text }) {
  if (!isModule && !text.includes('import(')) return {};
  const folder = dirname(`${root}/${path}`);
  const names = readdirSync(folder).filter((name) => /_FIXTURE\.(?:js|json)$/.test(name));
  const files = Object.fromEntries(names.map((name) => [name, readFileSync(`${folder}/${name}`)]));
  if (!isModule) return files;
  // Without this file, a test without import and export would be loaded as a CommonJS file.
  return { ...files, [basename(path)]: text, 'package.json': '{ "type": "module" }' };
}

async function runSandboxed(test) {
  const sandbox = await createSandbox({ runtime: 'javascript', policy: { timeout_seconds: 60 } });
  try {
    const fuel = { fuel_budget: FUEL };
    let code = sourceOf(test);
    const files = workspaceFiles(test);
    if (test.isModule) {
      // The test is a file, which the program imports; the harness defines globals.
      code = `(0, eval)(${JSON.stringify(test.prelude)}); await import(${JSON.stringify(`./${basename(test.path)}`)});`;
    } else if (!test.isStrict) {
      // A program that mentions `require` is a CommonJS program, which runs in sloppy mode.
      if (!test.isRaw) code = `${code}\n;require;`;
    }
    const result = await sandbox.execute(code, { ...fuel, files });
    const name = /^Uncaught (?:\(in promise\) )?(\w+)/.exec(result.stderr)?.[1];
    const error = result.success
      ? undefined
      : (result.metadata.error?.type ?? name ?? result.metadata.trap_reason);
    return { error, output: result.stdout, stderr: result.stderr };
  } catch (cause) {
    return { error: `${cause.code}: ${cause.message}`, output: '', stderr: '' };
  } finally {
    await sandbox.close();
  }
}

/** The reason for an accepted difference: all patterns of its row match. */
function reasonOf(test, { stderr }) {
  const texts = { path: test.path, source: test.text, stderr };
  const isMatch = (row) =>
    Object.keys(texts).every((key) => row[key] === undefined || new RegExp(row[key]).test(texts[key]));
  return DIFFERENCES.find(isMatch)?.reason;
}

const counts = { both: 0, neither: 0, 'sandbox only': 0, 'bare engine only': 0 };
const unexplained = [];
const explained = new Map();
const paths = sample();
for (const path of paths) {
  const test = readTest(path);
  const bare = runBare(test);
  const sandboxed = await runSandboxed(test);
  const [isBare, isOurs] = [isPassed(test, bare), isPassed(test, sandboxed)];
  counts[isBare ? (isOurs ? 'both' : 'bare engine only') : isOurs ? 'sandbox only' : 'neither']++;
  if (positionals.length > 0) console.log(path, { bare, sandboxed });
  if (!isBare || isOurs) continue;
  const reason = reasonOf(test, sandboxed);
  if (reason !== undefined) explained.set(reason, (explained.get(reason) ?? 0) + 1);
  else {
    unexplained.push(path);
    console.log(`${path}: passes in the bare engine only (${sandboxed.error ?? 'no error'})`);
  }
}
console.log(`${paths.length} tests, seed ${options.seed}`);
for (const [name, number] of Object.entries(counts)) console.log(`${name}: ${number}`);
for (const [reason, number] of explained) console.log(`  ${number} explained: ${reason}`);
process.exitCode = unexplained.length === 0 ? 0 : 1;
