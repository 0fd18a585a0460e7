/** Runs asynchronous tasks one at a time, in the order in which they were queued. A failed task does not stop the queue. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { SandboxError } from '../errors.ts';

export class SerialQueue {
  #tail: Promise<void> = Promise.resolve();
  /** Tasks that have not settled. */
  #size = 0;

  /**
   * Queues a task and settles as the task does. The task never starts before `run` has returned. Rejects with `queue_full` if
   * `maxWaiting` tasks are already waiting for another one.
   */
  run<T>(task: () => T | Promise<T>, maxWaiting = Number.POSITIVE_INFINITY): Promise<T> {
    if (this.#size > maxWaiting) return Promise.reject(queueFull(maxWaiting));
    this.#size++;
    const result = this.#tail.then(task);
    this.#tail = result.then(this.#settled, this.#settled);
    return result;
  }

  readonly #settled = () => {
    this.#size--;
  };

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

function queueFull(maxWaiting: number): SandboxError {
  const fact = `The queue of calls is full (limit ${maxWaiting})`;
  return new SandboxError('queue_full', `${fact}. Wait until a call ends, then try again.`);
}

/** Tasks with the same key run one at a time. A queue exists only while it has tasks. */
export class KeyedQueues {
  readonly #queues = new Map<string, { readonly queue: SerialQueue; users: number }>();

  async run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const entry = this.#queues.get(key) ?? { queue: new SerialQueue(), users: 0 };
    this.#queues.set(key, entry);
    entry.users++;
    try {
      return await entry.queue.run(task);
    } finally {
      if (--entry.users === 0) this.#queues.delete(key);
    }
  }
}
