/** A program that is waiting for answers to tool calls. It is part of the state of its session. */
import * as z from 'zod';
import { described, optionalField } from './fields.ts';
import { languageName, programName } from './names.ts';
import { networkOnly } from './network-policy.ts';
import { networkExchange } from './network-record.ts';
import { fuelBudget, timeoutSeconds } from './policy.ts';
import { type PendingCall, pendingCall, toolCallRecord } from './tool-call-record.ts';

const count = z.number().min(0).max(Number.MAX_SAFE_INTEGER);

export const executionId = z.string().regex(/^[0-9a-f-]{36}$/);

export const pausedExecution = z.strictObject({
  execution_id: executionId.describe('Identifies this pause of the execution. `resume` accepts it once.'),
  run_id: described(
    executionId,
    'Identifies the execution across all its pauses. The `call_id` of a tool call is derived from it.',
  ),
  paused_at: z.iso.datetime().describe('Time of the pause in ISO 8601.'),
  pauses: count.int().describe('Number of pauses of the execution so far.'),
  code: z.string().describe('The beginning of the program, at most 262,144 characters.'),
  language: languageName.describe('Language of the program.'),
  file_name: programName
    .nullable()
    .optional()
    .describe('File name of the program, if the call set one, or null if the program is not a file.'),
  inject_setup: z.boolean().describe('Whether packages and helpers are available to the program.'),
  fuel_budget: fuelBudget.describe('Maximum number of WebAssembly instructions for the whole execution.'),
  timeout_seconds: described(
    timeoutSeconds,
    'Maximum running time for the whole execution in seconds, excluding time spent waiting for tools.',
  ),
  network_only: networkOnly.optional().describe('URL patterns to which the call restricts its requests.'),
  fuel_consumed: count.int().describe('Fuel that the execution has used so far.'),
  running_ms: count.describe('Time that the execution has run so far, in milliseconds.'),
  tool_wait_ms: count.describe('Time that the execution has waited for tools so far, in milliseconds.'),
  tool_calls: described(
    z.array(toolCallRecord).max(10_000),
    'Tool calls of the execution so far. A call with the status `unknown` was approved in a resume that is in progress or that was rolled back, undone or interrupted. It is unknown whether the tool has run.',
  ),
  network: optionalField(
    z.array(networkExchange).max(10_000),
    'Requests of the execution so far, if it may send requests.',
  ),
  pending: z.array(pendingCall).max(10_000).describe('Tool calls that are waiting for an answer.'),
});
/** A program that is waiting for answers to tool calls. */
export interface PausedExecution extends z.infer<typeof pausedExecution> {}

/**
 * The pending calls that were approved in a resume that was rolled back, undone or interrupted: the tool may already have
 * run.
 */
export function uncertainCalls({
  pending,
  tool_calls,
}: Pick<PausedExecution, 'pending' | 'tool_calls'>): PendingCall[] {
  const unknown = new Set(tool_calls.filter(({ status }) => status === 'unknown').map(({ seq }) => seq));
  return pending.filter(({ seq }) => unknown.has(seq));
}
