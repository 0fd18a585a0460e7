/**
 * The fuel of one run: the counter in the module, which the guest decrements, and what was granted to it. Fuel is granted
 * in slices, so that the host regains control about once per millisecond. The count depends only on the instructions of
 * the guest, so it is the same in every run.
 */
import { GRACE } from './run-context.ts';

/** Instructions between two checks of the limits: about a millisecond of optimised code. */
const SLICE_FUEL = 2_000_000;
/** Fuel that a guest with a probe gets to reach the probed loop, and how many times in a row. */
const DEFER_FUEL = 100;
const MAX_DEFERRALS = 3;
/** The same while no function of the program is on the stack, as between the jobs of promises. */
const MAX_DEFERRALS_TO_PROGRAM = 100;
const MAX_DEBT_TO_PROGRAM = 1_000;
/** More than a guest executes between two checks of its counter. Reserved so that the grace period is not exceeded. */
const UNCHECKED_FUEL = 1_000_000;

export class FuelMeter {
  readonly #counter: WebAssembly.Global<'i64'>;
  /** Set by the module while it calls the host for more fuel, if it has a probe (see LoopProbe in wasm/prepare-module.ts). */
  readonly #probe: WebAssembly.Global<'i32'> | undefined;
  #sliceFuel = SLICE_FUEL;
  /** Fuel granted since the count began. */
  #granted = 0;
  /** Number of slices granted since then. */
  #slices = 0;
  /** Fuel that may be granted in total. */
  #budget = 0;
  /** Upper bound of the fuel consumed, with the grace period. */
  #maxFuel = Number.POSITIVE_INFINITY;
  /** How often the check of the limits has been deferred since the last one. */
  #deferrals = 0;

  /** `exports` are those of a module prepared by wasm/prepare-module.ts. */
  constructor(exports: WebAssembly.Exports) {
    this.#counter = exports['fuel'] as WebAssembly.Global<'i64'>;
    this.#probe = exports['probe'] as WebAssembly.Global<'i32'> | undefined;
  }

  beginRun(budget: number, sliceFuel = SLICE_FUEL): void {
    this.#budget = budget;
    this.#sliceFuel = sliceFuel;
    // The last child may have used a grace period of its own.
    this.#maxFuel = budget + GRACE.fuel;
    this.restart();
  }

  /** Begins a new count with the same budget, from which `charged` is already used. */
  restart(charged = 0): void {
    this.#slices = 0;
    this.#granted = Math.min(this.#nextSlice(), this.#budget);
    this.#counter.value = BigInt(this.#granted - charged);
  }

  /** Adds to the count. The guest checks the counter when it continues. */
  charge(fuel: number): void {
    this.#counter.value = (this.#counter.value as bigint) - BigInt(fuel);
  }

  get #charged(): number {
    return this.#granted - Number(this.#counter.value);
  }

  /** Instructions since the count began. An instruction that was charged but not executed does not count. */
  get consumed(): number {
    return Math.max(0, Math.min(this.#charged, this.#maxFuel));
  }

  /** What is left of the budget. */
  get left(): number {
    return Math.max(0, this.#budget - this.#charged);
  }

  /** Whether more than the budget, or more than that of the grace period, has been charged. */
  get isExceeded(): boolean {
    return this.#charged > this.#budget;
  }

  /** Whether the guest has used the fuel that was granted to it. */
  get isSliceUsed(): boolean {
    return (this.#counter.value as bigint) < 0n;
  }

  /** Slices differ slightly, so that samples are not in step with the loops of a program. */
  #nextSlice(): number {
    return this.#sliceFuel - (Math.imul(++this.#slices, 0x9e3779b1) >>> 18);
  }

  /** A bulk instruction can cost more than a slice; the debt is added to the next one. */
  grantSlice(): void {
    const debt = Math.max(0, -Number(this.#counter.value));
    const fuel = Math.min(this.#nextSlice() + debt, this.#budget - this.#granted);
    this.#granted += fuel;
    this.#counter.value = (this.#counter.value as bigint) + BigInt(fuel);
  }

  /** Replaces the budget with that of the grace period, which starts from what has been consumed. */
  beginGracePeriod(): void {
    this.#maxFuel = Math.min(this.#budget, this.#charged) + GRACE.fuel;
    this.#budget = this.#maxFuel - UNCHECKED_FUEL;
  }

  /** The probed local of the module if the guest called the host at the probed loop, otherwise 0. */
  get probe(): number {
    return this.#probe?.value ?? 0;
  }

  clearProbe(): void {
    if (this.#probe !== undefined) this.#probe.value = 0;
  }

  /**
   * Lets a guest with a probe continue for a moment if it is not at the probed loop, so that its position is known when
   * the limits are checked. Returns whether it does. This depends on the counter and the guest only, so it is the same in
   * every run.
   */
  deferCheck(isInProgram: () => boolean): boolean {
    const debt = -Number(this.#counter.value);
    const isDeferred = this.#isDeferrable(debt, isInProgram);
    this.#deferrals = isDeferred ? this.#deferrals + 1 : 0;
    if (!isDeferred) return false;
    this.clearProbe();
    this.#granted += debt + DEFER_FUEL;
    this.#counter.value = BigInt(DEFER_FUEL);
    return true;
  }

  #isDeferrable(debt: number, isInProgram: () => boolean): boolean {
    if (this.#probe === undefined || debt >= MAX_DEBT_TO_PROGRAM) return false;
    if (debt < DEFER_FUEL && this.#deferrals < MAX_DEFERRALS && this.#probe.value === 0) return true;
    return this.#deferrals < MAX_DEFERRALS_TO_PROGRAM && this.left > DEFER_FUEL && !isInProgram();
  }
}
