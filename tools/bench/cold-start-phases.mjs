/** Prints the phases of a cold start of this process as a table in JSON, with a new worker thread for each runtime. */
import { performance } from 'node:perf_hooks';
import { formatDuration } from '../../packages/core/dist/quantities.js';
import { installedRuntimes } from '../../packages/core/dist/runtimes/artifacts/guest-artifacts.js';
import { LANGUAGES } from '../../packages/core/dist/runtimes/registry/languages.js';
import { createSandbox } from '../../packages/core/dist/session/create-sandbox.js';
import { measureFirstRun } from '../../packages/core/dist/worker/pool/measure-first-run.js';
import { THREAD_PHASES } from '../../packages/core/dist/worker/protocol/startup-phases.js';

const processMs = performance.nodeTiming.bootstrapComplete;
const libraryMs = performance.now() - processMs;
const runtimes = installedRuntimes();
const starts = [];
for (const runtime of runtimes) {
  const start = {};
  start.durations = await measureFirstRun(async (pool) => {
    const started = performance.now();
    const sandbox = await createSandbox({ runtime, pool });
    await sandbox.execute(LANGUAGES[runtime].checkProgram);
    start.total = performance.now() - started;
    await sandbox.execute(LANGUAGES[runtime].checkProgram);
    start.again = performance.now() - started - start.total;
    await sandbox.close();
  });
  starts.push(start);
}
const same = (milliseconds) => starts.map(() => formatDuration(milliseconds));
const phase = (duration) => (duration === undefined ? '-' : formatDuration(duration));
console.log(
  JSON.stringify([
    ['PHASE', ...runtimes],
    ['start the process', ...same(processMs)],
    ['load the library', ...same(libraryMs)],
    ...THREAD_PHASES.map((name) => [
      name.replaceAll('_', ' '),
      ...starts.map(({ durations }) => phase(durations[name])),
    ]),
    ['new sandbox and first call', ...starts.map(({ total }) => formatDuration(total))],
    ['second call', ...starts.map(({ again }) => formatDuration(again))],
  ]),
);
process.exit();
