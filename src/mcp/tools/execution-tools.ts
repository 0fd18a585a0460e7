/** Tools that run programs and cancel them. */

import type { InputRequiredResult } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { SandboxError } from '../../errors.ts';
import { formatItems } from '../../quantities.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { LANGUAGE_RUNTIMES, languageName } from '../../schema.ts';
import { mentionsTools } from '../../tools/tool-names.ts';
import { executionOutput } from '../execution-result.ts';
import { runForClient } from '../run-for-client.ts';
import type { ServerSettings } from '../settings.ts';
import { DEFAULT_SESSION } from '../tenant.ts';
import {
  ADDITIVE,
  DESTRUCTIVE_IDEMPOTENT,
  defineTool,
  optionalSession,
  type Tool,
  type ToolCall,
} from '../tool.ts';
import { executeCodeDescription } from '../tool-descriptions.ts';
import type { ToolResult } from '../tool-result.ts';
import { fuelBudgetInput } from './fuel-budget-input.ts';

const MAX_CODE_CHARS = 1_000_000;

function executeInput(settings: ServerSettings) {
  return z.strictObject({
    code: z.string().max(MAX_CODE_CHARS).describe('Source code. Show results with print() or display().'),
    language: languageName.describe(
      "Language; in a session, the session's language. JavaScript and TypeScript can be mixed.",
    ),
    session_id: optionalSession.describe(
      'Session to run in, for multi-turn work; without it, a fresh interpreter in the default workspace.',
    ),
    timeout: z
      .number()
      .positive()
      .max(settings.max_timeout_seconds)
      .optional()
      .describe(`Time limit in seconds, e.g. ${Math.min(60, settings.max_timeout_seconds)}.`),
    fuel_budget: fuelBudgetInput(settings, 'for this call'),
    stdin: z.string().optional().describe('Standard input of the program.'),
    profile: z.boolean().optional().describe('Report which lines used the fuel.'),
    files: z
      .record(z.string(), z.string())
      .optional()
      .describe('Text files to write first, e.g. {"data.csv": "a,b\\n1,2"}.'),
  });
}

type ExecuteArguments = z.output<ReturnType<typeof executeInput>>;

/** The sandbox that runs a program: its session, or a temporary one with the files of the default workspace. */
async function openTarget(
  { session_id, language }: ExecuteArguments,
  { tenant }: ToolCall,
): Promise<Sandbox> {
  if (session_id === undefined || session_id === DEFAULT_SESSION)
    return (await tenant.defaultWorkspace()).withRuntime(LANGUAGE_RUNTIMES[language]);
  const session = await tenant.session(session_id);
  if (session.runtime === LANGUAGE_RUNTIMES[language]) return session;
  const reason = `Session ${session_id} runs ${session.runtime}, but this call has language: "${language}"`;
  const advice = `Pass language: "${session.runtime}", or start another session with create_session(language="${language}")`;
  throw new SandboxError('session_mismatch', `${reason}. ${advice}. Nothing was run.`);
}

async function execute(args: ExecuteArguments, call: ToolCall): Promise<ToolResult | InputRequiredResult> {
  const session_id = args.session_id ?? DEFAULT_SESSION;
  return runForClient(call, {
    request: args,
    session_id,
    language: args.language,
    files: Object.keys(args.files ?? {}),
    profile: args.profile === true,
    needsTools: () => needsTools(args, call),
    open: () => openTarget(args, call),
    start: (sandbox, options) => sandbox.execute(args.code, { ...executeOptions(args), ...options }),
  });
}

/**
 * Whether a program may call tools. Code from earlier calls and modules in the workspace may do so even if the program does
 * not mention tools.
 */
async function needsTools(
  { session_id, code, files }: ExecuteArguments,
  { tenant }: ToolCall,
): Promise<boolean> {
  if (session_id !== undefined || files !== undefined || mentionsTools(code)) return true;
  return (await (await tenant.defaultWorkspace()).listFiles()).length > 0;
}

function executeOptions({ language, stdin, timeout, fuel_budget, files, profile }: ExecuteArguments) {
  return {
    language,
    ...(profile !== undefined && { profile }),
    ...(stdin !== undefined && { stdin }),
    ...(timeout !== undefined && { timeout_seconds: timeout }),
    ...(fuel_budget !== undefined && { fuel_budget }),
    ...(files !== undefined && { files }),
  };
}

export const executeCode = (settings: ServerSettings, servers: readonly string[]): Tool =>
  defineTool({
    name: 'execute_code',
    title: 'Run code',
    description: executeCodeDescription(settings, servers),
    input: executeInput(settings),
    aliases: { timeout_seconds: 'timeout' },
    // Clients ignore images in results with structured content.
    ...(!settings.inline_images && { output: executionOutput }),
    annotations: ADDITIVE,
    run: execute,
  });

export const cancelExecution = defineTool({
  name: 'cancel_execution',
  title: 'Cancel running code',
  description:
    'Stop (abort) the running and queued programs of a session immediately. Returns how many were stopped; each of their calls ends with trap_reason cancelled. Use it when code hangs or takes too long; not to end a session (destroy_session).',
  input: z.strictObject({ session_id: optionalSession }),
  output: z.object({ session_id: z.string(), cancelled: z.number().int() }),
  annotations: DESTRUCTIVE_IDEMPOTENT,
  run: async ({ session_id = DEFAULT_SESSION }, { tenant }) => {
    await tenant.open(session_id);
    const cancelled = tenant.cancel(session_id);
    const isShared = await tenant.cancelElsewhere(session_id);
    const text =
      cancelled === 0
        ? `No code was running in session ${session_id}${isShared ? ' on this server' : ''}.`
        : `Cancelled ${formatItems(cancelled, 'running or queued call')} of session ${session_id}.`;
    if (isShared)
      return {
        text: `${text} Calls that other servers are running are cancelled within a few seconds.`,
        structured: { session_id, cancelled },
      };
    return { text, structured: { session_id, cancelled } };
  },
});
