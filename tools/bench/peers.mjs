/**
 * The figures of the comparison in README.md: start of a process, a fresh interpreter, and how long programs run under a limit
 * of one second, in this and in other sandboxes. Other sandboxes are installed in a cache outside the repository. Those that
 * cannot run on this machine are listed with the reason, never estimated.
 */
import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { markdown, measuredEnv, median, ms } from './measure.mjs';
import { fetchPeer, ISOLATED_VM_NODE, peerTitle } from './peer-packages.mjs';

const SCRIPT = fileURLToPath(new URL('peer-process.mjs', import.meta.url));
const PROCESS_ROUNDS = 5;
/** When a process whose limit has failed is killed. */
const KILL_MS = 15_000;

const pyodide = createRequire(import.meta.url)('pyodide/package.json').version;

const PEERS = [
  { peer: 'ours-python', title: 'this sandbox, Python' },
  { peer: 'ours-javascript', title: 'this sandbox, JavaScript' },
  { peer: 'ours-bash', title: 'this sandbox, bash' },
  { peer: 'pyodide', title: `Pyodide ${pyodide} in Node.js, with an interrupt buffer` },
  { peer: 'monty', title: `${peerTitle('monty')} (a subset of Python)`, isFetched: true },
  { peer: 'vercel-run', title: `${peerTitle('vercel-run')} (JavaScript)`, isFetched: true },
  {
    peer: 'just-bash',
    title: `${peerTitle('just-bash')} (bash in JavaScript), its limits on counts raised`,
    isFetched: true,
  },
  {
    peer: 'isolated-vm',
    title: `${peerTitle('isolated-vm')} (JavaScript), with Node.js 24`,
    isFetched: true,
    node: ISOLATED_VM_NODE,
  },
];

/** Sandboxes for which this machine lacks something, and what that is. */
function notMeasured() {
  const docker = spawnSync('docker', ['info', '--format', '{{.ServerVersion}}'], { encoding: 'utf8' });
  return [
    docker.status === 0
      ? 'Docker is not measured: this benchmark has no image to run.'
      : 'Docker is not measured: no daemon is running on this machine.',
    "E2B is not measured: it runs on its provider's servers and needs an account.",
  ];
}

function start({ peer, node }, action, folder) {
  const command = node === undefined ? process.execPath : join(folder, node);
  const started = performance.now();
  const { status, stdout, stderr, error } = spawnSync(command, [SCRIPT, peer, action, folder], {
    encoding: 'utf8',
    env: measuredEnv,
    timeout: KILL_MS + (action === 'short' ? 60_000 : 0),
    killSignal: 'SIGKILL',
  });
  const took = performance.now() - started;
  if (error?.code === 'ETIMEDOUT') return { isKilled: true };
  if (status !== 0)
    throw new Error(
      stderr
        .trim()
        .split('\n')
        .find((line) => /^\w*Error\b/.test(line)) ?? stderr,
    );
  return { took, samples: stdout === '' ? [] : JSON.parse(stdout) };
}

function measure(one) {
  const folder = one.isFetched ? fetchPeer(one.peer) : '';
  start(one, 'once', folder);
  const cold = Array.from({ length: PROCESS_ROUNDS }, () => start(one, 'once', folder).took);
  const { samples } = start(one, 'short', folder);
  const limited = ['loop', 'builtin'].map((action) => {
    const { isKilled, samples: times } = start(one, action, folder);
    return isKilled ? `more than ${KILL_MS / 1000} s` : `${(times[0] / 1000).toFixed(1)} s`;
  });
  return [one.title, ms(median(cold)), ms(median(samples)), ...limited];
}

export async function table() {
  const rows = [];
  const notes = notMeasured();
  for (const one of PEERS) {
    process.stderr.write(`peers: ${one.title} …\n`);
    try {
      rows.push(measure(one));
    } catch (cause) {
      notes.push(`${one.title} is not measured: ${cause.message.trim().split('\n')[0]}.`);
    }
  }
  return markdown(
    'Other sandboxes',
    [
      `"Process start" is the time from the start of a process to the end of a program that prints 1, median of ${PROCESS_ROUNDS}. "Fresh interpreter" is the time of such a program in a process that has already run 40 programs (Pyodide: one), median of 40 (Pyodide: three). The last two columns are the time until a limit of one second stops a program. One program is an endless loop. The other is a long call to a built-in function, which can also end by itself: \`3**20000000\` in Python, \`new Array(2e8) + ''\` in JavaScript, \`x={1..20000000}\` after \`echo\` in bash.`,
      ...notes,
    ].join(' '),
    [
      'sandbox',
      'process start (ms)',
      'fresh interpreter (ms)',
      'endless loop, limit 1 s',
      'long built-in, limit 1 s',
    ],
    rows,
  );
}
