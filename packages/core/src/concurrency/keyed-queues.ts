/** Serial queues by key: tasks with the same key run one at a time. A queue exists only while it has tasks. */
import { SerialQueue } from './serial-queue.ts';

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
