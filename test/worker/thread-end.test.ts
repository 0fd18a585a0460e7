/** Node.js aborts the process if a thread ends while it creates a zlib stream (see host/thread-critical-sections.ts). */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { newHostBlock } from '../../packages/core/dist/worker/pool/start-thread.js';
import { ThreadHost } from '../../packages/core/dist/worker/pool/thread-host.js';
import { CONTROL, sectionWord } from '../../packages/core/dist/worker/protocol/control-block.js';
import { repetitions } from '../support/repetitions.ts';

const dist = (path: string) => new URL(`../../packages/core/dist/${path}`, import.meta.url).href;

/** Runs a program in a process of its own. */
const runProgram = (program: string) =>
  promisify(execFile)(process.execPath, ['--input-type=module', '--eval', program]);

/** A thread that stays in a section for a while after its end has been requested, and then tries to enter another one. */
const TWO_SECTIONS = `
const { parentPort, workerData: { section, log } } = require('node:worker_threads');
import('${dist('host/thread-critical-sections.js')}').then(({ protectSections, uninterrupted }) => {
  protectSections(section);
  uninterrupted(() => {
    parentPort.postMessage('entered');
    while (Atomics.load(section, 0) === 1) Atomics.wait(section, 0, 1, 10);
    Atomics.wait(log, 0, 0, 50);
    Atomics.add(log, 0, 1);
  });
  uninterrupted(() => Atomics.add(log, 0, 10));
});`;

/** A thread that compresses without a pause. */
const COMPRESSION = `
const { parentPort, workerData: { section } } = require('node:worker_threads');
Promise.all([import('${dist('host/thread-critical-sections.js')}'), import('${dist('engine/page-diff-codec.js')}')]).then(
  ([{ protectSections }, { encodePageDiff }]) => {
    protectSections(section);
    const compress = () => encodePageDiff(new Int32Array(0), new Map(), []);
    compress();
    parentPort.postMessage('started');
    for (;;) compress();
  },
);`;

test('a thread is terminated after it has left its critical section, and enters no other one', async () => {
  const control = new Int32Array(new SharedArrayBuffer(CONTROL.words * 4));
  const log = new Int32Array(new SharedArrayBuffer(4));
  const worker = new Worker(TWO_SECTIONS, {
    eval: true,
    execArgv: [],
    workerData: { section: sectionWord(control), log },
  });
  await once(worker, 'message');
  const first = { worker, control, hostBlock: newHostBlock() };
  const thread = new ThreadHost([], first).start({ message: () => {}, exit: () => {} });
  await thread.terminate();
  expect(log[0]).toBe(1);
});

test('a process exits after its threads have left their critical sections', async () => {
  const { stdout } = await runProgram(`
import { Worker } from 'node:worker_threads';
import { endBeforeExit } from '${dist('worker/pool/start-thread.js')}';
const section = new Int32Array(new SharedArrayBuffer(4));
const log = new Int32Array(new SharedArrayBuffer(4));
const worker = new Worker(${JSON.stringify(TWO_SECTIONS)}, { eval: true, execArgv: [], workerData: { section, log } });
endBeforeExit(worker, section);
process.on('exit', () => console.log(log[0]));
worker.on('message', () => process.exit());`);
  expect(stdout).toBe('1\n');
});

test('a process ends its threads and exits while they compress', { tags: 'full' }, async () => {
  const { stdout } = await runProgram(`
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { CONTROL, sectionWord } from '${dist('worker/protocol/control-block.js')}';
import { endBeforeExit, newHostBlock } from '${dist('worker/pool/start-thread.js')}';
import { ThreadHost } from '${dist('worker/pool/thread-host.js')}';
const start = async () => {
  const control = new Int32Array(new SharedArrayBuffer(CONTROL.words * 4));
  const worker = new Worker(${JSON.stringify(COMPRESSION)}, { eval: true, execArgv: [], workerData: { section: sectionWord(control) } });
  endBeforeExit(worker, sectionWord(control));
  await once(worker, 'message');
  return { worker, control, hostBlock: newHostBlock() };
};
for (let i = 0; i < ${repetitions(6, 200)}; i++) {
  const first = await start();
  await setTimeout(i % 3);
  await new ThreadHost([], first).start({ message: () => {}, exit: () => {} }).terminate();
}
await Promise.all([start(), start(), start()]);
console.log('ended');
process.exit();`);
  expect(stdout).toBe('ended\n');
});
