/** The tool that answers calls of a paused program. It cannot approve calls; only a person can. */

import type { Resolution, ToolResult } from '@llm-wasm-sandbox/core/internal';
import { checkExecution, executionOutput, SandboxError, sessionId } from '@llm-wasm-sandbox/core/internal';
import type { InputRequiredResult } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { runAnswered, runForClient, toolsOf } from '../run-for-client.ts';
import { ADDITIVE, defineTool, type ToolCall } from '../tool.ts';

const input = z.strictObject({
  session_id: sessionId.describe('Session of the paused program.'),
  execution_id: z.string().max(100).describe('execution_id in the result of the paused program.'),
  resolutions: z
    .array(
      z.strictObject({
        id: z.number().int().describe('id of the pending call.'),
        value: z.json().optional().describe('Result of the call.'),
        error: z.string().max(2000).optional().describe('Message of a ToolError, instead of a value.'),
      }),
    )
    .min(1)
    .max(100)
    .describe('Answers to pending calls.'),
});
type ResumeArguments = z.output<typeof input>;

function toResolution({ id, value, error }: ResumeArguments['resolutions'][number]): Resolution {
  if ((value === undefined) === (error === undefined))
    throw new SandboxError('invalid_argument', `resolutions: call ${id} needs either a value or an error.`);
  return error === undefined ? { id, value } : { id, error };
}

async function resume(args: ResumeArguments, call: ToolCall): Promise<ToolResult | InputRequiredResult> {
  const { session_id, execution_id } = args;
  const resolutions = args.resolutions.map(toResolution);
  // With the answers to questions, the program is already running again.
  if (call.input.state !== undefined)
    return runAnswered(call, call.input.state, { request: args, session_id });
  const { fuel_budget, timeout_seconds } = call.tenant.maximums;
  const session = await call.tenant.session(session_id);
  const paused = await session.paused();
  checkExecution(paused, execution_id);
  const tools = await toolsOf(call, { session_id, mayCall: true });
  const options = { resolutions, fuel_budget, timeout_seconds, ...tools };
  const language = paused.language;
  return runForClient(call, { request: args, session_id, language, session, execution_id, options });
}

export const resumeExecution = defineTool({
  name: 'resume_execution',
  title: 'Answer tool calls of a paused program',
  description:
    'Continue a program that execute_code reported as paused: answer its pending tool calls with values or errors, without making the calls. Returns the result of the rest of the program. Approving a call is not possible here; only a person can do that.',
  input,
  output: executionOutput,
  annotations: ADDITIVE,
  run: resume,
});
