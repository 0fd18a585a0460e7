/**
 * How a program came to its end. It either returned a report of its own, or it was stopped; then the guest is looked at
 * once more, for the line it was on. A limit that was met is how a run ended, whatever the program made of it.
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
  /** The interpreter returned by itself and can go on. */
  readonly isConsistent: boolean;
};

/** Reading the report led to an address that does not exist: the program had changed its own objects. */
const UNREADABLE: GuestStop = { reason: 'unreachable', message: 'the runtime has no readable report' };

/** Runs a program to whatever end it comes to. */
export function runProgram(
  guest: Guest,
  runtime: Runtime,
  handles: Handles,
  request: GuestRequest,
): ProgramOutcome {
  try {
    const report = parseGuestReport(runtime.run(guest, handles, request));
    const reason = guest.limitReached;
    return { trap: reason && { reason, detail: '' }, report, isConsistent: true };
  } catch (cause) {
    if (!(cause instanceof GuestStopped || isSyscallError(cause))) throw cause;
    const met: GuestStop | undefined = guest.limitReached && { reason: guest.limitReached, message: '' };
    const { reason, message, exitCode } = met ?? (isSyscallError(cause) ? UNREADABLE : cause.stop);
    if (reason === 'exit')
      return { trap: undefined, report: { exit_code: (exitCode ?? 0) & 0xff }, isConsistent: false };
    if (reason === 'internal') throw new SandboxError('internal', message);
    const trap = { reason: reason satisfies TrapReason, detail: message };
    return { trap, report: lastReport(guest, runtime, trap, request), isConsistent: false };
  }
}

/** What the interpreter would have said, had it been able to: the limit and the line. */
function lastReport(
  guest: Guest,
  runtime: Runtime,
  { reason, detail }: { reason: TrapReason; detail: string },
  request: GuestRequest,
): GuestReport | undefined {
  const place = guest.inspect(() => runtime.currentLocation(guest));
  if (place === undefined || place.line < 1) return undefined;
  const limit = LIMIT_ERRORS[reason as LimitReason] as (typeof LIMIT_ERRORS)[LimitReason] | undefined;
  const type = limit?.name ?? TRAPS[reason].message.replace(/^.*: /, '');
  return {
    exit_code: TRAPS[reason].exit_code,
    error: { type, message: limit?.message(request) ?? detail, ...place },
  };
}
