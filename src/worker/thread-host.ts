/**
 * Worker threads of this process. Cancellation, fuel and the request to yield are words in shared memory, so that a
 * thread sees them while it runs a guest.
 */
import { Worker } from 'node:worker_threads';
import { sharedBuffers } from '../fs/shared-bytes.ts';
import {
  CONTROL,
  type FromWorker,
  FUEL_UNIT,
  type Job,
  type ToWorker,
  type WorkerSettings,
} from './protocol.ts';
import type { ThreadEvents, WorkerHost, WorkerThread } from './worker-host.ts';

/** Stack size of a thread: recursion in the C code of the interpreters needs more than the default. */
const STACK_MB = 64;

export class ThreadHost implements WorkerHost {
  readonly #yieldFlag = new Int32Array(new SharedArrayBuffer(4));

  /** With permission flags, the threads refuse to run without the restrictions that the flags stand for. */
  constructor(readonly permissionFlags: readonly string[] = []) {}

  start(events: ThreadEvents): WorkerThread {
    return new LocalThread(this.#yieldFlag, this.permissionFlags, events);
  }

  setYield(isWanted: boolean): void {
    if (Atomics.exchange(this.#yieldFlag, 0, isWanted ? 1 : 0) === 1 && !isWanted)
      Atomics.notify(this.#yieldFlag, 0);
  }
}

class LocalThread implements WorkerThread {
  readonly #worker: Worker;
  readonly #control = new Int32Array(new SharedArrayBuffer(CONTROL.words * 4));
  /** Shared buffers that the thread has received. */
  readonly #received = new WeakSet<SharedArrayBuffer>();

  constructor(yieldFlag: Int32Array, permissionFlags: readonly string[], events: ThreadEvents) {
    const workerData: WorkerSettings = {
      control: this.#control.buffer as SharedArrayBuffer,
      yieldFlag: yieldFlag.buffer as SharedArrayBuffer,
      mustBeRestricted: permissionFlags.length > 0,
    };
    this.#worker = new Worker(new URL('./entry.js', import.meta.url), {
      workerData,
      resourceLimits: { stackSizeMb: STACK_MB },
      // A guest's thread gets neither the flags nor the environment of the process. Permissions are not inherited: a
      // thread without its own flags would have none of the restrictions of its process.
      execArgv: [...permissionFlags],
      env: {},
    });
    this.#worker.unref();
    // An error is always followed by `exit`, and says nothing that the outcome does not.
    this.#worker.on('error', () => {});
    this.#worker.on('message', (message: FromWorker) => events.message(message));
    this.#worker.on('exit', () => events.exit());
  }

  get fuelSpent(): number {
    return Atomics.load(this.#control, CONTROL.fuelMillions) * FUEL_UNIT;
  }

  send(message: ToWorker): void {
    if (message.type !== 'job') this.#worker.postMessage(message);
    else {
      Atomics.store(this.#control, CONTROL.fuelMillions, 0);
      this.#worker.postMessage({ ...message, newBuffers: this.#newBuffers(message.job) } satisfies ToWorker);
    }
  }

  #newBuffers(job: Job): SharedArrayBuffer[] {
    if (job.type !== 'run') return [];
    const { workspace, session } = job;
    const entries = [...workspace, ...(session?.tmp ?? []), ...(session?.edits.entries ?? [])];
    const contents = [...entries.map(({ data }) => data), ...(session?.delta ?? [])];
    const unknown = [...sharedBuffers(contents)].filter((buffer) => !this.#received.has(buffer));
    for (const buffer of unknown) this.#received.add(buffer);
    return unknown;
  }

  cancel(job: number): void {
    Atomics.store(this.#control, CONTROL.cancelledJob, job);
    Atomics.notify(this.#control, CONTROL.cancelledJob);
  }

  setRef(keepsAlive: boolean): void {
    if (keepsAlive) this.#worker.ref();
    else this.#worker.unref();
  }

  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }
}
