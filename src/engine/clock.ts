/**
 * Time as a guest sees it. It never goes back within a session, also when that goes on in another thread. A virtual
 * clock is moved by fuel and by sleeping and by nothing else, so it shows the same on every machine.
 */
import type { Kernel } from '../kernel/syscalls.ts';

/** A thousand years: no date a virtual clock shows is past what dates can hold. */
const LONGEST_VIRTUAL_MS = 31_557_600_000_000;
/** Speed of the virtual clock: as if a second took a billion instructions. */
const VIRTUAL_FUEL_PER_MS = 1_000_000;

export class GuestClock {
  /** Milliseconds that a virtual clock skipped in sleep. */
  #sleptMs = 0;
  /** What the machine's clock lacks to where the guest's stood before: a session may go on in a younger thread. */
  #lagMs: number | undefined;

  constructor(
    readonly kernel: Kernel,
    readonly fuelConsumed: () => number,
    /** Where a virtual clock began; absent: the clock is the machine's. */
    readonly startMs: number | undefined,
  ) {}

  now(): number {
    return this.startMs === undefined
      ? performance.timeOrigin + performance.now()
      : this.startMs + this.monotonic();
  }

  monotonic(): number {
    if (this.startMs === undefined) {
      this.#lagMs ??= Math.max(0, this.kernel.clockMs - performance.now());
      return performance.now() + this.#lagMs;
    }
    return this.kernel.clockMs + this.fuelConsumed() / VIRTUAL_FUEL_PER_MS + this.#sleptMs;
  }

  /** Moves a virtual clock on; false when nobody can wait that long, because no calendar lasts. */
  skip(milliseconds: number): boolean {
    const wanted = Math.max(0, milliseconds) || 0;
    if (this.monotonic() + wanted > LONGEST_VIRTUAL_MS) return false;
    this.#sleptMs += wanted;
    return true;
  }

  /** Leaves the time in the kernel, from where the next run goes on. */
  stop(): void {
    this.kernel.clockMs = this.monotonic();
    this.#sleptMs = 0;
  }
}
