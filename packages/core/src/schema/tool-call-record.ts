/** Tool calls in results: what happened, and which calls are unanswered. */
import * as z from 'zod';
import { described } from './fields.ts';

/** How a tool call ended; `unknown` if its effect is not known. */
const TOOL_CALL_STATUSES = ['ok', 'error', 'denied', 'pending', 'unknown'] as const;

export const toolCallRecord = z.object({
  seq: z.number().int().describe('Number of the call in its run, starting at 1.'),
  name: z.string().describe('Name of the tool.'),
  arguments_preview: z.string().describe('The first 200 characters of the arguments as JSON.'),
  status: described(
    z.enum(TOOL_CALL_STATUSES),
    '`ok`: the tool returned a value. `error`: the tool failed or was not called. `denied`: the call was not approved. `pending`: the call is unanswered. `unknown`: the run or the call was stopped while the tool was running, and it is unknown whether the tool took effect.',
  ),
  duration_ms: z.number().describe('Time until the answer in milliseconds.'),
  bytes_in: z.number().int().describe('Size of the arguments as JSON in bytes.'),
  bytes_out: z.number().int().describe('Size of the result as JSON in bytes.'),
});
/** The record of one tool call. */
export interface ToolCallRecord extends z.infer<typeof toolCallRecord> {}

export const pendingCall = z.object({
  id: z.number().int().describe('Identifies the call in `resume`.'),
  seq: z.number().int().describe('Number of the call in its run, starting at 1.'),
  name: z.string().describe('Name of the tool.'),
  arguments: z.record(z.string(), z.json()).describe('Arguments of the call.'),
  reason: described(
    z.enum(['approval', 'suspended']),
    '`approval`: a person has to approve the call. `suspended`: the caller has to provide the result.',
  ),
  payload: z.json().optional().describe('Value that the tool passed to `suspend`.'),
});
/** A tool call that is waiting for an answer from `resume`. */
export interface PendingCall extends z.infer<typeof pendingCall> {}
