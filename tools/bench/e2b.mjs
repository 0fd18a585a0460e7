/**
 * The published SDK of E2B against `serve --e2b`: latency of short calls side by side with the library, and many clients at once.
 * `--minutes=5` sets the duration of the second part.
 */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { createSandbox } from 'llm-wasm-sandbox';
import { serveHttp } from 'llm-wasm-sandbox/mcp';
import { installPinned } from '../../scripts/install-pinned-packages.mjs';
import { markdown, median, ms, quantile, sampleInterleaved, times } from './measure.mjs';

const PACKAGES = ['e2b@2.51.0', '@e2b/code-interpreter@2.8.0'];
const ROUNDS = { warmup: 10, rounds: 100 };
const CLIENTS = 64;
const TENANTS = 4;
const KEYS = Array.from({ length: TENANTS }, (_, i) => `tenant${i}-secret-0123456789`);
const minutes = Number(process.argv.find((arg) => arg.startsWith('--minutes='))?.split('=')[1] ?? 0.5);

const modules = join(installPinned('e2b', PACKAGES), 'node_modules');
const { Sandbox } = await import(pathToFileURL(join(modules, '@e2b/code-interpreter/dist/index.mjs')).href);

/** A server, and the options that lead the SDK to it as each of the tenants. */
async function start() {
  const server = await serveHttp({
    port: 0,
    e2b: true,
    tokens: KEYS.map((key, i) => `tenant${i}=${key}`),
    rate_per_minute: 1_000_000,
    cpu_seconds_per_minute: 60,
  });
  const { origin } = new URL(server.url);
  return { server, options: KEYS.map((apiKey) => ({ apiUrl: origin, sandboxUrl: origin, apiKey })) };
}

/** Rows of calls through the SDK and of the same calls of the library. */
async function latencies(options) {
  const remote = await Sandbox.create(options);
  // As the server, which saves a session before it answers.
  const commit = 'answer';
  const python = await createSandbox({ runtime: 'python', session_id: 'bench-python', commit });
  const bash = await createSandbox({ runtime: 'bash', session_id: 'bench-bash', commit });
  const samples = await sampleInterleaved(
    {
      'runCode SDK': { run: () => remote.runCode('1+1') },
      'runCode library': { run: () => python.execute('1+1') },
      'command SDK': { run: () => remote.commands.run('echo hi') },
      'command library': { run: () => bash.execute('echo hi') },
    },
    ROUNDS,
  );
  await Promise.all([remote.kill(), python.close(), bash.close()]);
  return [
    ["`runCode('1+1')`", 'runCode'],
    ["`commands.run('echo hi')`", 'command'],
  ].map(([call, name]) => {
    const [sdk, library] = ['SDK', 'library'].map((side) => samples[`${name} ${side}`]);
    const shown = [median(sdk), quantile(sdk, 0.95), median(library), quantile(library, 0.95)].map(ms);
    return [call, ...shown, times(median(sdk) / median(library))];
  });
}

/** Clients that run programs and commands until the time is over; each checks its own answers. */
async function load(options) {
  const end = Date.now() + minutes * 60_000;
  const calls = options.map(() => 0);
  const took = [];
  const lost = [];
  const client = async (i) => {
    const sandbox = await Sandbox.create({ ...options[i % TENANTS], timeoutMs: 3_600_000 });
    const check = async (what, run, expected) => {
      const started = performance.now();
      const answer = await run().catch((cause) => `${cause}`);
      took.push(performance.now() - started);
      calls[i % TENANTS]++;
      if (answer !== expected) lost.push(`${what} of client ${i}: ${answer}`);
    };
    const limits = { timeoutMs: 600_000, requestTimeoutMs: 600_000 };
    await sandbox.runCode(`n = 0; me = ${i}`, limits);
    for (let n = 1; n === 1 || Date.now() < end; n++) {
      const cell = async () => (await sandbox.runCode('n += 1; (me, n)', limits)).text;
      await check('runCode', cell, `(${i}, ${n})`);
      await check('command', async () => (await sandbox.commands.run(`echo ${n}`, limits)).stdout, `${n}\n`);
    }
    await sandbox.kill();
  };
  await Promise.all(Array.from({ length: CLIENTS }, (_, i) => client(i)));
  return { calls, took, lost };
}

export async function table() {
  const { server, options } = await start();
  try {
    const rows = await latencies(options[0]);
    const { calls, took, lost } = await load(options);
    for (const one of lost.slice(0, 5)) console.error(`e2b: ${one}`);
    return markdown(
      'E2B: the published SDK and the library',
      `Milliseconds of a call through \`@e2b/code-interpreter\` 2.8.0 and \`serve --e2b\`, and of the same call of the library in the same process, alternately. Both save the session before they answer. Commands of the SDK start a process in a guest of its own; the library runs the command in a shell that exists. ${ROUNDS.rounds} rounds.`,
      ['call', 'SDK median', 'SDK p95', 'library median', 'library p95', 'SDK ÷ library'],
      rows,
      `${CLIENTS} clients of ${TENANTS} tenants at the same time, for ${minutes} min: ${calls.reduce((sum, one) => sum + one, 0)} calls (${calls.join(', ')} per tenant), ${lost.length} lost, median ${ms(median(took))} ms, p99 ${ms(quantile(took, 0.99))} ms.`,
    );
  } finally {
    await server.close();
  }
}
