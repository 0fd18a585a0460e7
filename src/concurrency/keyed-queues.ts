/** Serial queues by key: tasks with the same key run one at a time. A queue exists only while it has tasks. */
import { SandboxError } from '../errors.ts';
import { SerialQueue } from './serial-queue.ts';

export class KeyedQueues {
  readonly #queues = new Map<string, { readonly queue: SerialQueue; users: number }>();

  /** Throws `queue_full` if `maxWaiting` tasks with the same key are already waiting for another one. */
  async run<T>(key: string, task: () => Promise<T>, maxWaiting = Number.POSITIVE_INFINITY): Promise<T> {
    const entry = this.#queues.get(key) ?? { queue: new SerialQueue(), users: 0 };
    if (entry.users > maxWaiting) {
      const fact = `The queue of calls is full (limit ${maxWaiting})`;
      throw new SandboxError('queue_full', `${fact}. Wait until a call ends, then try again.`);
    }
    this.#queues.set(key, entry);
    entry.users++;
    try {
      return await entry.queue.run(task);
    } finally {
      if (--entry.users === 0) this.#queues.delete(key);
    }
  }
}
