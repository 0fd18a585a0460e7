/** Threads that need the garbage collector at the same moment. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';

const MODULE = new URL('../../packages/core/dist/host/collect-garbage.js', import.meta.url).href;
const THREADS = 4;
const ROUNDS = 50;

/** Loads a new copy of the module in each round, waits until all threads have, and collects. */
const PROGRAM = `
const { parentPort, workerData: arrived } = require('node:worker_threads');
(async () => {
  for (let round = 0; round < ${ROUNDS}; round++) {
    const { collectGarbage } = await import('${MODULE}?' + round);
    Atomics.add(arrived, round, 1);
    while (Atomics.load(arrived, round) < ${THREADS});
    collectGarbage();
  }
  parentPort.postMessage('done');
})();
`;

test('all find it, although the flag that provides it belongs to the process', async () => {
  const arrived = new Int32Array(new SharedArrayBuffer(4 * ROUNDS));
  const threads = Array.from(
    { length: THREADS },
    () => new Worker(PROGRAM, { eval: true, workerData: arrived }),
  );
  const answers = await Promise.all(threads.map((thread) => once(thread, 'message'))).finally(() =>
    Promise.all(threads.map((thread) => thread.terminate())),
  );
  expect(answers).toEqual(threads.map(() => ['done']));
});
