/** The limits and callbacks of one run, and the ways in which a guest can stop before its call returns. */

/**
 * Why a guest stopped before its call returned. Only a child process is `overdue` (nobody waits for it any longer), `replaced`
 * (by another program) or ended by a `signal`.
 */
type StopReason =
  | 'exit'
  | 'out_of_fuel'
  | 'timeout'
  | 'cancelled'
  | 'memory_limit'
  | 'process_limit'
  | 'stack_overflow'
  | 'unreachable'
  | 'denied_call'
  | 'overdue'
  | 'replaced'
  | 'signal'
  | 'internal';

/** Limits that interrupt the program, so that it can report where it was, before they stop the guest. */
export type LimitReason = 'out_of_fuel' | 'timeout' | 'cancelled';

export interface GuestStop {
  readonly reason: StopReason;
  readonly message: string;
  /** The exit code of the program; only with the reason `exit`. */
  readonly exitCode?: number;
  /** Only with the reason `signal`. */
  readonly signal?: number;
}

export interface RunContext {
  readonly fuelBudget: number;
  /** On the clock of performance.now(). */
  readonly deadlineMs: number;
  /** A shared word. Storing `cancelValue` in it cancels the run; notifying it wakes a sleeping guest. */
  readonly cancel: Int32Array;
  readonly cancelValue: number;
  /** Maximum fuel between two checks of the limits; a default applies if it is absent. Where slices end depends on fuel only. */
  readonly sliceFuel?: number | undefined;
  /** Called between slices with the fuel consumed so far. Returns the milliseconds that it blocked the guest. */
  readonly onSlice?: (fuelConsumed: number) => number;
  /** Whether the stack may have a function of the program. If not, the end of a slice is deferred for a moment. */
  readonly isInProgram?: () => boolean;
  /** Called when the first limit is reached, before the interpreter is interrupted. Must not call the guest. */
  readonly onLimit?: (reason: LimitReason) => void;
  /** Virtual clock and seeded random numbers, which are identical in every run. If absent, those of the machine are used. */
  readonly deterministic?: { readonly startMs: number; readonly seed: number } | undefined;
  /** When the guest is stopped because nobody waits any longer, on its own monotonic clock. */
  readonly patienceEndsMs?: number | undefined;
  output(stream: 1 | 2, bytes: Uint8Array): void;
  /** Receives a result that the program displays. */
  result(message: Uint8Array): void;
  /** Called periodically while the guest runs, and with `isSleeping` before it sleeps. */
  onTick?(nowMs: number, isSleeping: boolean): void;
}

/** Thrown by `Guest.call` when the guest did not return. The instance is unusable until its memory is restored. */
export class GuestStopped {
  constructor(readonly stop: GuestStop) {}
}

/** For trusted guest code at build time. */
export const UNLIMITED_RUN: RunContext = {
  fuelBudget: Number.POSITIVE_INFINITY,
  deadlineMs: Number.POSITIVE_INFINITY,
  cancel: new Int32Array(new SharedArrayBuffer(4)),
  cancelValue: -1,
  output: () => {},
  result: () => {},
};

/** The grace period: what an interrupted guest may still use to unwind and to report its location. */
export const GRACE = { fuel: 50_000_000, milliseconds: 40 } as const;
