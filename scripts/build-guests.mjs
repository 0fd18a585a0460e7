/**
 * Builds the guest of a runtime in a thread of its own, because that executes guest code, whose deep recursion needs a large
 * stack. Programs that the build runs, such as pip, inherit the environment of the thread.
 */
import { fileURLToPath } from 'node:url';
import { parentPort, Worker, workerData } from 'node:worker_threads';

const STACK_MB = 256;

/** Builds a guest and writes its files. `inputs` identifies what it is built from. Resolves with its sizes and omissions. */
export function buildGuest(runtime, inputs, onStep) {
  const thread = new Worker(fileURLToPath(import.meta.url), {
    workerData: { guest: runtime, inputs },
    resourceLimits: { stackSizeMb: STACK_MB },
  });
  return new Promise((resolve, reject) => {
    thread.on('message', ({ step, built }) => (step === undefined ? resolve(built) : onStep(step)));
    thread.on('error', reject);
    thread.on('exit', () =>
      reject(new Error(`The build of the ${runtime} guest has ended without a result.`)),
    );
  });
}

if (workerData?.guest !== undefined) {
  const { guest: runtime, inputs } = workerData;
  const { build } = await import(`../packages/core/dist/runtimes/${runtime}/build/index.js`);
  const { buildGuest: buildFrom } = await import('../packages/core/dist/runtimes/build/build-guest.js');
  const { writeGuest } = await import('../packages/core/dist/runtimes/build/write-guest.js');
  const guest = await buildFrom(build, (step) => parentPort.postMessage({ step }));
  writeGuest(guest, inputs);
  const layers = guest.layers.reduce((sum, { pack }) => sum + pack.length, 0);
  const { module, image, missing } = guest;
  parentPort.postMessage({ built: { module: module.length, layers, image: image.length, missing } });
}
