/** Runs asynchronous tasks one at a time, in the order in which they were queued. A failed task does not stop the queue. */
import { setImmediate as nextTurn } from 'node:timers/promises';

export class SerialQueue {
  #tail: Promise<void> = Promise.resolve();

  /** Queues a task and settles as the task does. The task never starts before `run` has returned. */
  run<T>(task: () => T | Promise<T>): Promise<T> {
    const result = this.#tail.then(task);
    this.#tail = result.then(ignore, ignore);
    return result;
  }

  /** Queues a task that starts in a later turn of the event loop, so that the caller does not wait for it. */
  runLater<T>(task: () => T | Promise<T>): Promise<T> {
    return this.run(async () => {
      await nextTurn();
      return task();
    });
  }

  /** Resolves once every task queued so far has settled. Never rejects: each failure is reported by its own `run`. */
  idle(): Promise<void> {
    return this.#tail;
  }
}

function ignore(): void {}
