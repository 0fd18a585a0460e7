/**
 * Runs one program in one sandbox, in a process of its own: `node peer-process.mjs PEER ACTION FOLDER`. Prints the
 * measured milliseconds as JSON. Programs that do not end by themselves are stopped by the time limit of the sandbox,
 * one second.
 */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';

const [peer, action, folder] = process.argv.slice(2);
const LIMIT_MS = 1000;
const ROUNDS = 40;
const WARMUP = 40;
const installed = (path) => import(pathToFileURL(join(folder, 'node_modules', path)).href);

const PROGRAMS = {
  python: { short: 'print(1)', loop: 'while True: pass', builtin: 'x = 3**20000000' },
  bash: { short: 'echo 1', loop: 'while :; do :; done', builtin: 'echo x={1..20000000} > /dev/null' },
  javascript: { short: '1', loop: 'for (;;);', builtin: "new Array(2e8) + ''" },
};

/** For each sandbox: the language, and a function that loads it and returns `run(code)`, which uses a fresh interpreter. */
const PEERS = {
  'ours-python': { language: 'python', load: () => ours('python') },
  'ours-javascript': { language: 'javascript', load: () => ours('javascript') },

  'ours-bash': { language: 'bash', load: () => ours('bash') },

  pyodide: {
    language: 'python',
    rounds: 3,
    warmup: 1,
    async load() {
      const { loadPyodide } = await import('pyodide');
      return async (code) => {
        const pyodide = await loadPyodide({ stdout: () => {} });
        const interrupt = new Int32Array(new SharedArrayBuffer(4));
        pyodide.setInterruptBuffer(interrupt);
        const source = `const { parentPort, workerData } = require('node:worker_threads');
          setTimeout(() => Atomics.store(workerData, 0, 2), ${LIMIT_MS}); parentPort.postMessage('ready');`;
        const timer = new Worker(source, { eval: true, workerData: interrupt });
        await new Promise((resolve) => timer.once('message', resolve));
        const started = performance.now();
        try {
          pyodide.runPython(code);
        } catch {}
        const ms = performance.now() - started;
        await timer.terminate();
        return ms;
      };
    },
  },

  'isolated-vm': {
    language: 'javascript',
    async load() {
      const ivm = createRequire(join(folder, 'x.js'))('isolated-vm');
      return async (code) => {
        const isolate = new ivm.Isolate({ memoryLimit: 256 });
        try {
          const context = await isolate.createContext();
          await context.eval(code, { timeout: LIMIT_MS });
        } catch {}
        if (!isolate.isDisposed) isolate.dispose();
      };
    },
  },

  'just-bash': {
    language: 'bash',
    async load() {
      const { Bash } = await installed('just-bash/dist/bundle/index.js');
      const executionLimits = {
        maxLoopIterations: Number.MAX_SAFE_INTEGER,
        maxCommandCount: Number.MAX_SAFE_INTEGER,
      };
      return async (code) => {
        await new Bash({ executionLimits }).exec(code, { signal: AbortSignal.timeout(LIMIT_MS) });
      };
    },
  },

  monty: {
    language: 'python',
    async load() {
      const { Monty } = await installed('@pydantic/monty/wrapper.js');
      return async (code) => {
        try {
          new Monty(code).run({
            limits: { maxDurationSecs: LIMIT_MS / 1000, maxMemory: 256 * 2 ** 20 },
            printCallback: () => {},
          });
        } catch {}
      };
    },
  },

  'vercel-run': {
    language: 'javascript',
    async load() {
      const { run } = await installed('run/dist/index.js');
      return async (source) => {
        try {
          await run({ source, limits: { timeoutMs: LIMIT_MS } });
        } catch {}
      };
    },
  },
};

async function ours(runtime) {
  const { createSandbox } = await import('llm-wasm-sandbox');
  return async (code) => {
    const policy = { timeout_seconds: LIMIT_MS / 1000, fuel_budget: 1e15 };
    const sandbox = await createSandbox({ runtime, policy });
    await sandbox.execute(code);
    await sandbox.close();
  };
}

const { language, load, rounds = ROUNDS, warmup = WARMUP } = PEERS[peer];
const program = PROGRAMS[language][action] ?? PROGRAMS[language].short;
const run = await load();

async function timed() {
  const started = performance.now();
  const ms = await run(program);
  // Pyodide reports the time without its start, which counts only for a fresh interpreter.
  return action === 'short' ? performance.now() - started : (ms ?? performance.now() - started);
}

if (action === 'once') await run(program);
else if (action === 'short') {
  const samples = [];
  for (let i = -warmup; i < rounds; i++) samples.push(await timed());
  console.log(JSON.stringify(samples.slice(warmup)));
} else {
  await run(PROGRAMS[language].short);
  console.log(JSON.stringify([await timed()]));
}
process.exit();
