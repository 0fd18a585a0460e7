/**
 * How many calls of the observed function of a module the host receives (see PrepareOptions.observed). Observing takes time
 * that is not charged to the guest, so the number is bounded by the fuel of the run. It depends on nothing else.
 */

/** Calls that are observed at the start of a run, and at most in a row. */
const MAX_OBSERVATIONS = 30;
/** Fuel after which one more call is observed: about ten milliseconds. */
const FUEL_PER_OBSERVATION = 20_000_000;

export class ObservationBudget {
  /** Calls that the host will receive; if negative, calls that it has not received. Decremented by the module. */
  readonly #counter: WebAssembly.Global<'i32'> | undefined;
  #granted = 0;
  #missed = 0;

  /** `exports` are those of a module prepared by wasm/prepare-module.ts. */
  constructor(exports: WebAssembly.Exports) {
    this.#counter = exports['observations'] as WebAssembly.Global<'i32'> | undefined;
  }

  beginRun(): void {
    this.#granted = 0;
    this.#missed = 0;
    if (this.#counter !== undefined) this.#counter.value = MAX_OBSERVATIONS;
  }

  /** Called between slices of fuel. */
  onSlice(fuelConsumed: number): void {
    if (this.#counter === undefined) return;
    const earned = Math.floor(fuelConsumed / FUEL_PER_OBSERVATION) - this.#granted;
    if (earned <= 0) return;
    this.#granted += earned;
    this.#missed = this.missed;
    this.#counter.value = Math.min(Math.max(0, this.#counter.value) + earned, MAX_OBSERVATIONS);
  }

  /** Calls in this run that the host has not received. */
  get missed(): number {
    return this.#missed + Math.max(0, -(this.#counter?.value ?? 0));
  }
}
