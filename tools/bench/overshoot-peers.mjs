/**
 * Other sandboxes: how each runs one program under a time and a memory limit. As a worker thread,
 * this file runs the program in its `workerData`: it posts `ready` when the sandbox is, and then the measurements.
 */
import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { fetchPeer, loadQuickJsWasi, peerTitle } from './peer-packages.mjs';

const MONTY_ENTRY = 'node_modules/@pydantic/monty/wrapper.js';

const PEERS = [
  {
    peer: 'quickjs-wasi',
    title: peerTitle('quickjs-wasi'),
    runtime: 'javascript',
  },
  {
    peer: 'quickjs-emscripten',
    title: peerTitle('quickjs-emscripten'),
    runtime: 'javascript',
  },
  {
    peer: 'monty',
    title: peerTitle('monty'),
    runtime: 'python',
    // A native package may have no binary for this platform.
    entry: MONTY_ENTRY,
  },
];

/** Installs the peers and loads the native ones. */
export function fetchPeers() {
  const missing = [];
  const found = PEERS.flatMap(({ peer, title, runtime, entry }) => {
    try {
      const folder = fetchPeer(peer);
      if (entry !== undefined) load(join(folder, entry));
      return [{ peer, title, runtime, folder }];
    } catch (cause) {
      const reason = /binding|platform|notsup/i.test(String(cause.stderr ?? cause))
        ? `no binary for ${process.platform} ${process.arch}`
        : 'npm could not install it';
      missing.push(`${title} is not measured: ${reason}.`);
      return [];
    }
  });
  return { found, missing };
}

/** Loads a module in a process of its own. Throws if that fails. */
function load(path) {
  const script = `await import(${JSON.stringify(pathToFileURL(path).href)})`;
  execFileSync(process.execPath, ['--input-type=module', '-e', script], { stdio: 'pipe' });
}

const SETUP = 'globalThis.console = { log() {}, error() {} };';

const RUN = {
  async 'quickjs-wasi'({ code, timeMs, memoryBytes, folder }, ready) {
    const { QuickJS, wasm } = await loadQuickJsWasi(folder);
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

  async 'quickjs-emscripten'({ code, timeMs, memoryBytes, folder }, ready) {
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

  async monty({ code, timeMs, memoryBytes, folder }, ready) {
    const { Monty } = await import(pathToFileURL(join(folder, MONTY_ENTRY)).href);
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
