/**
 * Runs a program and determines its outcome. A program either returns a report or is stopped. A limit that was reached
 * determines the outcome even if the program caught the exception and returned.
 */
import type { ProgramState } from '../../analysis/run-profile-schema.ts';
import type { Guest } from '../../engine/guest.ts';
import { type GuestStop, GuestStopped, type LimitReason } from '../../engine/run-context.ts';
import { SandboxError } from '../../errors.ts';
import { isSyscallError } from '../../kernel/syscall-error.ts';
import { LIMIT_ERRORS, type MessageLimits } from '../../runtimes/runtime.ts';
import { TRAPS, type TrapReason } from '../../schema/traps.ts';
import type { GuestReport } from '../../schema.ts';
import { stoppedAtState } from '../protocol/limit-stopped-at.ts';
import type { RunOutcome } from '../protocol/messages.ts';
import { parseGuestReport } from '../protocol/parse-guest-report.ts';
import type { ProgramObserver } from './program-observer.ts';

export type ProgramOutcome = Pick<RunOutcome, 'trap' | 'report' | 'stoppedAt'> & {
  /** Whether the interpreter returned normally and can run another program: no module is half loaded. */
  readonly isConsistent: boolean;
  /** The program is waiting for answers from tools. */
  readonly isPaused?: boolean;
};

/** Exit code of a program that is paused: EX_TEMPFAIL. */
const PAUSED_EXIT_CODE = 75;

/** Reading the report accessed an address that does not exist: the program has corrupted its own objects. */
const UNREADABLE_REPORT: GuestStop = {
  reason: 'unreachable',
  message: 'the report of the runtime cannot be read',
};

/** `run` returns the report of the runtime. */
export function runProgram(guest: Guest, run: () => string, observer: ProgramObserver): ProgramOutcome {
  try {
    const text = run();
    const reason = guest.limitReached;
    if (reason === undefined && guest.kernel.call.tools?.isPaused === true) {
      const report = { exit_code: PAUSED_EXIT_CODE };
      return { trap: undefined, report, stoppedAt: undefined, isConsistent: true, isPaused: true };
    }
    // Only a program that manipulated the boot script has no valid report. Its output is not evidence.
    const report = parseGuestReport(text) ?? { exit_code: 1 };
    if (reason === undefined) {
      const stoppedAt = report.stopped_at && observer.placeOf(report.stopped_at);
      // A program that could not import a module and does without it keeps its state.
      const isConsistent = report.exit_code === 0 || !guest.kernel.imports.isInterrupted;
      return { trap: undefined, report, stoppedAt, isConsistent };
    }
    const state = observer.stateAtLimit;
    return {
      trap: { reason, detail: '' },
      report: withLocation(report, locationIn(state, observer.file)),
      stoppedAt: stoppedAtState(state),
      isConsistent: !guest.kernel.imports.isInterrupted,
    };
  } catch (cause) {
    if (!(cause instanceof GuestStopped || isSyscallError(cause))) throw cause;
    const limit: GuestStop | undefined = guest.limitReached && { reason: guest.limitReached, message: '' };
    const { reason, message, exitCode } = limit ?? (isSyscallError(cause) ? UNREADABLE_REPORT : cause.stop);
    if (reason === 'exit')
      return {
        trap: undefined,
        report: { exit_code: (exitCode ?? 0) & 0xff },
        stoppedAt: undefined,
        isConsistent: false,
      };
    if (reason === 'internal' || reason === 'overdue' || reason === 'replaced' || reason === 'signal')
      throw new SandboxError('internal', message);
    const trap = { reason: reason satisfies TrapReason, detail: message };
    const state = observer.stateAtLimit ?? observer.stateNow();
    return {
      trap,
      report: reportStop(locationIn(state, observer.file), trap, observer.limits),
      stoppedAt: stoppedAtState(state),
      isConsistent: false,
    };
  }
}

/** A line of the program; `file` is set if it is in the program of an earlier call or in a module. */
interface SourceLocation {
  readonly line: number;
  readonly file?: string;
}

/** The innermost line of the program of this call, or otherwise of other code of the program. */
function locationIn(state: ProgramState | undefined, programFile: string): SourceLocation | undefined {
  const frames = (state?.stack ?? []).filter(({ line }) => line > 0);
  const own = frames.find(({ file }) => file === programFile);
  if (own !== undefined) return { line: own.line };
  return frames[0] && { line: frames[0].line, file: frames[0].file };
}

/** A report of a limit whose error has the line where the limit was reached, not where the exception was raised. */
function withLocation(report: GuestReport, location: SourceLocation | undefined): GuestReport {
  const { error } = report;
  if (error === undefined || location === undefined || error.line === location.line) return report;
  const { column: _, file: __, ...rest } = error;
  return { ...report, error: { ...rest, ...location } };
}

/** Builds a report on behalf of an interpreter that was stopped, if the line it was executing is known. */
function reportStop(
  location: SourceLocation | undefined,
  { reason, detail }: { reason: TrapReason; detail: string },
  limits: MessageLimits,
): GuestReport | undefined {
  if (location === undefined) return undefined;
  const limit = LIMIT_ERRORS[reason as LimitReason] as (typeof LIMIT_ERRORS)[LimitReason] | undefined;
  const type = limit?.name ?? TRAPS[reason].message.replace(/^.*: /, '');
  return {
    exit_code: TRAPS[reason].exit_code,
    error: { type, message: limit?.message(limits) ?? detail, ...location },
  };
}
