/**
 * Worker threads of this process. Cancellation, fuel and the request to yield are words in shared memory, so that a
 * thread sees them while it runs a guest.
 */
import type { Worker } from 'node:worker_threads';
import { sharedBuffers } from '../fs/shared-bytes.ts';
import { CONTROL, FUEL_UNIT } from './control-block.ts';
import type { FromWorker, Job, ToWorker } from './protocol.ts';
import { newYieldFlag, type StartedThread, startThread, takeThreadInAdvance } from './start-thread.ts';
import type { ThreadEvents, WorkerHost, WorkerThread } from './worker-host.ts';

export class ThreadHost implements WorkerHost {
  /** Used for the first thread of the host. */
  #inAdvance: StartedThread | undefined;
  readonly #yieldFlag: Int32Array;

  /** With permission flags, the threads refuse to run without the restrictions that the flags stand for. */
  constructor(readonly permissionFlags: readonly string[] = []) {
    this.#inAdvance = permissionFlags.length === 0 ? takeThreadInAdvance() : undefined;
    this.#yieldFlag = this.#inAdvance?.yieldFlag ?? newYieldFlag();
  }

  start(events: ThreadEvents): WorkerThread {
    const started = this.#inAdvance ?? startThread(this.#yieldFlag, this.permissionFlags);
    this.#inAdvance = undefined;
    return new LocalThread(started, events);
  }

  setYield(isWanted: boolean): void {
    if (Atomics.exchange(this.#yieldFlag, 0, isWanted ? 1 : 0) === 1 && !isWanted)
      Atomics.notify(this.#yieldFlag, 0);
  }
}

class LocalThread implements WorkerThread {
  readonly #worker: Worker;
  readonly #control: Int32Array;
  /** Shared buffers that the thread has received. */
  readonly #received = new WeakSet<SharedArrayBuffer>();

  constructor({ worker, control }: StartedThread, events: ThreadEvents) {
    this.#worker = worker;
    this.#control = control;
    this.#worker.on('message', (message: FromWorker) => events.message(message));
    this.#worker.on('exit', () => events.exit());
    // A listener for messages keeps the process alive. Only a job may do that.
    this.#worker.unref();
  }

  get fuelSpent(): number {
    return Atomics.load(this.#control, CONTROL.fuelMillions) * FUEL_UNIT;
  }

  send(message: ToWorker): void {
    if (message.type !== 'job') {
      this.#worker.postMessage(message);
      if (message.type === 'answer') this.#wake();
    } else {
      Atomics.store(this.#control, CONTROL.fuelMillions, 0);
      this.#worker.postMessage({ ...message, newBuffers: this.#newBuffers(message.job) } satisfies ToWorker);
    }
  }

  #newBuffers(job: Job): SharedArrayBuffer[] {
    if (job.type !== 'run') return [];
    const { workspace, session } = job;
    const entries = [...workspace.edit.entries, ...(session?.tmp ?? []), ...(session?.edits.entries ?? [])];
    const contents = [...entries.map(({ data }) => data), ...(session?.delta ?? [])];
    const unknown = [...sharedBuffers(contents)].filter((buffer) => !this.#received.has(buffer));
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
    await this.#worker.terminate();
  }
}
