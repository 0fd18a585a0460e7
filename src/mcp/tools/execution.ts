/** Tools that run programs and cancel them. */

import type { InputRequiredResult } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { SandboxError } from '../../errors.ts';
import { sha256Hex } from '../../framing/digest.ts';
import { formatItems } from '../../quantities.ts';
import type { ExecuteOptions } from '../../sandbox/call.ts';
import type { Sandbox } from '../../sandbox/sandbox.ts';
import { LANGUAGE_RUNTIMES, languageName } from '../../schema.ts';
import type { OnApproval } from '../../tools/tool-call.ts';
import type { ApprovalProgress, RunOwner } from '../approvals.ts';
import { imageBlocks, isListed } from '../displayed-results.ts';
import { executionOutput, executionResult } from '../execution-result.ts';
import { executionStats } from '../metrics.ts';
import type { ServerSettings } from '../settings.ts';
import { DEFAULT_SESSION } from '../tenant.ts';
import {
  ADDITIVE,
  CancelledError,
  DESTRUCTIVE_IDEMPOTENT,
  defineTool,
  optionalSession,
  type Tool,
  type ToolCall,
} from '../tool.ts';
import { executeCodeDescription } from '../tool-descriptions.ts';
import type { ToolResult } from '../tool-result.ts';
import { offersTool } from '../tool-sets.ts';
import { fuelBudgetInput } from './fuel-budget-input.ts';

const MAX_CODE_CHARS = 1_000_000;
const MAX_PROGRESS_CHARS = 2000;

function executeInput(settings: ServerSettings) {
  return z.strictObject({
    code: z.string().max(MAX_CODE_CHARS).describe('Source code. print() or display() results.'),
    language: languageName.describe(
      'Language of the code. In a session, that of the session; JavaScript and TypeScript can be mixed.',
    ),
    session_id: optionalSession.describe(
      'Session to run in, for multi-turn work; without it, a fresh interpreter in the default workspace.',
    ),
    timeout: z
      .number()
      .positive()
      .max(settings.max_timeout_seconds)
      .optional()
      .describe(`Seconds for this call, e.g. ${Math.min(60, settings.max_timeout_seconds)}.`),
    fuel_budget: fuelBudgetInput(settings, 'for this call'),
    stdin: z.string().optional().describe('Text for the standard input of the program.'),
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
  const advice = `Pass language: "${session.runtime}", or create_session(language="${language}")`;
  throw new SandboxError('session_mismatch', `${reason}. ${advice}. Nothing was run.`);
}

async function execute(args: ExecuteArguments, call: ToolCall): Promise<ToolResult | InputRequiredResult> {
  const { state, input } = call;
  if (state.gateway === undefined) return run(args, call, call.signal, {});
  const tools = await state.gateway.toolset();
  if (!input.canAsk) return run(args, call, call.signal, { tools, onApproval: denyWithoutPerson });
  const owner = { tenant: call.tenant.id, request: sha256Hex(JSON.stringify(args)) };
  // Progress belongs to the request that started the program.
  let isAnswered = false;
  const progress: ToolCall['progress'] = (fuel) => {
    if (!isAnswered) call.progress?.(fuel);
  };
  const step = await nextStep(owner, call, (onApproval, signal) =>
    run(args, { ...call, progress: call.progress && progress }, signal, { tools, onApproval }),
  );
  if (step.type === 'done') return step.value;
  isAnswered = true;
  return input.ask(step.questions, step.state);
}

const denyWithoutPerson: OnApproval = () => ({
  approved: false,
  reason: 'this client cannot ask a person',
});

/** Starts the program, or continues it with the decisions that the request brings. */
function nextStep(
  owner: RunOwner,
  { state: { approvals }, input, signal }: ToolCall,
  start: (onApproval: OnApproval, signal: AbortSignal) => Promise<ToolResult>,
): Promise<ApprovalProgress<ToolResult>> {
  if (input.state === undefined) return approvals.start(owner, signal, start);
  return approvals.continue(owner, input.state, (key) => input.decision(key), signal);
}

/** Runs the program to its end. */
async function run(
  args: ExecuteArguments,
  call: ToolCall,
  abort: AbortSignal,
  tools: Pick<ExecuteOptions, 'tools' | 'onApproval'>,
): Promise<ToolResult> {
  const { state, tenant, progress } = call;
  const session_id = args.session_id ?? DEFAULT_SESSION;
  const sandbox = await openTarget(args, call);
  const result = await tenant.runCancellable(session_id, abort, (signal) =>
    sandbox.execute(args.code, { ...executeOptions(args), ...progressCallbacks(progress), ...tools, signal }),
  );
  // A run that no worker has started has used no memory.
  if (result.metadata.trap_reason === 'cancelled' && result.memory_used_bytes === 0)
    throw new CancelledError('The call was cancelled while queued. Nothing was run.');
  const stats = executionStats(args.language, result);
  tenant.stats.recordExecution(stats);
  state.metrics.recordExecution(stats);
  const results = result.results.filter(isListed).map((one) => tenant.results.add(session_id, one));
  const { settings } = state;
  const shown = executionResult(result, {
    language: args.language,
    session_id,
    files: Object.keys(args.files ?? {}),
    maxChars: settings.max_output_chars,
    profile: args.profile === true,
    results,
    viewAdvice: viewAdvice(settings, args.session_id),
    cacheOutput: (stream, output) => tenant.outputs.add(stream, output),
  });
  if (!settings.inline_images) return shown;
  const readFile = (path: string) => sandbox.readFile(path);
  return { ...shown, blocks: await imageBlocks(results, settings.max_output_chars, readFile) };
}

/** How to view the images of a result; empty if the client receives them or has no tool for this. */
function viewAdvice(settings: ServerSettings, session_id: string | undefined): string {
  if (settings.inline_images || !offersTool(settings, 'view_result')) return '';
  const session = session_id === undefined ? '' : `, session_id="${session_id}"`;
  return `To view an image, call view_result(ids=["…"]${session}).`;
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

/** Callbacks that forward fuel and output to the client, if it asked for progress. */
function progressCallbacks(progress: ToolCall['progress']) {
  if (progress === undefined) return {};
  let output = '';
  const collect = (text: string) => {
    output = (output + text).slice(-MAX_PROGRESS_CHARS);
  };
  return {
    onStdout: collect,
    onStderr: collect,
    onProgress: (fuel: { fuel_consumed: number; fuel_budget: number }) => {
      progress({ ...fuel, output });
      output = '';
    },
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
    const text =
      cancelled === 0
        ? `No code was running in session ${session_id}.`
        : `Cancelled ${formatItems(cancelled, 'running or queued call')} of session ${session_id}.`;
    return { text, structured: { session_id, cancelled } };
  },
});
