/**
 * The fuel that each tenant may use per minute. Fuel accrues steadily up to one minute's worth. A call may start while any
 * is left, and what it uses beyond that delays the next calls of the tenant.
 */
import { SandboxError } from '../errors.ts';
import { formatFuel } from '../quantities.ts';

const MINUTE_MS = 60_000;

interface Balance {
  readonly fuel: number;
  readonly atMs: number;
}

export class FuelAllowance {
  /** Tenants that have used fuel recently; all others have a full allowance. */
  readonly #balances = new Map<string, Balance>();

  constructor(
    readonly fuelPerMinute: number,
    readonly now: () => number = () => performance.now(),
  ) {}

  /** Throws `rate_limited` if a tenant has no fuel left. */
  check(tenant: string): void {
    const left = this.#left(tenant);
    if (left > 0) return;
    const seconds = Math.max(1, Math.ceil((-left / this.fuelPerMinute) * 60));
    throw new SandboxError(
      'rate_limited',
      `The programs of this tenant have used ${formatFuel(this.fuelPerMinute)} fuel, the limit per minute. ` +
        `Try again in ${seconds} s.`,
    );
  }

  charge(tenant: string, fuel: number): void {
    const left = this.#left(tenant) - fuel;
    this.#balances.delete(tenant);
    this.#balances.set(tenant, { fuel: left, atMs: this.now() });
    // Tenants whose allowance is full again are forgotten, oldest charge first.
    for (const [other] of this.#balances) {
      if (this.#left(other) < this.fuelPerMinute) break;
      this.#balances.delete(other);
    }
  }

  #left(tenant: string): number {
    const balance = this.#balances.get(tenant);
    if (balance === undefined) return this.fuelPerMinute;
    const accrued = ((this.now() - balance.atMs) / MINUTE_MS) * this.fuelPerMinute;
    return Math.min(this.fuelPerMinute, balance.fuel + accrued);
  }
}
