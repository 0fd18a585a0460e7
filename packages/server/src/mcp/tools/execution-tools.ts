/** Tools that run programs and cancel them. */

import type { Sandbox, ToolResult } from '@llm-wasm-sandbox/core/internal';
import {
  executeInput,
  executionOutput,
  formatItems,
  LANGUAGE_RUNTIMES,
  languageName,
  mentionsTools,
  SandboxError,
} from '@llm-wasm-sandbox/core/internal';
import type { InputRequiredResult } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { checkWithin } from '../../server/network-config.ts';
import type { ServerSettings } from '../../server/settings.ts';
import { DEFAULT_SESSION } from '../../server/tenant.ts';
import { runAnswered, runForClient, toolsOf } from '../run-for-client.ts';
import {
  ADDITIVE,
  DESTRUCTIVE_IDEMPOTENT,
  defineTool,
  hasNetwork,
  networkOnlyInput,
  optionalSession,
  type Tool,
  type ToolCall,
  unlistedWithoutNetwork,
} from '../tool.ts';
import { executeCodeDescription } from '../tool-descriptions.ts';

const LANGUAGE = languageName.describe('In a session, its language; JavaScript and TypeScript can be mixed.');

const inputOf = (settings: ServerSettings) =>
  executeInput(LANGUAGE, settings).extend({
    session_id: optionalSession.describe(
      'Session to run in, for multi-turn work. Default: a fresh interpreter in the default workspace.',
    ),
    network_only: networkOnlyInput,
    profile: z.boolean().optional().describe('Report fuel by line.'),
  });

type ExecuteArguments = z.output<ReturnType<typeof inputOf>>;

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
  const { code, session_id = DEFAULT_SESSION, ...rest } = args;
  const facts = { request: args, session_id, language: args.language };
  if (call.input.state !== undefined) return runAnswered(call, call.input.state, facts);
  checkWithin(call.tenant.network, args.network_only);
  const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined));
  const tools = await toolsOf(call, { session_id, mayCall: await mayCallTools(args, call) });
  const sandbox = await openTarget(args, call);
  return runForClient(call, { ...facts, sandbox, code, options: { ...given, ...tools } });
}

/**
 * Whether a program may call tools. Code from earlier calls and modules in the workspace may do so even if the program does
 * not mention tools.
 */
async function mayCallTools(
  { session_id, code, files }: ExecuteArguments,
  { state, tenant }: ToolCall,
): Promise<boolean> {
  if (state.gateway === undefined) return false;
  if (session_id !== undefined || files !== undefined || mentionsTools(code)) return true;
  return (await (await tenant.defaultWorkspace()).listFiles()).length > 0;
}

export const executeCode = (settings: ServerSettings, servers: readonly string[]): Tool =>
  defineTool({
    name: 'execute_code',
    title: 'Run code',
    description: executeCodeDescription(settings, servers),
    input: inputOf(settings),
    unlisted: unlistedWithoutNetwork(settings),
    aliases: { timeout: 'timeout_seconds' },
    output: executionOutput,
    annotations: { ...ADDITIVE, openWorldHint: hasNetwork(settings) },
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
    const cancelled = tenant.calls.cancel(session_id);
    const isShared = await tenant.calls.cancelElsewhere(session_id);
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
