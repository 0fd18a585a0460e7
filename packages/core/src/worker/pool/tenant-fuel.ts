/** The fuel that the programs of each tenant may use per minute. */
import { MinuteAllowance } from '../../concurrency/minute-allowance.ts';
import { SandboxError } from '../../errors.ts';
import { formatFuel } from '../../quantities.ts';

/** Decides whether a tenant may run a program. */
export interface TenantFuel {
  /** Throws or rejects with `rate_limited` if a tenant has no fuel left. */
  check(tenant: string): void | Promise<void>;
  /** Counts what a program has used. */
  charge(tenant: string, fuel: number): void;
}

export class FuelAllowance extends MinuteAllowance implements TenantFuel {
  /** Throws `rate_limited` if a tenant has no fuel left. */
  check(tenant: string): void {
    const seconds = this.secondsToWait(tenant);
    if (seconds === 0) return;
    throw new SandboxError(
      'rate_limited',
      `The programs of this tenant have used ${formatFuel(this.amount)} fuel, the limit per minute. ` +
        `Retry in ${seconds} s.`,
    );
  }
}
