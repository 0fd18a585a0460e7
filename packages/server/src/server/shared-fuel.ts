/** The fuel that the programs of a tenant may use per minute on all servers together. */

import type { Coordination, MinuteLimiter, TenantFuel } from '@llm-wasm-sandbox/core/internal';
import { formatFuel, SandboxError } from '@llm-wasm-sandbox/core/internal';
import { RateLimiterMemory, RateLimiterPostgres, RateLimiterRes } from 'rate-limiter-flexible';

/** Fuel is counted in this unit, because rate-limiter-flexible counts in a column of 32 bits. */
const FUEL_UNIT = 1_000_000;
const MAX_POINTS = 2 ** 31 - 1;

export class SharedFuel implements TenantFuel {
  readonly #limiter: MinuteLimiter;

  constructor(
    coordination: Coordination,
    readonly perMinute: number,
  ) {
    const points = Math.min(MAX_POINTS, Math.max(1, Math.ceil(perMinute / FUEL_UNIT)));
    this.#limiter = coordination.limiter({ RateLimiterMemory, RateLimiterPostgres }, 'fuel', points);
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
