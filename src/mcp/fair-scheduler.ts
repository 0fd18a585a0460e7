/**
 * Who may run next. At most so many programs run at a time, and a place is kept for every tenant who has none running,
 * so nobody waits for the end of somebody else's program; tenants take turns, so one with a hundred calls delays another
 * by at most one of them; calls of one session wait for each other without holding a place.
 */

/** A call that cannot even wait, because its tenant has too many waiting. */
export class QueueFullError extends Error {}

interface Waiting {
  readonly key: string;
  readonly start: () => void;
}

export class FairScheduler {
  /** Waiting calls by tenant. */
  readonly #queues = new Map<string, Waiting[]>();
  readonly #running = new Map<string, number>();
  readonly #busyKeys = new Set<string>();
  /** When each tenant last got a turn, counted in turns. There are as many tenants as tokens. */
  readonly #servedAt = new Map<string, number>();
  #served = 0;
  #count = 0;

  constructor(
    readonly limits: {
      readonly total: number;
      readonly perTenant: number;
      readonly queued: number;
      /** How many tenants there can be. */
      readonly tenants: number;
    },
  ) {}

  get running(): number {
    return this.#count;
  }

  get queued(): number {
    return [...this.#queues.values()].reduce((sum, queue) => sum + queue.length, 0);
  }

  /** Runs `work` when its turn comes; rejects with the signal's reason when that comes first. */
  async run<T>(tenant: string, key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#turn(tenant, key, signal);
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

  #turn(tenant: string, key: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const queue = this.#queues.get(tenant) ?? [];
      if (queue.length >= this.limits.queued)
        throw new QueueFullError(`${queue.length} calls are waiting already`);
      const abort = () => {
        queue.splice(queue.indexOf(waiting), 1);
        if (queue.length === 0) this.#queues.delete(tenant);
        reject(signal.reason);
      };
      const waiting: Waiting = {
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

  /** Starts what can start: tenants with the fewest programs running first, then those who waited longest for one. */
  #dispatch(): void {
    const first = (a: string, b: string) =>
      (this.#running.get(a) ?? 0) - (this.#running.get(b) ?? 0) ||
      (this.#servedAt.get(a) ?? 0) - (this.#servedAt.get(b) ?? 0);
    for (let started = true; started; ) {
      const tenants = [...this.#queues.keys()].sort(first);
      started = tenants.some((tenant) => this.#startOne(tenant, this.#queues.get(tenant)!));
    }
  }

  /** Places that a tenant leaves free: one for each of the others who has nothing running, if it has itself. */
  #kept(tenant: string): number {
    return this.#running.has(tenant) ? this.limits.tenants - this.#running.size : 0;
  }

  #startOne(tenant: string, queue: Waiting[]): boolean {
    const running = this.#running.get(tenant) ?? 0;
    if (running >= this.limits.perTenant || this.#count + this.#kept(tenant) >= this.limits.total)
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
