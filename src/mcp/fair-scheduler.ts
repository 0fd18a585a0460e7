/**
 * Decides which queued call runs next. At most `total` calls run at a time. A slot is reserved for every tenant that has
 * no call running, so no tenant waits for another tenant's program to end. Tenants take turns. Calls with the same key
 * run one at a time, and a call that waits for its key holds no slot.
 */

/** The tenant already has the maximum number of calls in the queue. */
export class QueueFullError extends Error {}

interface QueuedCall {
  readonly key: string;
  readonly start: () => void;
}

export class FairScheduler {
  /** Queued calls of each tenant, oldest first. */
  readonly #queues = new Map<string, QueuedCall[]>();
  readonly #running = new Map<string, number>();
  readonly #busyKeys = new Set<string>();
  /** Sequence number of the last call started for each tenant. Its size is bounded by the number of tokens. */
  readonly #servedAt = new Map<string, number>();
  #served = 0;
  #count = 0;

  constructor(
    readonly limits: {
      readonly total: number;
      readonly perTenant: number;
      readonly queued: number;
      /** Number of tenants that may use the server. */
      readonly tenants: number;
    },
  ) {}

  get running(): number {
    return this.#count;
  }

  get queued(): number {
    return [...this.#queues.values()].reduce((sum, queue) => sum + queue.length, 0);
  }

  /** Runs `work` once a slot and its key are free. Rejects with the signal's reason if it aborts while queued. */
  async run<T>(tenant: string, key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#waitForSlot(tenant, key, signal);
    try {
      return await work();
    } finally {
      this.#busyKeys.delete(key);
      this.#count--;
      const left = this.#running.get(tenant)! - 1;
      if (left === 0) this.#running.delete(tenant);
      else this.#running.set(tenant, left);
      this.#dispatch();
    }
  }

  #waitForSlot(tenant: string, key: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const queue = this.#queues.get(tenant) ?? [];
      if (queue.length >= this.limits.queued)
        throw new QueueFullError(`${queue.length} calls are already queued`);
      const abort = () => {
        queue.splice(queue.indexOf(waiting), 1);
        if (queue.length === 0) this.#queues.delete(tenant);
        reject(signal.reason);
      };
      const waiting: QueuedCall = {
        key,
        start: () => {
          signal.removeEventListener('abort', abort);
          resolve();
        },
      };
      signal.addEventListener('abort', abort, { once: true });
      queue.push(waiting);
      this.#queues.set(tenant, queue);
      this.#dispatch();
    });
  }

  /** Starts every call that can start: tenants with the fewest running calls first, then the least recently served. */
  #dispatch(): void {
    const byPriority = (a: string, b: string) =>
      (this.#running.get(a) ?? 0) - (this.#running.get(b) ?? 0) ||
      (this.#servedAt.get(a) ?? 0) - (this.#servedAt.get(b) ?? 0);
    for (let started = true; started; ) {
      const tenants = [...this.#queues.keys()].sort(byPriority);
      started = tenants.some((tenant) => this.#startOne(tenant, this.#queues.get(tenant)!));
    }
  }

  /** Slots that a tenant with running calls may not take: one for each tenant that has none. */
  #reservedSlots(tenant: string): number {
    return this.#running.has(tenant) ? this.limits.tenants - this.#running.size : 0;
  }

  #startOne(tenant: string, queue: QueuedCall[]): boolean {
    const running = this.#running.get(tenant) ?? 0;
    if (running >= this.limits.perTenant || this.#count + this.#reservedSlots(tenant) >= this.limits.total)
      return false;
    const next = queue.findIndex(({ key }) => !this.#busyKeys.has(key));
    if (next < 0) return false;
    const [waiting] = queue.splice(next, 1);
    if (queue.length === 0) this.#queues.delete(tenant);
    this.#count++;
    this.#servedAt.set(tenant, ++this.#served);
    this.#running.set(tenant, running + 1);
    this.#busyKeys.add(waiting!.key);
    waiting!.start();
    return true;
  }
}
