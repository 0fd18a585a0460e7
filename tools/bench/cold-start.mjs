/**
 * The start of a process: the command line compared with an empty Node.js process, the phases of a cold start, the first
 * hundred calls, and the size of the package. Part of the benchmark `start`.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { formatBytes } from '../../packages/core/dist/quantities.js';
import { markdown, measuredEnv, median, ms, times } from './measure.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const cli = fileURLToPath(new URL('../../packages/cli/dist/cli/main.js', import.meta.url));
const COLD_ROUNDS = 11;
/** Prints the peak of the resident memory, in KiB, to standard error when the process exits. */
const REPORT_MEMORY =
  'data:text/javascript,process.on("exit", () => process.stderr.write(String(process.resourceUsage().maxRSS)))';

const COMMANDS = {
  'node -e 0': ['-e', '0'],
  'llm-wasm-sandbox --help': [cli, '--help'],
  'llm-wasm-sandbox run -c "print(1)"': [cli, 'run', '-c', 'print(1)'],
  'llm-wasm-sandbox run -l javascript -c "console.log(1)"': [cli, 'run', '-ljavascript', '-cconsole.log(1)'],
};

/** Rows with the median time and the median peak memory of processes that are started in turn. */
function commandRows() {
  const samples = Object.values(COMMANDS).map(() => []);
  for (let round = 0; round < COLD_ROUNDS; round++) {
    Object.values(COMMANDS).forEach((args, i) => {
      const started = performance.now();
      run(args);
      samples[i].push(performance.now() - started);
    });
  }
  const medians = samples.map(median);
  return Object.entries(COMMANDS).map(([name, args], i) => {
    // Measured in separate runs, because loading the module that reports it takes time.
    const memory = Array.from({ length: 3 }, () => Number(run(['--import', REPORT_MEMORY, ...args]).stderr));
    return [
      `\`${name}\``,
      ms(medians[i]),
      times(medians[i] / medians[0]),
      formatBytes(median(memory) * 1024),
    ];
  });
}

function run(args) {
  const options = { encoding: 'utf8', cwd: root, env: measuredEnv };
  const { status, stdout, stderr } = spawnSync(process.execPath, args, options);
  if (status !== 0) throw new Error(`${args.join(' ')} failed: ${stderr}`);
  return { stdout, stderr };
}

const phaseTable = () =>
  JSON.parse(run([fileURLToPath(new URL('cold-start-phases.mjs', import.meta.url))]).stdout);

/** Calls whose time is reported, counted from the start of the process. */
const CURVE = [1, 2, 3, 5, 10, 20, 50, 100];
const CURVE_ROUNDS = 5;

/** Prints the milliseconds of the first calls of a process, one after the other, as JSON. */
const FIRST_CALLS = (options) => `
  import { createSandbox } from 'llm-wasm-sandbox';
  const sandbox = await createSandbox(${JSON.stringify(options)});
  const took = [];
  for (let i = 0; i < ${CURVE.at(-1)}; i++) {
    const started = performance.now();
    await sandbox.execute('1');
    took.push(performance.now() - started);
  }
  console.log(JSON.stringify(took));
  process.exit();`;

function curveRows() {
  const cases = ['python', 'javascript'].flatMap((runtime) => [
    { title: `${runtime}, fresh interpreter`, script: FIRST_CALLS({ runtime }), samples: [] },
    { title: `${runtime}, session`, script: FIRST_CALLS({ runtime, session_id: 's' }), samples: [] },
  ]);
  for (let round = 0; round < CURVE_ROUNDS; round++) {
    for (const { script, samples } of cases)
      samples.push(JSON.parse(run(['--input-type=module', '-e', script]).stdout));
  }
  return cases.map(({ title, samples }) => [
    title,
    ...CURVE.map((call) => ms(median(samples.map((took) => took[call - 1])))),
  ]);
}

function sizeRows() {
  const options = { encoding: 'utf8', cwd: root };
  const { stdout } = spawnSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], options);
  const [{ size, unpackedSize, files }] = JSON.parse(stdout);
  const layers = files.filter(({ path }) => path.endsWith('.pack')).reduce((sum, file) => sum + file.size, 0);
  return [
    ['packed', formatBytes(size)],
    ['unpacked', formatBytes(unpackedSize)],
    ['of which standard library and packages, compressed', formatBytes(layers)],
  ];
}

export function coldStartTables() {
  const [phaseHead, ...phases] = phaseTable();
  return [
    markdown(
      'Cold start of the command line',
      `Median milliseconds of the whole process in ${COLD_ROUNDS} interleaved runs, the ratio to an empty process, and the peak of the resident memory.`,
      ['command', 'ms', 'ratio', 'memory'],
      commandRows(),
    ),
    markdown(
      'Phases of a cold start',
      'Of a process that uses the library. Each runtime has its own worker thread.',
      phaseHead,
      phases,
    ),
    markdown(
      'The first hundred calls of a process',
      `Milliseconds by call number. Calls follow each other without a pause. Median of ${CURVE_ROUNDS} processes.`,
      ['case', ...CURVE.map(String)],
      curveRows(),
    ),
    markdown('Size of the npm package', 'As reported by `npm pack`.', ['part', 'size'], sizeRows()),
  ];
}
