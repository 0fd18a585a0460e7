/** The options of a pool of worker threads. */
import * as z from 'zod';
import { described, optionalField, wholeNumber } from './fields.ts';
import { isolationMode, optimizationMode } from './sandbox-options.ts';

const count = wholeNumber(1);

export const poolOptions = z.strictObject({
  maxWorkers: optionalField(
    count.max(1024),
    'Maximum number of threads. Threads beyond one per core are started only while long-running programs occupy all others, so that short programs do not have to wait. Default: four per core.',
  ),
  maxRunningPerTenant: optionalField(
    count,
    'Maximum number of calls of one tenant that run at the same time. Default: `maxWorkers`.',
  ),
  maxQueuedPerTenant: optionalField(
    count,
    'Maximum number of calls of one tenant that are waiting. Further calls throw `queue_full`. Default: no limit.',
  ),
  expectedTenants: described(
    count.default(1),
    'Number of tenants that are each guaranteed a worker. For each of these tenants without a running call, one worker is kept free.',
  ),
  maxHeldBytes: described(
    count.default(2 * 1024 * 1024 * 1024),
    'Maximum size in bytes of the files and interpreter memory that open sessions hold in memory. At the limit, idle sessions are unloaded until they are used again. If that is not enough, calls throw `session_limit`. Sessions in a `memoryStore` do not count; the store limits them.',
  ),
  maxHeldBytesPerTenant: optionalField(
    count,
    'The same maximum for the open sessions of one tenant. Default: `maxHeldBytes`.',
  ),
  fuelPerMinutePerTenant: optionalField(
    count,
    'Maximum fuel that the programs of one tenant can use per minute. Further calls throw `rate_limited`. Default: no limit.',
  ),
  isolation: described(
    isolationMode.default('thread'),
    'Where guests run. `thread`: in threads of this process. `process`: in threads of a separate process. The permission model of Node.js restricts that process to reading the files of this package and of its dependency pako. `process` needs more memory. The state of every call is copied to that process, and so are files that it does not have yet.',
  ),
  optimization: described(
    optimizationMode.default('idle'),
    'When V8 optimises the interpreters. `idle`: in advance, by running short programs that are part of this package while no call is running. This takes a few seconds of processor time for each language in use, once per pool. The first sandbox also starts the first thread. `demand`: while calls are running. A long-running program that is among the first calls can take several times longer than it would later.',
  ),
});
/** Options of `createPool`. */
export interface PoolOptions extends z.input<typeof poolOptions> {}
