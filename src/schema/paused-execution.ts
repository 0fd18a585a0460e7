/** A program that is waiting for answers to tool calls. It is part of the state of its session. */
import { z } from 'zod';
import { languageName, programName } from './names.ts';
import { fuelBudget, timeoutSeconds } from './policy.ts';
import { type PendingCall, pendingCall, toolCallRecord } from './tool-call-record.ts';

const count = z.number().min(0).max(Number.MAX_SAFE_INTEGER);

export const executionId = z.string().regex(/^[0-9a-f-]{36}$/);

export const pausedExecution = z.strictObject({
  execution_id: executionId.describe(
    'Identifies this pause of the execution in `resume`, which accepts it once.',
  ),
  run_id: executionId.describe(
    'Identifies the execution across its pauses. The `call_id` of its tool calls depends on it.',
  ),
  paused_at: z.iso.datetime().describe('Time of the pause, ISO 8601.'),
  pauses: count.int().describe('How many times the execution has paused.'),
  code: z.string().describe('The beginning of the program.'),
  language: languageName.describe('Language of the program.'),
  file_name: programName.optional().describe('Its file name, if the call set one.'),
  inject_setup: z.boolean().describe('Whether packages and helpers are available to it.'),
  fuel_budget: fuelBudget.describe('Fuel that it may use in total.'),
  timeout_seconds: timeoutSeconds.describe(
    'Total running time allowed, excluding time spent waiting for tools.',
  ),
  fuel_consumed: count.int().describe('Fuel that it has used.'),
  running_ms: count.describe('Time that it has run.'),
  tool_wait_ms: count.describe('Time that it has waited for tools.'),
  tool_calls: z
    .array(toolCallRecord)
    .max(10_000)
    .describe(
      'Its calls so far. A pending call with the status unknown was approved in a resume that is in progress or that was rolled back, undone or interrupted, so the tool may already have run.',
    ),
  pending: z.array(pendingCall).max(10_000).describe('The calls that are waiting for an answer.'),
});
/** A program that is waiting for answers to tool calls. */
export interface PausedExecution extends z.infer<typeof pausedExecution> {}

/** The pending calls that were approved in a resume that was rolled back, undone or interrupted: the tool may already have run. */
export function uncertainCalls({
  pending,
  tool_calls,
}: Pick<PausedExecution, 'pending' | 'tool_calls'>): PendingCall[] {
  const unknown = new Set(tool_calls.filter(({ status }) => status === 'unknown').map(({ seq }) => seq));
  return pending.filter(({ seq }) => unknown.has(seq));
}
