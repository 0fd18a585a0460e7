/**
 * Who may run next. At most so many programs run at a time, and a place is kept for every caller who has none running,
 * so nobody waits for the end of somebody else's program; callers take turns, so one with a hundred calls delays another
 * by at most one of them; calls of one session wait for each other without holding a place.
 */

/** A call that cannot even wait, because its caller has too many waiting. */
export class QueueFull extends Error {}

interface Waiting {
  readonly key: string;
  readonly start: () => void;
}

export class Turns {
  /** Waiting calls by caller. */
  readonly #queues = new Map<string, Waiting[]>();
  readonly #running = new Map<string, number>();
  readonly #busyKeys = new Set<string>();
  /** When each caller last got a turn, counted in turns. There are as many callers as tokens. */
  readonly #servedAt = new Map<string, number>();
  #served = 0;
  #count = 0;

  constructor(
    readonly limits: {
      readonly total: number;
      readonly perCaller: number;
      readonly queued: number;
      /** How many callers there can be. */
      readonly callers: number;
    },
  ) {}

  get running(): number {
    return this.#count;
  }

  get queued(): number {
    return [...this.#queues.values()].reduce((sum, queue) => sum + queue.length, 0);
  }

  /** Runs `work` when its turn comes; rejects with the signal's reason when that comes first. */
  async run<T>(caller: string, key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#turn(caller, key, signal);
    try {
      return await work();
    } finally {
      this.#busyKeys.delete(key);
      this.#count--;
      const left = this.#running.get(caller)! - 1;
      if (left === 0) this.#running.delete(caller);
      else this.#running.set(caller, left);
      this.#dispatch();
    }
  }

  #turn(caller: string, key: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const queue = this.#queues.get(caller) ?? [];
      if (queue.length >= this.limits.queued)
        throw new QueueFull(`${queue.length} calls are waiting already`);
      const abort = () => {
        queue.splice(queue.indexOf(waiting), 1);
        if (queue.length === 0) this.#queues.delete(caller);
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
      this.#queues.set(caller, queue);
      this.#dispatch();
    });
  }

  /** Starts what can start: callers with the fewest programs running first, then those who waited longest for one. */
  #dispatch(): void {
    const first = (a: string, b: string) =>
      (this.#running.get(a) ?? 0) - (this.#running.get(b) ?? 0) ||
      (this.#servedAt.get(a) ?? 0) - (this.#servedAt.get(b) ?? 0);
    for (let started = true; started; ) {
      const callers = [...this.#queues.keys()].sort(first);
      started = callers.some((caller) => this.#startOne(caller, this.#queues.get(caller)!));
    }
  }

  /** Places that a caller leaves free: one for each of the others who has nothing running, if it has itself. */
  #kept(caller: string): number {
    return this.#running.has(caller) ? this.limits.callers - this.#running.size : 0;
  }

  #startOne(caller: string, queue: Waiting[]): boolean {
    const running = this.#running.get(caller) ?? 0;
    if (running >= this.limits.perCaller || this.#count + this.#kept(caller) >= this.limits.total)
      return false;
    const next = queue.findIndex(({ key }) => !this.#busyKeys.has(key));
    if (next < 0) return false;
    const [waiting] = queue.splice(next, 1);
    if (queue.length === 0) this.#queues.delete(caller);
    this.#count++;
    this.#servedAt.set(caller, ++this.#served);
    this.#running.set(caller, running + 1);
    this.#busyKeys.add(waiting!.key);
    waiting!.start();
    return true;
  }
}
