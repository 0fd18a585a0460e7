/**
 * What users notice first, with a target for each figure: start of the command line, first call, live sessions, large
 * workspaces, memory of the server, resume, first long loop. With `--before=<checkout>`, another built checkout is measured in
 * the same rounds. Needs Linux. As a script with the name of a part, it prints the figures of that part for one checkout.
 */
import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { libraryOf } from './baseline.mjs';
import { markdown, measuredEnv, median, ms, times } from './measure.mjs';

const here = fileURLToPath(import.meta.url);
const now = fileURLToPath(new URL('..', import.meta.url));
const BEFORE = process.argv.find((one) => one.startsWith('--before='))?.slice('--before='.length);
const ROUNDS = 5;
const FILES = 4000;
const LOOP = {
  python: 'n = 0\nfor i in range(6_000_000):\n    n += i % 7',
  javascript: 'var n = 0; for (let i = 0; i < 6_000_000; i++) n += i % 7;',
};
const PRINT = { python: 'print(1)', javascript: 'console.log(1)' };
const RUNTIMES = ['python', 'javascript'];
/** As in a server: V8 compiles WebAssembly on half of the cores. */
const HALF_OF_CORES = `--wasm-num-compilation-tasks=${Math.max(1, Math.floor(availableParallelism() / 2))}`;
/** Time for the idle optimisation of a server or a long-lived process. */
const IDLE_MS = 15_000;

const pause = (duration) => new Promise((next) => setTimeout(next, duration));
const cpuMs = ({ user, system }) => (user + system) / 1000;

async function timed(work) {
  const started = performance.now();
  await work();
  return performance.now() - started;
}

const filesBetween = (first, last, nameOf) =>
  Object.fromEntries(Array.from({ length: last - first + 1 }, (_, i) => [nameOf(first + i), 'x']));

/** Each part runs in a process of its own and returns figures. */
const PARTS = {
  /** The first call of a process, and calls 3 to 10 of a session, one right after the other. */
  async first(checkout, runtime) {
    const { createSandbox } = await libraryOf(checkout);
    const started = performance.now();
    const sandbox = await createSandbox({ runtime, session_id: 'one' });
    await sandbox.execute('1');
    const first = performance.now() - started;
    await sandbox.execute('1');
    const calls = [];
    for (let i = 3; i <= 10; i++) calls.push(await timed(() => sandbox.execute('1')));
    // Node.js aborts if a process exits while a thread starts to compress what it saves.
    await sandbox.close();
    return { first, calls: median(calls), slowest: Math.max(...calls) };
  },

  /** Calls of a warm process: with many files, right after another one, and after a resume. */
  async warm(checkout) {
    const { createSandbox, diskStore } = await libraryOf(checkout);
    const folder = mkdtempSync(join(tmpdir(), 'bench-targets-'));
    const policy = { workspace_max_files: 2 * FILES };
    const empty = await createSandbox({ runtime: 'python', policy });
    const large = await createSandbox({ runtime: 'python', policy });
    const live = await createSandbox({ runtime: 'javascript', session_id: 'live' });
    const fresh = await createSandbox({ runtime: 'javascript' });
    const nameOf = (i) => `folder${i % 10}/file${i}`;
    /** Writes up to file number `count`, and returns the median of the last 50. */
    const writeUntil = async (count) => {
      const writes = [];
      for (let i = count - 49; i <= count; i++)
        writes.push(await timed(() => large.writeFile(nameOf(i), 'x')));
      return median(writes);
    };
    await large.execute('0', { files: filesBetween(1, 50, nameOf) });
    const write100 = await writeUntil(100);
    await large.execute('0', { files: filesBetween(101, FILES - 50, nameOf) });
    const write4000 = await writeUntil(FILES);
    await live.execute('var x = 1');
    const took = { small: [], large: [], live: [], fresh: [] };
    for (let i = 0; i < 40; i++) {
      took.small.push(await timed(() => empty.execute('print(1)')));
      took.large.push(await timed(() => large.execute('print(1)')));
      await live.execute('x += 1');
      took.live.push(await timed(() => live.execute('x += 1')));
      await fresh.execute('var x = 1');
      took.fresh.push(await timed(() => fresh.execute('var x = 1')));
    }
    const store = diskStore(folder);
    const options = { runtime: 'python', session_id: 'openpyxl', store };
    const first = await createSandbox(options);
    await first.execute('import openpyxl');
    await first.close();
    const resumes = [];
    for (let i = 0; i < 12; i++) {
      const session = await createSandbox(options);
      resumes.push(await timed(() => session.execute('1')));
      await session.close();
    }
    rmSync(folder, { recursive: true, force: true });
    const last = Object.fromEntries(
      Object.entries(took).map(([name, values]) => [name, median(values.slice(10))]),
    );
    return { ...last, write100, write4000, resume: median(resumes.slice(2)) };
  },

  /** A long loop as the first call of a process that was idle before, in processor time of its own threads and of those of V8. */
  async loop(checkout, runtime, idle) {
    const { createSandbox } = await libraryOf(checkout);
    const policy = { fuel_budget: 1e12, timeout_seconds: 300 };
    const sandbox = await createSandbox({ runtime, policy });
    await sandbox.execute('1');
    if (idle === 'idle') await pause(IDLE_MS);
    const run = async () => {
      const before = process.cpuUsage();
      await sandbox.execute(LOOP[runtime]);
      return cpuMs(process.cpuUsage(before));
    };
    const first = await run();
    return { first, steady: await run() };
  },
};

/** Resident memory of a server over standard input and output, after its first call and 15 seconds later, in MB. */
async function serverMemory(checkout, runtime) {
  const server = spawn(process.execPath, [join(checkout, 'packages/cli/dist/cli/main.js'), 'mcp'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: measuredEnv,
  });
  const send = (message) => server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  let output = '';
  const answered = new Promise((next, fail) => {
    server.stdout.on('data', (chunk) => {
      output += chunk;
      if (output.includes('"id":2')) next();
    });
    server.on('exit', () => fail(new Error(`the server has ended: ${output}`)));
  });
  const clientInfo = { name: 'bench', version: '1' };
  send({
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo },
  });
  send({ method: 'notifications/initialized' });
  send({
    id: 2,
    method: 'tools/call',
    params: { name: 'execute_code', arguments: { code: PRINT[runtime], language: runtime } },
  });
  await answered;
  const resident = () =>
    (Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))[1]) * 1024) / 1e6;
  const first = resident();
  await pause(IDLE_MS);
  const idle = resident();
  server.removeAllListeners('exit');
  server.kill();
  return { first, idle };
}

function run(args) {
  const { status, stdout, stderr, error } = spawnSync(process.execPath, args, {
    encoding: 'utf8',
    env: measuredEnv,
  });
  if (status !== 0) throw new Error(`${args.join(' ')} failed: ${error?.message ?? stderr}`);
  return { stdout, stderr };
}

const part = (name, checkout, ...args) => JSON.parse(run([here, name, checkout, ...args]).stdout);

/** Prints the peak of the resident memory, in KiB, to standard error when the process exits. */
const REPORT_MEMORY =
  'data:text/javascript,process.on("exit", () => process.stderr.write("\\n" + process.resourceUsage().maxRSS))';
const peakMb = (args) =>
  (Number(
    run(['--import', REPORT_MEMORY, ...args])
      .stderr.trim()
      .split('\n')
      .at(-1),
  ) *
    1024) /
  1e6;

function commandsOf(checkout) {
  const cli = join(checkout, 'packages/cli/dist/cli/main.js');
  return {
    help: [cli, '--help'],
    python: [cli, 'run', '-c', PRINT.python],
    javascript: [cli, 'run', '-l', 'javascript', '-c', PRINT.javascript],
  };
}

/** Size of the package in MB, packed and unpacked. */
function packageSize(checkout) {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const { stdout } = spawnSync('npm', args, { cwd: checkout, encoding: 'utf8' });
  const [{ size, unpackedSize }] = JSON.parse(stdout);
  return { packed: size / 1e6, unpacked: unpackedSize / 1e6 };
}

/** The figures of all checkouts by row. */
async function measure(checkouts) {
  const found = checkouts.map(() => ({}));
  const add = (i, name, value) => {
    found[i][name] ??= [];
    found[i][name].push(value);
  };
  for (let round = 0; round < ROUNDS; round++) {
    const empty = await timed(() => run(['-e', '0']));
    for (const [i, checkout] of checkouts.entries()) {
      add(i, 'empty', empty);
      for (const [name, args] of Object.entries(commandsOf(checkout)))
        add(i, name, await timed(() => run(args)));
      for (const runtime of RUNTIMES) {
        const { first, calls, slowest } = part('first', checkout, runtime);
        add(i, `first ${runtime}`, first);
        add(i, `calls ${runtime}`, calls);
        add(i, `slowest ${runtime}`, slowest);
        const limited = JSON.parse(run([HALF_OF_CORES, here, 'first', checkout, runtime]).stdout);
        add(i, `limited calls ${runtime}`, limited.calls);
        add(i, `limited slowest ${runtime}`, limited.slowest);
      }
    }
  }
  for (const [i, checkout] of checkouts.entries()) {
    for (const [name, value] of Object.entries(packageSize(checkout))) add(i, name, value);
    for (const runtime of RUNTIMES) add(i, `memory ${runtime}`, peakMb(commandsOf(checkout)[runtime]));
    const servers = await Promise.all(RUNTIMES.map((runtime) => serverMemory(checkout, runtime)));
    for (const [at, { first, idle }] of servers.entries()) {
      add(i, `server ${RUNTIMES[at]}`, first);
      add(i, `idle server ${RUNTIMES[at]}`, idle);
    }
    for (const [name, value] of Object.entries(part('warm', checkout))) add(i, name, value);
    for (const runtime of RUNTIMES) {
      for (const idle of ['idle', 'at once']) {
        const { first, steady } = part('loop', checkout, runtime, idle);
        add(i, `loop ${runtime} ${idle}`, first / steady);
      }
    }
  }
  return found.map((rows) =>
    Object.fromEntries(Object.entries(rows).map(([name, all]) => [name, median(all)])),
  );
}

const mb = (value) => `${Math.round(value)} MB`;
const title = { python: 'Python', javascript: 'JavaScript' };

/** A row: what is measured, the figure, how it is shown, and its target. */
function rowsOf() {
  const ratio = (name) => (figures) => figures[name] / figures.empty;
  const each = (make) => RUNTIMES.map((runtime) => make(runtime, title[runtime]));
  return [
    ['`--help`, relative to `node -e 0`', ratio('help'), times, 1.5],
    ['`run -c "print(1)"`, relative to `node -e 0`', ratio('python'), times, 4],
    ['the same, peak resident memory', (f) => f['memory python'], mb, 160],
    ['`run` in JavaScript, relative to `node -e 0`', ratio('javascript'), times, 3],
    ['the same, peak resident memory', (f) => f['memory javascript'], mb, 100],
    ...each((r, name) => [`first \`execute\` of a process, ${name}`, (f) => f[`first ${r}`], ms, 200]),
    ...each((r, name) => [
      `calls 3 to 10 of a session back to back, ${name}, median`,
      (f) => f[`calls ${r}`],
      ms,
      8,
    ]),
    ...each((r, name) => [`the same, slowest call, ${name}`, (f) => f[`slowest ${r}`], ms, 8]),
    ...each((r, name) => [
      `calls 3 to 10 with \`node ${HALF_OF_CORES}\`, as in a server, ${name}, median`,
      (f) => f[`limited calls ${r}`],
      ms,
      8,
    ]),
    ...each((r, name) => [
      `the same, slowest call with this flag, ${name}`,
      (f) => f[`limited slowest ${r}`],
      ms,
      8,
    ]),
    [
      `\`print(1)\` with ${FILES} files, relative to an empty workspace`,
      (f) => f.large / f.small,
      times,
      1.5,
    ],
    [`\`writeFile\` number ${FILES}, ms`, (f) => f.write4000, (value) => value.toFixed(3), 0.1],
    [`the same, relative to number 100`, (f) => f.write4000 / f.write100, times, 1.2],
    ...each((r, name) => [`server after the first call, ${name}`, (f) => f[`server ${r}`], mb, 120]),
    ...each((r, name) => [`the same 15 s later, ${name}`, (f) => f[`idle server ${r}`], mb, 120]),
    ['npm package, packed', (f) => f.packed, mb, 25],
    ['npm package, unpacked', (f) => f.unpacked, mb, undefined],
    ['resume with openpyxl imported', (f) => f.resume, ms, 15],
    [
      'JavaScript session call right after another, relative to a fresh interpreter',
      (f) => f.live / f.fresh,
      times,
      2,
    ],
    ...each((r, name) => [
      `loop after a pause of 15 s, relative to the same loop again, ${name}`,
      (f) => f[`loop ${r} idle`],
      times,
      1.2,
    ]),
    ...each((r, name) => [
      `the same without a pause, ${name}`,
      (f) => f[`loop ${r} at once`],
      times,
      undefined,
    ]),
  ];
}

export async function table() {
  const checkouts = [...(BEFORE === undefined ? [] : [resolve(BEFORE)]), now];
  const figures = await measure(checkouts);
  const rows = rowsOf().map(([name, figureOf, show, target]) => {
    const values = figures.map(figureOf);
    const isMet = values.at(-1) <= target;
    return [
      name,
      ...values.map(show),
      ...(target === undefined ? ['', ''] : [show(target), isMet ? 'met' : 'missed']),
    ];
  });
  return markdown(
    'Start, memory and large workspaces',
    `Milliseconds, unless a unit is given. Times of processes and of their first calls are medians of ${ROUNDS} interleaved rounds. The other rows come from one process. The loops have 6,000,000 iterations, follow the first call, and are compared by processor time, including the compilation by V8. [Missed targets](../../docs/BENCHMARKS.md#missed-targets) explains the missed targets.`,
    ['what', ...(BEFORE === undefined ? [] : ['before']), 'now', 'target', 'result'],
    rows,
  );
}

if (process.argv[1] === here) {
  const [, , name, ...args] = process.argv;
  if (name in PARTS) {
    console.log(JSON.stringify(await PARTS[name](...args)));
    process.exit();
  }
  console.log(await table());
  process.exit();
}
