/**
 * One thread of the pool as the main thread sees it: what it has loaded, what it is doing, and how long already. Whether
 * its program is a long one is read from shared memory, so it can be asked at any time and costs the guest nothing.
 */
import { Worker } from 'node:worker_threads';
import type { GuestAssets } from '../runtimes/guest-artifacts.ts';
import { LONG_RUN_FUEL } from './cooperative-yield.ts';
import { CONTROL, FUEL_UNIT, type ToWorker } from './protocol.ts';

/** Stack of a worker: recursion inside the interpreters' C code needs more than the default. */
const STACK_MB = 64;
/** Images a worker holds at most: each takes the memory of a guest that waits for its next run. */
const IMAGES_PER_WORKER = 4;
/** A program that sleeps or works for so long is not about to end. */
const LONG_MS = 1_000;

export class PoolThread<T> {
  readonly thread: Worker;
  readonly control = new Int32Array(new SharedArrayBuffer(CONTROL.words * 4));
  /** Images it holds, those used longest ago first. */
  readonly #loaded = new Set<string>();
  #current: T | undefined;
  /** When it got what it does, or ended what it did. */
  #since = performance.now();

  /** `yieldFlag` is the word by which long programs are asked to yield. */
  constructor(yieldFlag: Int32Array) {
    const options = {
      workerData: { control: this.control.buffer, yieldFlag: yieldFlag.buffer },
      resourceLimits: { stackSizeMb: STACK_MB },
      // Neither the flags nor the environment of the process are any business of a guest's thread.
      execArgv: [],
      env: {},
    };
    this.thread = new Worker(new URL('./entry.js', import.meta.url), options);
    this.thread.unref();
  }

  get current(): T | undefined {
    return this.#current;
  }

  begin(job: T): void {
    Atomics.store(this.control, CONTROL.fuelMillions, 0);
    this.#current = job;
    this.#since = performance.now();
    this.thread.ref();
  }

  end(): void {
    this.#current = undefined;
    this.#since = performance.now();
    this.thread.unref();
  }

  /** Fuel that the present run has used so far, about. */
  get spent(): number {
    return Atomics.load(this.control, CONTROL.fuelMillions) * FUEL_UNIT;
  }

  /** Whether it is in the middle of something that may take until its limits end it. */
  get isHeld(): boolean {
    if (this.#current === undefined) return false;
    return this.spent >= LONG_RUN_FUEL || performance.now() - this.#since >= LONG_MS;
  }

  isIdleSince(moment: number): boolean {
    return this.#current === undefined && this.#since < moment;
  }

  send(message: ToWorker): void {
    this.thread.postMessage(message);
  }

  /** Sees to it that it has an image, and no more of them than it may hold. */
  load(assets: GuestAssets): void {
    if (!this.#loaded.delete(assets.id)) this.send({ type: 'load', assets });
    this.#loaded.add(assets.id);
    if (this.#loaded.size <= IMAGES_PER_WORKER) return;
    const oldest: string = this.#loaded.values().next().value!;
    this.#loaded.delete(oldest);
    this.send({ type: 'unload', image: oldest });
  }

  cancel(job: number): void {
    Atomics.store(this.control, CONTROL.cancelledJob, job);
    Atomics.notify(this.control, CONTROL.cancelledJob);
  }

  takeDown(): Promise<number> {
    return this.thread.terminate();
  }
}
