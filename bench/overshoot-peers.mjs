/**
 * Other sandboxes: how to install each, and how it runs one program under a time and a memory limit. As a worker thread,
 * this file runs the program in its `workerData`: it posts `ready` when the sandbox is, and then the measurements.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';

const FOLDER = fileURLToPath(new URL('.peers/', import.meta.url));

const PEERS = [
  { peer: 'quickjs-wasi 3.6.2', runtime: 'javascript', package: undefined },
  { peer: 'quickjs-emscripten 0.32.0', runtime: 'javascript', package: 'quickjs-emscripten@0.32.0' },
  { peer: 'Monty 0.0.18', runtime: 'python', package: '@pydantic/monty@0.0.18', probe: '@pydantic/monty' },
];

/** Installs missing peers. quickjs-wasi is a dependency of this project, so it is always available. */
export function fetchPeers() {
  mkdirSync(FOLDER, { recursive: true });
  const missing = [];
  const found = PEERS.filter(({ peer, package: name, probe }) => {
    if (name === undefined) return true;
    const at = join(FOLDER, 'node_modules', name.slice(0, name.lastIndexOf('@')));
    try {
      if (!existsSync(at))
        execFileSync(
          'npm',
          [
            'install',
            '--prefix',
            FOLDER,
            '--ignore-scripts',
            '--no-audit',
            '--no-fund',
            '--save-exact',
            name,
          ],
          { stdio: 'pipe' },
        );
      // A native package may have no binary for this platform.
      if (probe)
        execFileSync(
          process.execPath,
          [
            '--input-type=module',
            '-e',
            `await import(${JSON.stringify(pathToFileURL(join(at, 'wrapper.js')).href)})`,
          ],
          { stdio: 'pipe' },
        );
      return true;
    } catch (cause) {
      const reason = /binding|platform|notsup/i.test(String(cause.stderr ?? cause))
        ? `no binary for ${process.platform} ${process.arch}`
        : 'npm could not install it';
      missing.push(`${peer} is not measured: ${reason}.`);
      return false;
    }
  });
  return { folder: FOLDER, found, missing };
}

const SETUP = 'globalThis.console = { log() {}, error() {} };';

const RUN = {
  async 'quickjs-wasi 3.6.2'({ code, timeMs, memoryBytes }, ready) {
    const { QuickJS } = await import('quickjs-wasi');
    const wasm = readFileSync(createRequire(import.meta.url).resolve('quickjs-wasi/quickjs.wasm'));
    let memory;
    const instantiate = WebAssembly.instantiate;
    WebAssembly.instantiate = async (...args) => {
      const instantiated = await instantiate(...args);
      memory ??= (instantiated.instance ?? instantiated).exports.memory;
      return instantiated;
    };
    let deadline = Number.POSITIVE_INFINITY;
    const vm = await QuickJS.create({
      wasm,
      memoryLimit: memoryBytes,
      interruptHandler: () => performance.now() > deadline,
    });
    vm.evalCode(SETUP).dispose();
    ready();
    const started = performance.now();
    deadline = started + timeMs;
    try {
      vm.evalCode(code).dispose();
      while (performance.now() < deadline && vm.executePendingJobs() > 0);
    } catch {}
    return { ms: performance.now() - started, memoryBytes: memory?.buffer.byteLength };
  },

  async 'quickjs-emscripten 0.32.0'({ code, timeMs, memoryBytes, folder }, ready) {
    const { getQuickJS } = createRequire(join(folder, 'x.js'))('quickjs-emscripten');
    const module = await getQuickJS();
    const runtime = module.newRuntime();
    runtime.setMemoryLimit(memoryBytes);
    let deadline = Number.POSITIVE_INFINITY;
    runtime.setInterruptHandler(() => performance.now() > deadline);
    const context = runtime.newContext();
    context.unwrapResult(context.evalCode(SETUP)).dispose();
    ready();
    const started = performance.now();
    deadline = started + timeMs;
    try {
      context.evalCode(code);
      while (performance.now() < deadline && runtime.hasPendingJob()) runtime.executePendingJobs(1);
    } catch {}
    return { ms: performance.now() - started, memoryBytes: module.getWasmMemory?.().buffer.byteLength };
  },

  async 'Monty 0.0.18'({ code, timeMs, memoryBytes, folder }, ready) {
    const { Monty } = await import(
      pathToFileURL(join(folder, 'node_modules/@pydantic/monty/wrapper.js')).href
    );
    let monty;
    ready();
    const started = performance.now();
    try {
      monty = new Monty(code);
      monty.run({
        limits: { maxDurationSecs: timeMs / 1000, maxMemory: memoryBytes },
        printCallback: () => {},
      });
    } catch (cause) {
      // An unsupported feature fails at once; a limit stops the program late and names itself.
      if (performance.now() - started < timeMs / 2 && !/memory|limit|time/i.test(String(cause)))
        return { unsupported: true };
    }
    return { ms: performance.now() - started };
  },
};

if (!isMainThread && workerData?.peer) {
  parentPort.postMessage(await RUN[workerData.peer](workerData, () => parentPort.postMessage('ready')));
}
