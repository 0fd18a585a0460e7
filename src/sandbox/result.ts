/**
 * From what a worker tells to what a caller gets: the outcome of a run as a `SandboxResult`, before it is explained.
 */
import { notableImports } from '../packages/manifest.ts';
import { type RuntimeName, type SandboxResult, TRAPS, type TrapReason } from '../schema.ts';
import type { RunOutcome } from '../worker/protocol.ts';

/** The outcome of a run that no worker could tell about: nothing of it is known, and nothing it did is kept. */
export function endedFromOutside(type: 'lost' | 'cancelled', durationMs: number): RunOutcome {
  const trap =
    type === 'lost'
      ? { reason: 'worker_lost' as const, detail: 'the worker thread ended' }
      : { reason: 'cancelled' as const, detail: 'cancelled before it started' };
  return {
    trap,
    report: undefined,
    state: 'fresh',
    fuelConsumed: 0,
    memoryUsedBytes: 0,
    durationMs,
    yieldedMs: 0,
    stdout: '',
    stderr: '',
    stdoutDroppedBytes: 0,
    stderrDroppedBytes: 0,
    changes: { created: [], modified: [], deleted: [], removed: [], entries: [] },
    imports: [],
  };
}

function trapMessage(reason: TrapReason, detail: string): string {
  return detail === '' ? TRAPS[reason].message : `${TRAPS[reason].message} (${detail})`;
}

export function toResult(
  runtime: RuntimeName,
  outcome: RunOutcome,
  queueMs: number,
  ownPackages: readonly string[],
): SandboxResult {
  const { trap, report } = outcome;
  const exitCode = trap ? TRAPS[trap.reason].exit_code : (report?.exit_code ?? 1);
  return {
    success: trap === undefined && exitCode === 0,
    stdout: outcome.stdout,
    stderr: outcome.stderr,
    exit_code: exitCode,
    fuel_consumed: outcome.fuelConsumed,
    memory_used_bytes: outcome.memoryUsedBytes,
    duration_ms: outcome.durationMs,
    files_created: outcome.changes.created,
    files_modified: outcome.changes.modified,
    files_deleted: outcome.changes.deleted,
    metadata: {
      runtime,
      trapped: trap !== undefined,
      trap_reason: trap?.reason ?? null,
      trap_message: trap ? trapMessage(trap.reason, trap.detail) : null,
      stdout_truncated: outcome.stdoutDroppedBytes > 0,
      stderr_truncated: outcome.stderrDroppedBytes > 0,
      stdout_dropped_bytes: outcome.stdoutDroppedBytes,
      stderr_dropped_bytes: outcome.stderrDroppedBytes,
      ...(report?.result !== undefined && { result: report.result }),
      ...(report?.result_type !== undefined && { result_type: report.result_type }),
      ...(report?.error !== undefined && { error: report.error }),
      state: outcome.state,
      imports: notableImports(outcome.imports, ownPackages),
      queue_ms: queueMs + outcome.yieldedMs,
    },
  };
}
