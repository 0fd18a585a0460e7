import { describe, expect, test } from 'vitest';
import type { ApprovalDecision } from '../../packages/core/src/tools/tool-protocol.ts';
import {
  MAX_ROUNDS,
  MAX_WAITING_RUNS,
  RunsAwaitingApproval,
} from '../../packages/server/src/mcp/runs-awaiting-approval.ts';
import { startAsking } from '../support/asking-run.ts';

describe('a run with too many approval requests', () => {
  const owner = { tenant: 't', request: 'r' };
  const denied = { approved: false, reason: 'too many questions' };

  // guarantee: approval
  // proves: After too many approval requests, the other calls of a run are denied, and the run can still be cancelled.
  test('is denied the rest, and is still cancelled with the request', async () => {
    const approvals = new RunsAwaitingApproval();
    const request = new AbortController();
    const decisions: ApprovalDecision[] = [];
    let step = await startAsking(approvals, owner, request.signal, async (onApproval, signal) => {
      for (let seq = 1; seq <= MAX_ROUNDS + 2; seq++)
        decisions.push(
          await onApproval({
            call_id: `${seq}`,
            seq,
            name: 'n',
            arguments: {},
            session_id: undefined,
            signal,
          }),
        );
      const cancelled = new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve('cancelled'), { once: true });
      });
      request.abort();
      return cancelled;
    });
    let rounds = 0;
    while (step.type === 'questions') {
      rounds++;
      step = await approvals.continue(owner, step.state, () => true, request.signal);
    }
    expect(step.value).toBe('cancelled');
    expect(rounds).toBe(MAX_ROUNDS);
    expect(decisions).toEqual([...new Array(MAX_ROUNDS).fill(true), denied, denied]);
  });
});

// guarantee: approval
test('the number of runs of a tenant that can wait for a decision is limited, and calls of further runs are denied', async () => {
  const approvals = new RunsAwaitingApproval();
  const { signal } = new AbortController();
  const start = (tenant: string, request: string) =>
    startAsking(approvals, { tenant, request }, signal, (onApproval, runSignal) =>
      Promise.resolve(
        onApproval({
          call_id: '1',
          seq: 1,
          name: 'n',
          arguments: {},
          session_id: undefined,
          signal: runSignal,
        }),
      ),
    );
  for (let i = 0; i < MAX_WAITING_RUNS; i++)
    expect(await start('greedy', `${i}`)).toMatchObject({ type: 'questions' });
  expect(await start('greedy', 'one more')).toEqual({
    type: 'done',
    value: { approved: false, reason: 'too many questions' },
  });
  expect(await start('other', 'r')).toMatchObject({ type: 'questions' });
  approvals.close();
});

test('a run whose only question is withdrawn while it is collected continues without asking', async () => {
  const approvals = new RunsAwaitingApproval();
  const step = await startAsking(
    approvals,
    { tenant: 't', request: 'r' },
    new AbortController().signal,
    async (ask) => {
      const withdrawn = new AbortController();
      void ask({
        call_id: '1',
        seq: 1,
        name: 'n',
        arguments: {},
        session_id: undefined,
        signal: withdrawn.signal,
      });
      setImmediate(() => withdrawn.abort());
      await new Promise((resolve) => setTimeout(resolve, 100));
      return 'ended';
    },
  );
  expect(step).toEqual({ type: 'done', value: 'ended' });
});
