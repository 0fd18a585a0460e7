import type { RunOwner, RunsAwaitingApproval } from '../../src/mcp/runs-awaiting-approval.ts';
import type { OnApproval } from '../../src/tools/tool-protocol.ts';

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
