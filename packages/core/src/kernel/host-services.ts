/** What the kernel needs from its surroundings: time, entropy, output and the limits of the run. The engine implements it. */
export interface Host {
  /** Wall clock time in milliseconds since 1970, with a fraction. */
  now(): number;
  /** Monotonic clock in milliseconds. */
  monotonic(): number;
  /** Waits; stops the guest when its time limit is reached or it is cancelled. */
  sleep(milliseconds: number): void;
  random(into: Uint8Array): void;
  /** Instructions executed in this run so far. */
  readonly fuelConsumed: number;
  /** Receives output; the receiver enforces the cap. */
  output(stream: 1 | 2, bytes: Uint8Array): void;
  /** Receives a result that the program displays, one per write; the receiver checks it and enforces the limits. */
  result(message: Uint8Array): void;
  /** Charges fuel for work of the host. The guest checks the counter when it continues. */
  charge(fuel: number): void;
  /**
   * Called about once per millisecond of host work; stops the guest when its time limit is reached. Work that cannot be
   * interrupted counts before it starts: `aheadMs` is the time that it takes.
   */
  check(aheadMs?: number): void;
}
