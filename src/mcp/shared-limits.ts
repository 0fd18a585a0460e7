/**
 * Limits per minute that apply to all servers with the same database together. Requests are counted in the database in
 * blocks, so most requests need no query. Without the database, each server counts for itself.
 */
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';
import { SandboxError } from '../errors.ts';
import { formatFuel } from '../quantities.ts';
import type { Database } from '../stores/postgres/database.ts';
import type { TenantFuel } from '../worker/tenant-fuel.ts';

const MINUTE_SECONDS = 60;
/** The limit is divided into this many blocks. */
const BLOCKS_PER_MINUTE = 100;
/** Fuel is counted in this unit, because rate-limiter-flexible counts in a column of 32 bits. */
const FUEL_UNIT = 1_000_000;
const MAX_POINTS = 2 ** 31 - 1;

/** Counts the requests of tenants. `consume` rejects with a `RateLimiterRes`. */
export interface RequestLimiter {
  consume(key: string): Promise<unknown>;
}

function limiterOf(database: Database, keyPrefix: string, points: number): RateLimiterPostgres {
  const client = {
    query: ({ text, values }: { text: string; values: unknown[] }) => database.query(text, values),
  };
  return new RateLimiterPostgres({
    storeClient: client,
    storeType: 'pool',
    schemaName: database.schema,
    tableName: 'rate_limits',
    tableCreated: true,
    keyPrefix,
    points,
    duration: MINUTE_SECONDS,
    insuranceLimiter: new RateLimiterMemory({ keyPrefix, points, duration: MINUTE_SECONDS }),
  });
}

export class SharedRequestLimiter implements RequestLimiter {
  readonly #limiter: RateLimiterPostgres;
  readonly #block: number;
  /** Requests that were counted in the database but have not arrived. */
  readonly #left = new Map<string, { count: number; expiresMs: number }>();
  /** Blocks that are being counted. Concurrent requests share a block, so that none of it is lost. */
  readonly #counting = new Map<string, Promise<void>>();

  constructor(database: Database, perMinute: number) {
    this.#limiter = limiterOf(database, 'requests', perMinute);
    this.#block = Math.max(1, Math.floor(perMinute / BLOCKS_PER_MINUTE));
  }

  async consume(key: string): Promise<void> {
    while (!this.#take(key)) await (this.#counting.get(key) ?? this.#countBlock(key));
  }

  #take(key: string): boolean {
    const left = this.#left.get(key);
    if (left === undefined || left.count === 0 || performance.now() >= left.expiresMs) return false;
    left.count--;
    return true;
  }

  #countBlock(key: string): Promise<void> {
    const count = async () => {
      try {
        const { msBeforeNext } = await this.#limiter.consume(key, this.#block);
        this.#left.set(key, { count: this.#block, expiresMs: performance.now() + msBeforeNext });
      } finally {
        this.#counting.delete(key);
      }
    };
    const counting = count();
    this.#counting.set(key, counting);
    return counting;
  }
}

/** The fuel that the programs of a tenant may use per minute on all servers together. */
export class SharedFuel implements TenantFuel {
  readonly #limiter: RateLimiterPostgres;

  constructor(
    database: Database,
    readonly perMinute: number,
  ) {
    const points = Math.min(MAX_POINTS, Math.max(1, Math.ceil(perMinute / FUEL_UNIT)));
    this.#limiter = limiterOf(database, 'fuel', points);
  }

  async check(tenant: string): Promise<void> {
    const used = await this.#limiter.get(tenant);
    if (used === null || used.remainingPoints > 0) return;
    const seconds = Math.max(1, Math.ceil(used.msBeforeNext / 1000));
    throw new SandboxError(
      'rate_limited',
      `The programs of this tenant have used ${formatFuel(this.perMinute)} fuel, the limit per minute. Retry in ${seconds} s.`,
    );
  }

  charge(tenant: string, fuel: number): void {
    const points = Math.min(MAX_POINTS, Math.ceil(fuel / FUEL_UNIT));
    // Beyond the limit, the call rejects with the state of the limiter.
    this.#limiter.penalty(tenant, points).catch((cause: unknown) => {
      if (!(cause instanceof RateLimiterRes) && !(cause instanceof Error)) throw cause;
    });
  }
}
