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
   * Maximum number of threads. Threads beyond one per core are started only while long-running programs occupy all others,
   * so that short programs do not have to wait. Default: four per core. Maximum: 1,024.
   */
  readonly maxWorkers?: number;
  /** Maximum number of calls of one tenant that run at the same time. Default: `maxWorkers`. */
  readonly maxRunningPerTenant?: number;
  /** Maximum number of calls of one tenant that are waiting. Further calls throw `queue_full`. Default: no limit. */
  readonly maxQueuedPerTenant?: number;
  /**
   * Number of tenants that are each guaranteed a worker. For each of these tenants without a running call, one worker is
   * kept free. Default: 1.
   */
  readonly expectedTenants?: number;
  /**
   * Maximum size in bytes of the files and interpreter memory that open sessions hold in memory. At the limit, idle sessions
   * are unloaded until they are used again. If that is not enough, calls throw `session_limit`. Sessions in a `memoryStore`
   * do not count; the store limits them. Default: 2 GiB.
   */
  readonly maxHeldBytes?: number;
  /** The same maximum for the open sessions of one tenant. Default: `maxHeldBytes`. */
  readonly maxHeldBytesPerTenant?: number;
  /**
   * Maximum fuel that the programs of one tenant can use per minute. Further calls throw `rate_limited`. Default: no limit.
   */
  readonly fuelPerMinutePerTenant?: number;
  /**
   * Where guests run. `thread`: in threads of this process. `process`: in threads of a separate process. The permission
   * model of Node.js restricts that process to reading the files of this package and of its dependencies zod and pako.
   * `process` needs more memory. The state of every call is copied to that process, and so are files that it does not have
   * yet. Default: `thread`.
   */
  readonly isolation?: Isolation;
  /**
   * When V8 optimises the interpreters. `idle`: in advance, by running short programs that are part of this package while no
   * call is running. This takes a few seconds of processor time for each language in use, once per pool. The first sandbox
   * also starts the first thread. `demand`: while calls are running. A long-running program that is among the first calls
   * can take several times longer than it would later. Default: `idle`.
   */
  readonly optimization?: Optimization;
}
