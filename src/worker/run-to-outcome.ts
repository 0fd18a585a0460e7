/**
 * Runs a program and determines its outcome. A program either returns a report or is stopped; a stopped guest is
 * inspected for the line it was executing. A limit that was reached determines the outcome even if the program caught
 * the exception and returned.
 */
import type { Guest } from '../engine/guest.ts';
import { type GuestStop, GuestStopped, type LimitReason } from '../engine/run-context.ts';
import { SandboxError } from '../errors.ts';
import { isSyscallError } from '../kernel/syscall-error.ts';
import { type GuestRequest, type Handles, LIMIT_ERRORS, type Runtime } from '../runtimes/runtime.ts';
import { type GuestReport, TRAPS, type TrapReason } from '../schema.ts';
import { parseGuestReport } from './guest-report.ts';
import type { RunOutcome } from './protocol.ts';

export type ProgramOutcome = Pick<RunOutcome, 'trap' | 'report'> & {
  /** Whether the interpreter returned normally and can run another program. */
  readonly isConsistent: boolean;
};

/** Reading the report accessed an address that does not exist: the program has corrupted its own objects. */
const UNREADABLE_REPORT: GuestStop = {
  reason: 'unreachable',
  message: 'the report of the runtime cannot be read',
};

export function runProgram(
  guest: Guest,
  runtime: Runtime,
  handles: Handles,
  request: GuestRequest,
): ProgramOutcome {
  try {
    // Only a program that manipulated the boot script has no valid report. What it printed is not evidence.
    const report = parseGuestReport(runtime.run(guest, handles, request)) ?? { exit_code: 1 };
    const reason = guest.limitReached;
    return { trap: reason && { reason, detail: '' }, report, isConsistent: true };
  } catch (cause) {
    if (!(cause instanceof GuestStopped || isSyscallError(cause))) throw cause;
    const limit: GuestStop | undefined = guest.limitReached && { reason: guest.limitReached, message: '' };
    const { reason, message, exitCode } = limit ?? (isSyscallError(cause) ? UNREADABLE_REPORT : cause.stop);
    if (reason === 'exit')
      return { trap: undefined, report: { exit_code: (exitCode ?? 0) & 0xff }, isConsistent: false };
    if (reason === 'internal') throw new SandboxError('internal', message);
    const trap = { reason: reason satisfies TrapReason, detail: message };
    return { trap, report: reportStop(guest, runtime, trap, request), isConsistent: false };
  }
}

/** Builds a report on behalf of an interpreter that was stopped, if the line it was executing can be found. */
function reportStop(
  guest: Guest,
  runtime: Runtime,
  { reason, detail }: { reason: TrapReason; detail: string },
  request: GuestRequest,
): GuestReport | undefined {
  const location = guest.inspect(() => runtime.currentLocation(guest));
  if (location === undefined || location.line < 1) return undefined;
  const limit = LIMIT_ERRORS[reason as LimitReason] as (typeof LIMIT_ERRORS)[LimitReason] | undefined;
  const type = limit?.name ?? TRAPS[reason].message.replace(/^.*: /, '');
  return {
    exit_code: TRAPS[reason].exit_code,
    error: { type, message: limit?.message(request) ?? detail, ...location },
  };
}
