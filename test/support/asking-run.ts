import type { OnApproval } from '../../packages/core/src/tools/tool-protocol.ts';
import type { RunOwner, RunsAwaitingApproval } from '../../packages/server/src/mcp/runs-awaiting-approval.ts';

/** Starts a run that may ask; resolves with its first round. */
export function startAsking<T>(
  approvals: RunsAwaitingApproval,
  owner: RunOwner,
  signal: AbortSignal,
  work: (ask: OnApproval, signal: AbortSignal) => Promise<T>,
) {
  const run = approvals.open<T>(owner);
  run.result = work(run.ask, run.signal);
  return approvals.next(run, signal);
}
