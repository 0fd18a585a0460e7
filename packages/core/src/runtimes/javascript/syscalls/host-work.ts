/**
 * Work that the host does for a program and that can take long: it is divided into steps of about 10 ms. Before each step, fuel
 * is charged for the slowest input of its size and the limits are checked. A program that has reached one ends when it continues.
 */
import { syscallError } from '../../../kernel/syscall-error.ts';
import { FUEL_PER_US } from '../../../kernel/syscalls.ts';
import type { Proceed } from '../syntax/tokenizer.ts';
import type { QuickJsGuest } from './quickjs-guest.ts';

/** Fuel of one step. */
const STEP_FUEL = 10_000 * FUEL_PER_US;

/** Charges fuel for a step and checks the limits. */
export function pay(guest: QuickJsGuest, fuel: number): void {
  guest.kernel.chargeHostTime(fuel / FUEL_PER_US);
  if (guest.limitReached !== undefined) throw syscallError('EINTR');
}

/** The bytes that one step processes, if a byte takes this much fuel. */
export const stepBytes = (byteFuel: number) => Math.ceil(STEP_FUEL / byteFuel);

/** Calls `step` with parts of `length` bytes, of which each takes this much fuel. */
export function payInSteps(
  guest: QuickJsGuest,
  length: number,
  byteFuel: number,
  step: (from: number, to: number) => void,
): void {
  const size = stepBytes(byteFuel);
  for (let from = 0; from < length; from += size) {
    const to = Math.min(length, from + size);
    pay(guest, (to - from) * byteFuel);
    step(from, to);
  }
}

/** Charges for the analysis of a program, which takes up to a microsecond for a character. It ends at a limit. */
export const payForPlan =
  (guest: Pick<QuickJsGuest, 'kernel' | 'limitReached'>): Proceed =>
  (characters) => {
    guest.kernel.chargeHostTime(characters);
    return guest.limitReached === undefined;
  };
