/** The options of a pool of worker threads, and the schema that checks them. */
import { z } from 'zod';
import { type Isolation, isolationMode, type Optimization, optimizationMode } from '../schema.ts';

const DEFAULT_MAX_HELD_BYTES = 2 * 1024 * 1024 * 1024;

const count = z.number().int().min(1);
/** Schema of the options, with their defaults. */
export const poolOptions = z.strictObject({
  maxWorkers: count.max(1024).optional(),
  maxRunningPerTenant: count.optional(),
  maxQueuedPerTenant: count.optional(),
  expectedTenants: count.default(1),
  maxHeldBytes: count.default(DEFAULT_MAX_HELD_BYTES),
  maxHeldBytesPerTenant: count.optional(),
  fuelPerMinutePerTenant: count.optional(),
  isolation: isolationMode.default('thread'),
  optimization: optimizationMode.default('idle'),
});

/** Options of `createPool`. */
export interface PoolOptions {
  /**
   * Threads that may run at the same time; by default four per core. Those beyond one per core are started while
   * long-running programs occupy the others, so that short programs do not have to wait.
   */
  readonly maxWorkers?: number;
  /** Calls of one tenant that may run at the same time; by default as many as there are workers. */
  readonly maxRunningPerTenant?: number;
  /** Calls of one tenant that may wait; further ones fail with `queue_full`. By default there is no limit. */
  readonly maxQueuedPerTenant?: number;
  /** Number of tenants that are each guaranteed a worker: one is kept free for each of them that has no call running. By default 1. */
  readonly expectedTenants?: number;
  /**
   * Bytes of files and interpreter memory that the open sessions of this pool may hold in memory; by default 2 GiB. At
   * the limit, idle sessions are unloaded until they are used again. If that is not enough, calls fail with
   * `session_limit`. Sessions in a `memoryStore` are limited by the store instead.
   */
  readonly maxHeldBytes?: number;
  /** Like `maxHeldBytes`, but for the sessions of one tenant. The default is the same value. */
  readonly maxHeldBytesPerTenant?: number;
  /**
   * Fuel that the programs of one tenant may use per minute; calls beyond it fail with `rate_limited`. By default there is
   * no limit.
   */
  readonly fuelPerMinutePerTenant?: number;
  /**
   * `thread` runs guests in threads of this process. `process` runs them in threads of a separate process, which Node's
   * permission model restricts to reading the files of this package and of its dependencies zod and pako. This needs more
   * memory. The state of every call and the files that the process does not have yet are copied to it. The default is
   * `thread`.
   */
  readonly isolation?: Isolation;
  /**
   * When V8 optimises the interpreters. `idle`: before calls need it, by running short programs of this package while no
   * call runs; the first sandbox also starts the first thread. This takes a few seconds of processor time for each
   * language in use, once per pool. `demand`: while calls run, which can make a long program among the first ones take
   * several times as long. The default is `idle`.
   */
  readonly optimization?: Optimization;
}
