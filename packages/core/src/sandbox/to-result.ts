/** Turns the outcome of a run, as the worker reports it, into a `SandboxResult` without guidance and fuel analysis. */
import { escapeControls } from '../analysis/escape-controls.ts';
import { toFuelProfile } from '../analysis/fuel-profile.ts';
import { notableImports } from '../packages/import-costs.ts';
import { decodeResult, encodeResult } from '../results/encoded-result.ts';
import {
  type DisplayResult,
  type RuntimeName,
  type SandboxResult,
  TRAPS,
  type TrapReason,
} from '../schema.ts';
import type { RunOutcome } from '../worker/protocol/messages.ts';

const STOPPED_BY_HOST = {
  worker_lost: 'the worker thread ended',
  cancelled: 'cancelled before it started',
} as const;

/** The outcome of a run that no worker reported on. None of its effects are kept. */
export function stoppedByHost(reason: keyof typeof STOPPED_BY_HOST, durationMs: number): RunOutcome {
  return {
    trap: { reason, detail: STOPPED_BY_HOST[reason] },
    report: undefined,
    state: 'fresh',
    fuelConsumed: 0,
    chartFuel: 0,
    memoryUsedBytes: 0,
    durationMs,
    yieldedMs: 0,
    stdout: '',
    stderr: '',
    stdoutDroppedBytes: 0,
    stderrDroppedBytes: 0,
    changes: { created: [], modified: [], deleted: [], removed: [], entries: [] },
    filesOmitted: 0,
    otherUsage: { bytes: 0, files: 0 },
    exceededQuota: undefined,
    imports: [],
    profile: undefined,
    stoppedAt: undefined,
    resultsOmitted: 0,
    declared: [],
  };
}

/** Whether the files that the run has written are in the workspace. */
const keepsFiles = ({ state, trap }: RunOutcome) => state !== 'rolled_back' && trap?.reason !== 'worker_lost';

function withoutPath(result: DisplayResult): DisplayResult {
  const { path: _, ...encoded } = encodeResult(result);
  return decodeResult(encoded);
}

function trapMessage(reason: TrapReason, detail: string): string {
  return detail === '' ? TRAPS[reason].message : `${TRAPS[reason].message} (${escapeControls(detail)})`;
}

/** The note for a program that started threads. */
const THREADS_NOTE =
  'Threads and processes of the program took turns in one interpreter: each ran until it waited, and they shared all objects. A loop that waits for another thread must sleep, or ask an event, a queue or a future.';

/** The note for a program that uses `errstate` or `seterr` of numpy. */
const FLOAT_ERRORS_NOTE =
  'numpy does not detect overflow, underflow, division by zero and invalid operations of floating-point arithmetic here: such operations return inf or nan without an exception or a warning, also with errstate and seterr. Check results with np.isfinite. Arrays of integers divided by zero contain 0. Errors of integer scalars are reported, and those of numpy.linalg with the official wheels.';

/** The note for a call of a session that a limit ended during an import. */
const IMPORT_NOTE =
  'The call was stopped during an import. Its variables, modules and files were undone, because a module that is half loaded cannot be imported again; the next import starts anew.';

function notesOf({ report, state, isImportInterrupted }: RunOutcome): { notes?: string[] } {
  const notes = [
    ...(report?.uses_threads === true ? [THREADS_NOTE] : []),
    ...(report?.asks_float_errors === true ? [FLOAT_ERRORS_NOTE] : []),
    ...(state === 'rolled_back' && isImportInterrupted === true ? [IMPORT_NOTE] : []),
  ];
  return notes.length > 0 ? { notes } : {};
}

/** What the worker does not know about a call. */
interface CallFacts {
  readonly queueMs: number;
  /** The top-level modules of the packages that the user has added. */
  readonly userPackages: readonly string[];
  readonly source: string;
  readonly results: readonly DisplayResult[];
}

export function toResult(
  runtime: RuntimeName,
  outcome: RunOutcome,
  { queueMs, userPackages, source, results }: CallFacts,
): SandboxResult {
  const { trap, report } = outcome;
  const exitCode = trap ? TRAPS[trap.reason].exit_code : (report?.exit_code ?? 1);
  const fields = {
    stdout: outcome.stdout,
    stderr: outcome.stderr,
    fuel_consumed: outcome.fuelConsumed,
    memory_used_bytes: outcome.memoryUsedBytes,
    duration_ms: outcome.durationMs,
    files_created: outcome.changes.created,
    files_modified: outcome.changes.modified,
    files_deleted: outcome.changes.deleted,
    results: keepsFiles(outcome) ? [...results] : results.map(withoutPath),
  };
  const metadata = {
    stdout_truncated: outcome.stdoutDroppedBytes > 0,
    stderr_truncated: outcome.stderrDroppedBytes > 0,
    stdout_dropped_bytes: outcome.stdoutDroppedBytes,
    stderr_dropped_bytes: outcome.stderrDroppedBytes,
    ...(outcome.filesOmitted > 0 && {
      files_truncated: true as const,
      files_omitted: outcome.filesOmitted,
    }),
    ...(outcome.resultsOmitted > 0 && { results_omitted: outcome.resultsOmitted }),
    ...(report?.result !== undefined && { result: report.result }),
    ...(report?.result_type !== undefined && { result_type: report.result_type }),
    ...(report?.error !== undefined && { error: report.error }),
    ...(outcome.profile !== undefined && { fuel_profile: toFuelProfile(outcome.profile, source) }),
    ...(outcome.stoppedAt !== undefined && { stopped_at: outcome.stoppedAt }),
    ...notesOf(outcome),
    state: outcome.state,
    imports: notableImports(outcome.imports, userPackages),
    queue_ms: queueMs + outcome.yieldedMs,
  };
  if (trap !== undefined) {
    const trapped = {
      trapped: true,
      trap_reason: trap.reason,
      trap_message: trapMessage(trap.reason, trap.detail),
    };
    return { success: false, exit_code: exitCode, ...fields, metadata: { runtime, ...trapped, ...metadata } };
  }
  const ended = { trapped: false, trap_reason: null, trap_message: null } as const;
  return exitCode === 0
    ? { success: true, exit_code: 0, ...fields, metadata: { runtime, ...ended, ...metadata } }
    : { success: false, exit_code: exitCode, ...fields, metadata: { runtime, ...ended, ...metadata } };
}
