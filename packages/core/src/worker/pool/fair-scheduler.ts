/**
 * Decides which waiting call runs next; the only scheduler of the project. It knows nothing about threads.
 *
 * Calls with the same key run one at a time and in order. Tenants take turns: the one with the fewest running calls goes
 * first, then the one whose last turn is longest ago. A tenant with running calls leaves one place free for
 * every other expected tenant that has none.
 */
import type { CancelSignal } from '../../concurrency/cancellation.ts';
import { SandboxError } from '../../errors.ts';

export interface SchedulerLimits {
  /** Calls that may hold a worker at the same time. */
  readonly maxRunning: number;
  readonly maxRunningPerTenant: number;
  readonly maxQueuedPerTenant: number;
  /** Tenants for which a place is reserved while they have nothing running. */
  readonly expectedTenants: number;
}

export interface TurnRequest {
  readonly tenant: string;
  readonly key: string;
  /** False for host code that only has to run in order with the calls of its key. */
  readonly needsWorker: boolean;
  readonly signal?: CancelSignal | undefined;
}

/** The right to run. The key, and the place if there is one, stay taken until `release` is called. */
export interface Turn {
  release(): void;
}

interface Waiting {
  readonly needsWorker: boolean;
  readonly grant: () => void;
}

interface TenantQueue {
  /** Waiting calls by key; keys take turns in the order of the map. */
  readonly keys: Map<string, Waiting[]>;
  queued: number;
  /** Calls that hold a worker. */
  running: number;
}

export class FairScheduler {
  /** Tenants with waiting or running calls, in the order of their last turn. */
  readonly #tenants = new Map<string, TenantQueue>();
  readonly #busyKeys = new Set<string>();
  #running = 0;
  #runningTenants = 0;
  #capacity: number;

  /** `capacity` is the number of workers that may be busy; the pool changes it as it starts and stops threads. */
  constructor(
    readonly limits: SchedulerLimits,
    capacity: number,
  ) {
    this.#capacity = capacity;
  }

  /** Calls that hold a worker. */
  get running(): number {
    return this.#running;
  }

  /** Calls that wait for a worker, or for an earlier call with the same key. */
  get queued(): number {
    let count = 0;
    for (const { queued } of this.#tenants.values()) count += queued;
    return count;
  }

  /** Keys whose next call waits for nothing but a worker. */
  get startableKeys(): number {
    let count = 0;
    for (const { keys } of this.#tenants.values())
      for (const key of keys.keys()) if (!this.#busyKeys.has(key)) count++;
    return count;
  }

  get capacity(): number {
    return this.#capacity;
  }

  set capacity(workers: number) {
    this.#capacity = workers;
    this.#dispatch();
  }

  /** Resolves when the turn comes, or with undefined if the signal is aborted first. Rejects with `queue_full`. */
  async acquire({ tenant, key, needsWorker, signal }: TurnRequest): Promise<Turn | undefined> {
    if (signal?.aborted) return undefined;
    const state = this.#tenants.get(tenant) ?? { keys: new Map<string, Waiting[]>(), queued: 0, running: 0 };
    if (needsWorker && state.queued >= this.limits.maxQueuedPerTenant) {
      const fact = `The queue of calls is full (limit ${this.limits.maxQueuedPerTenant})`;
      throw new SandboxError('queue_full', `${fact}. Wait until a call ends, then try again.`);
    }
    this.#tenants.set(tenant, state);
    return new Promise((resolve) => {
      let isGranted = false;
      const withdraw = () => {
        this.#remove(tenant, key, waiting);
        resolve(undefined);
      };
      let stopListening = () => {};
      const waiting: Waiting = {
        needsWorker,
        grant: () => {
          isGranted = true;
          stopListening();
          resolve({ release: once(() => this.#release(tenant, key, needsWorker)) });
        },
      };
      const queue = state.keys.get(key);
      if (queue === undefined) state.keys.set(key, [waiting]);
      else queue.push(waiting);
      state.queued++;
      this.#startHostCode(tenant, key);
      this.#dispatch();
      if (isGranted || signal === undefined) return;
      signal.addEventListener('abort', withdraw, { once: true });
      stopListening = () => signal.removeEventListener('abort', withdraw);
    });
  }

  #remove(tenant: string, key: string, waiting: Waiting): void {
    const state = this.#tenants.get(tenant)!;
    const queue = state.keys.get(key)!;
    queue.splice(queue.indexOf(waiting), 1);
    if (queue.length === 0) state.keys.delete(key);
    state.queued--;
    this.#forgetIfUnused(tenant, state);
    this.#startHostCode(tenant, key);
    this.#dispatch();
  }

  #release(tenant: string, key: string, heldWorker: boolean): void {
    this.#busyKeys.delete(key);
    const state = this.#tenants.get(tenant);
    if (heldWorker) {
      this.#running--;
      if (--state!.running === 0) this.#runningTenants--;
      this.#moveToEnd(tenant, state!);
    }
    if (state !== undefined) this.#forgetIfUnused(tenant, state);
    this.#startHostCode(tenant, key);
    this.#dispatch();
  }

  /** Moves a tenant behind all other tenants: when one of its calls starts, and again when that call ends. */
  #moveToEnd(tenant: string, state: TenantQueue): void {
    this.#tenants.delete(tenant);
    this.#tenants.set(tenant, state);
  }

  #forgetIfUnused(tenant: string, { queued, running }: TenantQueue): void {
    if (queued === 0 && running === 0) this.#tenants.delete(tenant);
  }

  /** Starts the next call of a key if it needs no worker. Such calls wait for their key and for nothing else. */
  #startHostCode(tenant: string, key: string): void {
    const state = this.#tenants.get(tenant);
    const next = state?.keys.get(key)?.[0];
    if (next === undefined || next.needsWorker || this.#busyKeys.has(key)) return;
    this.#start(tenant, state!, key);
  }

  /** Starts calls as long as one of them may take a worker. */
  #dispatch(): void {
    while (this.#running < Math.min(this.#capacity, this.limits.maxRunning)) {
      const next = this.#next();
      if (next === undefined) return;
      const state = this.#tenants.get(next.tenant)!;
      this.#running++;
      if (state.running++ === 0) this.#runningTenants++;
      this.#moveToEnd(next.tenant, state);
      this.#start(next.tenant, state, next.key);
    }
  }

  #next(): { readonly tenant: string; readonly key: string } | undefined {
    let best: { readonly tenant: string; readonly key: string; readonly running: number } | undefined;
    for (const [tenant, state] of this.#tenants) {
      const { running } = state;
      if (running >= (best?.running ?? Number.POSITIVE_INFINITY) || !this.#hasPlace(running)) continue;
      const key = this.#startableKey(state);
      if (key === undefined) continue;
      best = { tenant, key, running };
      if (running === 0) break;
    }
    return best;
  }

  /** Whether a tenant with `running` calls may start one more. */
  #hasPlace(running: number): boolean {
    const { maxRunning, maxRunningPerTenant, expectedTenants } = this.limits;
    const reserved = running === 0 ? 0 : Math.max(0, expectedTenants - this.#runningTenants);
    return running < maxRunningPerTenant && this.#running + reserved < maxRunning;
  }

  #startableKey({ keys }: TenantQueue): string | undefined {
    for (const key of keys.keys()) if (!this.#busyKeys.has(key)) return key;
    return undefined;
  }

  #start(tenant: string, state: TenantQueue, key: string): void {
    const queue = state.keys.get(key)!;
    const { grant } = queue.shift()!;
    state.keys.delete(key);
    if (queue.length > 0) state.keys.set(key, queue);
    state.queued--;
    this.#busyKeys.add(key);
    this.#forgetIfUnused(tenant, state);
    grant();
  }
}

function once(work: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    work();
  };
}
