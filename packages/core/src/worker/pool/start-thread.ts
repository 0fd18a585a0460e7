/** Starts worker threads. Loads little, so that a process can start its first thread before it loads anything else. */
import { Worker } from 'node:worker_threads';
import { installedFile } from '../../host/install-folder.ts';
import { leaveSection, requestEnd, waitForSections } from '../../host/thread-critical-sections.ts';
import { CONTROL, HOST_BLOCK, sectionWord, type WorkerSettings } from '../protocol/control-block.ts';

/**
 * Stack size of a thread. Recursion in a guest ends when the stack in guest memory is full, at most 5 MiB. The stack of the
 * thread is 50 times as large, because a frame of the engine can be larger than that of the guest. Unused stack takes no memory.
 */
const STACK_MB = 256;

export interface StartedThread {
  readonly worker: Worker;
  /** The control block, in shared memory. */
  readonly control: Int32Array;
  /** The words that it shares with all threads of its host. */
  readonly hostBlock: Int32Array;
}

export const newHostBlock = () => new Int32Array(new SharedArrayBuffer(HOST_BLOCK.words * 4));

/** With permission flags, the thread refuses to run without the restrictions that the flags stand for. */
export function startThread(
  hostBlock: Int32Array,
  permissionFlags: readonly string[],
  isOneShot = false,
): StartedThread {
  const control = new Int32Array(new SharedArrayBuffer(CONTROL.words * 4));
  const workerData: WorkerSettings = {
    control: control.buffer as SharedArrayBuffer,
    hostBlock: hostBlock.buffer as SharedArrayBuffer,
    mustBeRestricted: permissionFlags.length > 0,
    isOneShot,
    startedAt: performance.timeOrigin + performance.now(),
  };
  const worker = new Worker(installedFile('worker/thread-entry.cjs'), {
    workerData,
    resourceLimits: { stackSizeMb: STACK_MB },
    // A guest's thread gets neither the flags nor the environment of the process. Permissions are not inherited: a
    // thread without its own flags would have none of the restrictions of its process.
    execArgv: [...permissionFlags],
    env: {},
  });
  worker.unref();
  // An error is always followed by `exit`, which determines the outcome.
  worker.on('error', () => {});
  endBeforeExit(worker, sectionWord(control));
  return { worker, control, hostBlock };
}

/** The section words of the threads that run. */
const sections = new Set<Int32Array>();

/** When the process exits, Node.js terminates its threads. The exit waits until none of them is in a critical section. */
export function endBeforeExit(worker: Worker, section: Int32Array): void {
  if (sections.size === 0) process.on('exit', endAllSections);
  sections.add(section);
  worker.on('exit', () => {
    leaveSection(section);
    sections.delete(section);
    if (sections.size === 0) process.off('exit', endAllSections);
  });
}

function endAllSections(): void {
  for (const section of sections) requestEnd(section);
  waitForSections(sections);
}
