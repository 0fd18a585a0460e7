/**
 * The tests of Node.js itself, run in the JavaScript guest. `--data=FOLDER` names a checkout of Node.js of the version that runs
 * this program, which is not part of this repository. Only files that pass in Node.js count. `--only=TEXT` selects files by
 * their name. `--details=FILE` keeps the outcome of each file, one JSON object per line: a run that ends early, because of
 * `--minutes=N` or otherwise, is continued by the same command. Of the outcomes of another build, only those of Node.js are used.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSandbox } from 'llm-wasm-sandbox';
import { markdown } from './measure.mjs';
import { flag, forEach } from './suites.mjs';

const MODULES = {
  assert: /^test-assert/,
  buffer: /^test-buffer/,
  'child-process': /^test-child-process/,
  crypto: /^test-crypto/,
  events: /^test-(event-emitter|events?-)/,
  fs: /^test-fs/,
  path: /^test-path/,
  querystring: /^test-querystring/,
  readline: /^test-readline/,
  stream: /^test-streams?[-2345]/,
  'string-decoder': /^test-string-decoder/,
  timers: /^test-timers/,
  url: /^test-(whatwg-)?url/,
  util: /^test-util/,
  zlib: /^test-zlib/,
};
/** What a test needs that the sandbox does not have by design. */
const BY_DESIGN = [
  ['internals of Node.js', /--expose-internals|--expose_internals|internalBinding|require\('internal\//],
  ['a server or a socket', /require\('(net|http|https|http2|tls|dgram)'\)/],
  ['messages between processes', /\bfork\(|'ipc'|process\.send\(/],
  ['a thread', /require\('worker_threads'\)|new Worker/],
  ['a terminal', /terminal: true|emitKeypressEvents|setRawMode/],
  ['a watcher', /watch\(|watchFile\(|unwatchFile/],
  ['flags of V8 or Node.js', /^\/\/ Flags:/m],
  ['domains or another realm', /require\('domain'\)|runInNewContext|createContext/],
  [
    'asymmetric keys',
    /generateKeyPair|createPrivateKey|createPublicKey|createSign|createVerify|DiffieHellman|createECDH/,
  ],
  ['paths of Windows', /path\.win32/],
];
const POLICY = { fuel_budget: 2e10, timeout_seconds: 30, memory_bytes: 2 ** 29 };
const MAX_FIXTURE_BYTES = 300_000;

const moduleOf = (file) => Object.keys(MODULES).find((name) => MODULES[name].test(file));

function testFolder() {
  const folder = flag('data');
  if (folder === undefined || !existsSync(join(folder, 'test/parallel')))
    throw new Error(`--data=FOLDER must name a checkout of Node.js ${process.version}.`);
  return join(folder, 'test');
}

const isSkipped = (stdout) => /^1\.\.0 # Skipped/m.test(stdout);

const passesInNode = (folder, file) =>
  new Promise((resolve) => {
    // Tests that run at the same time need different folders for temporary files.
    const env = { ...process.env, TMPDIR: tmpdir(), TEST_THREAD_ID: file };
    execFile(process.execPath, [join(folder, 'parallel', file)], { timeout: 30_000, env }, (error, stdout) =>
      resolve(error === null && !isSkipped(stdout)),
    );
  });

function readFolder(folder, prefix) {
  const entries = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => statSync(join(folder, name)).isFile())
    .filter((name) => statSync(join(folder, name)).size <= MAX_FIXTURE_BYTES)
    .map((name) => [`test/${prefix}/${name}`, readFileSync(join(folder, name))]);
  return Object.fromEntries(entries);
}

/** The helpers of the tests, without two calls that set up sockets. */
function readCommon(folder) {
  const files = readFolder(join(folder, 'common'), 'common');
  const text = files['test/common/index.js'].toString();
  files['test/common/index.js'] = text
    .replace(/^net\.setDefault.*$/m, '')
    .replaceAll('net.getDefaultAutoSelectFamilyAttemptTimeout()', '2500');
  return files;
}

async function runInGuest(file, code, files) {
  const sandbox = await createSandbox({ runtime: 'javascript', policy: POLICY });
  const program =
    `process.versions.openssl = '3.0.0'; process.env.NODE_SKIP_FLAG_CHECK = '1'; process.argv[1] = '/app/test/parallel/${file}';\n` +
    `process.chdir('/app/test/parallel'); require('/app/test/parallel/${file}');`;
  try {
    const result = await sandbox.execute(program, { files: { ...files, [`test/parallel/${file}`]: code } });
    const { error, trap_reason } = result.metadata;
    const cause = error ? `${error.type}: ${error.message}\n${error.stack}` : (trap_reason ?? result.stderr);
    return { passed: result.success && !isSkipped(result.stdout), cause };
  } finally {
    await sandbox.close();
  }
}

/** A digest of the compiled source and of the guests. */
function buildDigest() {
  const dist = new URL('../../packages/core/dist/', import.meta.url);
  const hash = createHash('sha256');
  for (const name of readdirSync(dist, { recursive: true, encoding: 'utf8' }).sort()) {
    const file = new URL(name, dist);
    if (statSync(file).isFile()) hash.update(`${name}\n`).update(readFileSync(file));
  }
  return hash.digest('hex');
}

/** The outcomes of earlier runs of the same build, and a function that keeps another one. */
function keptOutcomes() {
  const path = flag('details');
  if (path === undefined) return { outcomes: [], passing: new Set(), keep: () => {} };
  const header = { build: buildDigest(), node: process.version };
  const lines = existsSync(path) ? readFileSync(path, 'utf8').split('\n').slice(0, -1) : [];
  const [before, ...kept] = lines.map((line) => JSON.parse(line));
  const isSameBuild = before?.build === header.build && before.node === header.node;
  const outcomes = isSameBuild ? kept : [];
  const passing = new Set(before?.node === header.node ? before.passing : []);
  if (before?.node === header.node) for (const { file, counts } of kept) if (counts) passing.add(file);
  const all = [{ ...header, passing: [...passing] }, ...outcomes];
  writeFileSync(path, all.map((one) => `${JSON.stringify(one)}\n`).join(''));
  return {
    outcomes,
    passing,
    keep: (outcome) => appendFileSync(path, `${JSON.stringify(outcome)}\n`),
  };
}

async function runFile(folder, file, shared) {
  if (!shared.passing.has(file) && !(await passesInNode(folder, file))) return { file, counts: false };
  const code = readFileSync(join(folder, 'parallel', file), 'utf8');
  const files = { ...shared.common, ...(code.includes('fixtures') && shared.fixtures) };
  const reason = BY_DESIGN.find(([, pattern]) => pattern.test(code))?.[0];
  return { file, counts: true, reason, ...(await runInGuest(file, code, files)) };
}

async function runAll(folder) {
  const { outcomes, passing, keep } = keptOutcomes();
  const shared = {
    passing,
    common: readCommon(folder),
    fixtures: readFolder(join(folder, 'fixtures'), 'fixtures'),
  };
  const names = readdirSync(join(folder, 'parallel'))
    .filter((name) => name.endsWith('.js') && moduleOf(name) !== undefined)
    .filter((name) => name.includes(flag('only') ?? ''));
  const done = new Map(outcomes.map((outcome) => [outcome.file, outcome]));
  const end = Date.now() + Number(flag('minutes') ?? Number.POSITIVE_INFINITY) * 60_000;
  const left = names.filter((name) => !done.has(name));
  await forEach(left, async (file) => {
    if (Date.now() > end) return;
    const outcome = await runFile(folder, file, shared);
    done.set(file, outcome);
    keep(outcome);
    if (done.size % 50 === 0) process.stderr.write(`node-tests: ${done.size} of ${names.length}\n`);
  });
  const missing = names.filter((name) => !done.has(name)).length;
  if (missing > 0) throw new Error(`${missing} of ${names.length} files remain; run the same command again.`);
  return names.map((name) => done.get(name)).filter(({ counts }) => counts);
}

const share = (outcomes) => {
  const passed = outcomes.filter((one) => one.passed).length;
  return `${passed} (${Math.round((100 * passed) / outcomes.length)} %)`;
};

function row(name, outcomes) {
  const possible = outcomes.filter(({ reason, passed }) => reason === undefined || passed);
  return [name, `${outcomes.length}`, share(outcomes), `${possible.length}`, share(possible)];
}

export async function table() {
  const outcomes = await runAll(testFolder());
  const rows = Object.keys(MODULES).flatMap((name) => {
    const ofModule = outcomes.filter(({ file }) => moduleOf(file) === name);
    return ofModule.length === 0 ? [] : [row(name, ofModule)];
  });
  const missing = outcomes.filter(({ passed, reason }) => !passed && reason !== undefined);
  return [
    markdown(
      'Tests of Node.js',
      `Files of the folder "parallel" of the tests of Node.js ${process.version} that pass in Node.js, run unchanged in the sandbox, on ` +
        `${new Date().toISOString().slice(0, 10)}. The last two columns leave out those that fail and need what the sandbox does not have by design.`,
      ['module', 'files', 'pass', 'possible', 'pass'],
      [...rows, row('all', outcomes)],
    ),
    markdown(
      'Tests of Node.js that cannot pass',
      'What the files need that fail and that the last columns of the table above leave out.',
      ['need', 'files'],
      BY_DESIGN.map(([need]) => [need, `${missing.filter(({ reason }) => reason === need).length}`]),
    ),
  ].join('\n');
}
