/**
 * Worker threads of this process. Cancellation, fuel and the request to yield are words in shared memory, so that a
 * thread sees them while it runs a guest.
 */
import type { Worker } from 'node:worker_threads';
import { requestEnd, untilOutsideSection } from '../../host/thread-critical-sections.ts';
import type { GuestAssets } from '../../runtimes/artifacts/guest-artifacts.ts';
import { CONTROL, FUEL_UNIT, HOST_BLOCK, sectionWord, sharedClockMs } from '../protocol/control-block.ts';
import type { FromWorker, SentJob, ToWorker } from '../protocol/messages.ts';
import { buffersOf } from '../protocol/packed-messages.ts';
import { prepareAhead, type SentAssets } from '../protocol/prepare-ahead.ts';
import { newHostBlock, type StartedThread, startThread } from './start-thread.ts';
import type { ThreadEvents, WorkerHost, WorkerThread } from './worker-host.ts';

export class ThreadHost implements WorkerHost {
  /** Used for the first thread of the host. */
  #first: StartedThread | undefined;
  readonly #hostBlock: Int32Array;

  /** With permission flags, the threads refuse to run without the restrictions that the flags stand for. */
  constructor(
    readonly permissionFlags: readonly string[] = [],
    first?: StartedThread,
  ) {
    this.#first = first;
    this.#hostBlock = first?.hostBlock ?? newHostBlock();
  }

  start(events: ThreadEvents): WorkerThread {
    const first = this.#first;
    this.#first = undefined;
    // A thread that has ended has the number -1.
    const isAlive = first !== undefined && first.worker.threadId >= 0;
    const started = isAlive ? first : startThread(this.#hostBlock, this.permissionFlags);
    return new LocalThread(started, events);
  }

  prepareAhead(assets: GuestAssets): SentAssets {
    return prepareAhead(assets);
  }

  setYield(isWanted: boolean): void {
    const { yieldFlag } = HOST_BLOCK;
    if (Atomics.exchange(this.#hostBlock, yieldFlag, isWanted ? 1 : 0) === 1 && !isWanted)
      Atomics.notify(this.#hostBlock, yieldFlag);
  }

  /** All threads of a process share one boundary. */
  fresh(): undefined {}
}

const NOT_ANSWERS: ReadonlySet<FromWorker['type']> = new Set([
  'output',
  'request',
  'result',
  'saved',
  'optimized',
]);

/** Whether a message is the answer to a job. The state of a session is saved after it. */
export const isAnswer = ({ type }: Pick<FromWorker, 'type'>) => !NOT_ANSWERS.has(type);

class LocalThread implements WorkerThread {
  readonly #worker: Worker;
  readonly #control: Int32Array;
  readonly #hostBlock: Int32Array;
  #hasJob = false;
  /** Shared buffers that the thread has received. */
  readonly #received = new WeakSet<SharedArrayBuffer>();

  constructor({ worker, control, hostBlock }: StartedThread, events: ThreadEvents) {
    this.#worker = worker;
    this.#control = control;
    this.#hostBlock = hostBlock;
    this.#worker.on('message', (message: FromWorker) => {
      if (isAnswer(message)) this.#setHasJob(false);
      events.message(message);
    });
    this.#worker.on('exit', () => {
      this.#setHasJob(false);
      events.exit();
    });
    // A listener for messages keeps the process alive. Only a job may do that.
    this.#worker.unref();
  }

  get fuelSpent(): number {
    return Atomics.load(this.#control, CONTROL.fuelMillions) * FUEL_UNIT;
  }

  runningMs(job: number): number | undefined {
    if (Atomics.load(this.#control, CONTROL.startedJob) !== job) return undefined;
    return (sharedClockMs() - Atomics.load(this.#control, CONTROL.startedMs)) | 0;
  }

  send(message: ToWorker): void {
    if (message.type === 'load') {
      const { ahead } = message.assets;
      this.#worker.postMessage(message, ahead === undefined ? [] : [ahead.port]);
    } else if (message.type !== 'job') {
      this.#worker.postMessage(message);
      if (message.type === 'answer') this.#wake();
    } else {
      Atomics.store(this.#control, CONTROL.fuelMillions, 0);
      this.#worker.postMessage({ ...message, newBuffers: this.#newBuffers(message.job) } satisfies ToWorker);
      this.#setHasJob(true);
    }
  }

  /** Counts the jobs of the host. A thread has one at a time. */
  #setHasJob(hasJob: boolean): void {
    if (hasJob !== this.#hasJob) Atomics.add(this.#hostBlock, HOST_BLOCK.activeJobs, hasJob ? 1 : -1);
    this.#hasJob = hasJob;
  }

  #newBuffers(job: SentJob): SharedArrayBuffer[] {
    if (job.type !== 'run') return [];
    const unknown = [...buffersOf(job)].filter((buffer) => !this.#received.has(buffer));
    for (const buffer of unknown) this.#received.add(buffer);
    return unknown;
  }

  cancel(job: number): void {
    Atomics.store(this.#control, CONTROL.cancelledJob, job);
    Atomics.notify(this.#control, CONTROL.cancelledJob);
    this.#wake();
  }

  /** Wakes a guest that waits for an answer. */
  #wake(): void {
    Atomics.add(this.#control, CONTROL.answers, 1);
    Atomics.notify(this.#control, CONTROL.answers);
  }

  setRef(keepsAlive: boolean): void {
    if (keepsAlive) this.#worker.ref();
    else this.#worker.unref();
  }

  async terminate(): Promise<void> {
    const section = sectionWord(this.#control);
    requestEnd(section);
    await untilOutsideSection(section);
    await this.#worker.terminate();
  }
}
