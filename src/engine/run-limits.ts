/**
 * What a run is given, its limits and its receivers, and the ways in which it can end before its call returns.
 */

/** Why a guest came to an end before its call returned. */
export type StopReason =
  | 'exit'
  | 'out_of_fuel'
  | 'timeout'
  | 'cancelled'
  | 'memory_limit'
  | 'stack_overflow'
  | 'unreachable'
  | 'denied_call'
  | 'internal';

/** Limits of which a guest is told before it is stopped. */
export type LimitReason = 'out_of_fuel' | 'timeout' | 'cancelled';

/** What a guest is told it met. */
export const LIMIT_NAMES: Record<LimitReason, string> = {
  out_of_fuel: 'OutOfFuel',
  timeout: 'Timeout',
  cancelled: 'Cancelled',
};

export interface GuestStop {
  readonly reason: StopReason;
  readonly message: string;
  /** The exit code the guest asked for; only with `exit`. */
  readonly exitCode?: number;
}

/** The limits and receivers of one run. */
export interface RunContext {
  readonly fuelBudget: number;
  /** On the clock of performance.now(). */
  readonly deadlineMs: number;
  /** A shared word; `cancelValue` in it cancels this run, and notifying it wakes a sleeping guest. */
  readonly cancel: Int32Array;
  readonly cancelValue: number;
  /** Told between slices how much fuel is gone; returns the milliseconds it kept the guest waiting for others. */
  readonly onSlice?: (fuel: number) => number;
  /** Time and chance that are the same in every run; absent: those of the machine. */
  readonly deterministic?: { readonly startMs: number; readonly seed: number } | undefined;
  output(stream: 1 | 2, bytes: Uint8Array): void;
  /** Called now and then while the guest runs, and with `isPause` before it sleeps. */
  onTick?(nowMs: number, isPause: boolean): void;
}

/** Thrown by `Guest.call` when the guest did not return. The instance is then of no use until its memory is restored. */
export class GuestStopped {
  constructor(readonly stop: GuestStop) {}
}

/** For guest code of our own, at build time. */
export const UNLIMITED_RUN: RunContext = {
  fuelBudget: Number.POSITIVE_INFINITY,
  deadlineMs: Number.POSITIVE_INFINITY,
  cancel: new Int32Array(new SharedArrayBuffer(4)),
  cancelValue: -1,
  output: () => {},
};
