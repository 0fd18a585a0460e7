/**
 * The clock of a guest. Its monotonic time starts at 0 in a new interpreter and continues where the last call of the session
 * ended, even in another thread; it does not reveal how long the host has been running. A virtual clock advances only with fuel and with
 * sleep, so it reads the same on every machine.
 */

import { createCipheriv } from 'node:crypto';
import { sha256 } from '../framing/digest.ts';
import type { Kernel } from '../kernel/syscalls.ts';

/** A thousand years, so that every time a virtual clock shows is a valid date. */
const MAX_VIRTUAL_MS = 31_557_600_000_000;
/** Speed of the virtual clock: one second per billion instructions. */
const VIRTUAL_FUEL_PER_MS = 1_000_000;

export class GuestClock {
  /** Milliseconds by which sleep advanced a virtual clock in this run. */
  #sleptMs = 0;
  /** Start of this run on the clock of the thread. */
  #startedMs = performance.now();

  constructor(
    readonly kernel: Kernel,
    readonly fuelConsumed: () => number,
    /** Start time of a virtual clock; undefined for the machine's clock. */
    readonly startMs: number | undefined,
  ) {}

  now(): number {
    return this.startMs === undefined
      ? performance.timeOrigin + performance.now()
      : this.startMs + this.monotonic();
  }

  monotonic(): number {
    if (this.startMs === undefined) return this.kernel.clockMs + performance.now() - this.#startedMs;
    return this.kernel.clockMs + this.fuelConsumed() / VIRTUAL_FUEL_PER_MS + this.#sleptMs;
  }

  /** Advances a virtual clock; returns false when that would exceed its range. */
  advance(milliseconds: number): boolean {
    const wanted = Math.max(0, milliseconds) || 0;
    if (this.monotonic() + wanted > MAX_VIRTUAL_MS) return false;
    this.#sleptMs += wanted;
    return true;
  }

  /** Saves the time in the kernel, where the next run continues. */
  save(): void {
    this.kernel.clockMs = this.monotonic();
    this.#startedMs = performance.now();
    this.#sleptMs = 0;
  }
}

const BLOCK_BYTES = 16;

/**
 * Returns a function that fills a buffer with random bytes that depend only on a seed, continuing at byte `start`: the key stream of
 * AES-256-CTR under a key derived from the seed. For repeatable runs, not for secrets.
 */
export function seededRandom(seed: number, start: number): (into: Uint8Array) => void {
  const key = sha256(`llm-wasm-sandbox seed ${seed}`);
  const counter = Buffer.alloc(BLOCK_BYTES);
  counter.writeBigUInt64BE(BigInt(Math.floor(start / BLOCK_BYTES)), BLOCK_BYTES - 8);
  const stream = createCipheriv('aes-256-ctr', key, counter);
  stream.update(Buffer.alloc(start % BLOCK_BYTES));
  return (into) => {
    into.set(stream.update(Buffer.alloc(into.length)));
  };
}
