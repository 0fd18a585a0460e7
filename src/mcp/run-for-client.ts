/**
 * Runs a program for a tool call: with the tools of the gateway, the decisions of a person, progress and statistics. A call
 * that needs approval is presented to the person at the client. If that is not possible, the program pauses, provided that
 * another process can resume it; otherwise the call is denied. The model never decides.
 */

import type { InputRequiredResult } from '@modelcontextprotocol/server';
import { undefinedIfAborted } from '../concurrency/until-aborted.ts';
import { sha256Hex } from '../framing/digest.ts';
import type { Gateway } from '../gateway/gateway.ts';
import { CancelledError } from '../model-text/client-errors.ts';
import { executionResult } from '../model-text/execution-result.ts';
import { MCP_READER } from '../model-text/readers.ts';
import type { ToolResult } from '../model-text/tool-result.ts';
import type { ExecuteOptions } from '../sandbox/call-options.ts';
import type { Sandbox } from '../sandbox/sandbox.ts';
import type { LanguageName, SandboxResult } from '../schema.ts';
import { executionStats } from '../server/metrics.ts';
import type { ServerSettings } from '../server/settings.ts';
import { DEFAULT_SESSION } from '../server/tenant.ts';
import { isSession } from '../session/create-sandbox.ts';
import { fitsForm } from '../tools/question-text.ts';
import type { ApprovalDecision, OnApproval } from '../tools/tool-protocol.ts';
import type { Toolset } from '../tools/toolset.ts';
import type { ApprovalProgress, RoundState, RunOwner } from './runs-awaiting-approval.ts';
import type { ToolCall } from './tool.ts';
import { offersTool } from './tool-sets.ts';

const MAX_PROGRESS_CHARS = 2000;

/** The options of a run that the server determines. */
type RunOptions = Pick<
  ExecuteOptions,
  'tools' | 'onApproval' | 'onPackages' | 'signal' | 'onStdout' | 'onStderr' | 'onProgress'
>;

/** The tools of a run, and what a person decides. */
type Decisions = Pick<RunOptions, 'tools' | 'onApproval' | 'onPackages'>;

/** A program to run or to continue. */
interface ProgramRun {
  /** The arguments of the tool call. A client repeats them when it answers a question. */
  readonly request: unknown;
  readonly session_id: string;
  readonly language: LanguageName;
  /** Names of the files that were passed with the call. */
  readonly files: readonly string[];
  readonly profile: boolean;
  /** Whether the program may call tools. If not, a slow MCP server does not delay it. */
  needsTools(): Promise<boolean>;
  open(): Promise<Sandbox>;
  start(sandbox: Sandbox, options: RunOptions): Promise<SandboxResult>;
}

export async function runForClient(
  call: ToolCall,
  program: ProgramRun,
): Promise<ToolResult | InputRequiredResult> {
  const { mcp, state, input } = call;
  const { gateway } = state;
  const needsTools = gateway !== undefined && (await program.needsTools());
  const tools = needsTools ? await listTools(gateway, program, call) : gateway?.listedToolset;
  const sandbox = await program.open();
  const whyNot = whyItCannotPause(sandbox, call);
  const leaveOpen = (reason: string) =>
    whyNot === undefined ? undefined : { approved: false, reason: `${reason}, and ${whyNot}` };
  const consent = mcp.packageConsent;
  const packages = (ask: OnApproval | undefined, signal: AbortSignal): Decisions =>
    consent === undefined ? {} : { onPackages: consent.decide(ask, program.session_id, signal) };
  const mayAsk = tools !== undefined || sandbox.policy.network?.ask === true;
  if (!input.canAsk || (!mayAsk && !consent?.isOpen)) {
    const onApproval: OnApproval = () => leaveOpen('this client cannot ask a person');
    const decisions = mayAsk ? { tools, onApproval } : {};
    return run(program, sandbox, call, call.signal, { ...packages(undefined, call.signal), ...decisions });
  }
  const owner = { tenant: call.tenant.id, request: requestDigest(program.request) };
  // Progress belongs to the request that started the program.
  let isAnswered = false;
  const progress: ToolCall['progress'] = (fuel) => {
    if (!isAnswered) call.progress?.(fuel);
  };
  const step = await nextStep(owner, program.session_id, call, (ask, signal) => {
    const onApproval: OnApproval = (request) =>
      fitsForm(request) ? ask(request) : leaveOpen('the arguments are too long to be shown to a person');
    return run(program, sandbox, { ...call, progress: call.progress && progress }, signal, {
      ...packages(ask, signal),
      ...(mayAsk && { tools, onApproval }),
    });
  });
  if (step.type === 'done') return step.value;
  isAnswered = true;
  return input.ask(step.questions, step.state);
}

/** Asks the MCP servers for their tools. A server may never answer, so the call can be cancelled meanwhile. */
function listTools(
  gateway: Gateway,
  { session_id }: ProgramRun,
  { tenant, signal }: ToolCall,
): Promise<Toolset> {
  return tenant.runCancellable(session_id, signal, async (cancelled) => {
    const toolset = cancelled.aborted ? undefined : await undefinedIfAborted(gateway.toolset(), cancelled);
    if (toolset !== undefined) return toolset;
    throw new CancelledError('The call was cancelled while MCP servers listed their tools. Nothing was run.');
  });
}

/** Why a program cannot wait for a person who uses the command line; undefined if it can. */
function whyItCannotPause(sandbox: Sandbox, { tenant, state }: ToolCall): string | undefined {
  if (!isSession(sandbox) || !sandbox.session.auto_persist_globals) {
    const fact = 'only a program in a session that keeps its variables can wait for approval';
    return offersTool(state.settings, 'create_session') ? `${fact}. Use create_session` : fact;
  }
  if (tenant.sessions.store.isInMemory)
    return 'this server keeps sessions in memory, so no other process can resume the program. Its operator must set data_dir or store';
  return undefined;
}

/** Identifies a request that is repeated with the answers. */
// biome-ignore lint/plugin: arguments, within the limits of request bodies
export const requestDigest = (args: unknown): string => sha256Hex(JSON.stringify(args));

/** Starts the program, or continues it with the decisions in the request. */
function nextStep(
  owner: RunOwner,
  session_id: string,
  call: ToolCall,
  start: (onApproval: OnApproval, signal: AbortSignal) => Promise<ToolResult>,
): Promise<ApprovalProgress<ToolResult>> {
  const { state: round } = call.input;
  if (round === undefined) return call.mcp.approvals.start(owner, call.signal, start);
  return continueRun(owner, round, (key) => call.input.decision(key), { ...call, session_id });
}

/** Continues a program with the decisions of a person. */
export function continueRun(
  owner: RunOwner,
  round: RoundState,
  decisionOf: (key: string) => ApprovalDecision,
  { mcp: { approvals }, tenant, signal, session_id }: ToolCall & { readonly session_id: string },
): Promise<ApprovalProgress<ToolResult>> {
  if (approvals.isWaiting(round)) return approvals.continue(owner, round, decisionOf, signal);
  // Another server may run the program.
  return tenant.runCancellable(session_id, signal, (cancelled) =>
    approvals.relay(owner, round, decisionOf, cancelled),
  );
}

/** Runs the program until it ends or pauses. */
async function run(
  program: ProgramRun,
  sandbox: Sandbox,
  call: ToolCall,
  abort: AbortSignal,
  decisions: Decisions,
): Promise<ToolResult> {
  const { state, tenant, progress } = call;
  const { session_id, language } = program;
  const result = await tenant.runCancellable(session_id, abort, (signal) =>
    program.start(sandbox, { ...progressCallbacks(progress), ...decisions, signal }),
  );
  // A run that no worker has started has used no memory.
  if (result.metadata.trap_reason === 'cancelled' && result.memory_used_bytes === 0)
    throw new CancelledError('The call was cancelled while queued. Nothing was run.');
  const stats = executionStats(language, result);
  tenant.stats.recordExecution(stats);
  state.metrics.recordExecution(stats);
  const { settings } = state;
  return executionResult(result, {
    reader: MCP_READER,
    language,
    session_id,
    files: program.files,
    maxChars: settings.max_output_chars,
    profile: program.profile,
    recent: tenant.recent,
    viewAdvice: viewAdvice(settings, session_id),
    ...(settings.inline_images && { images: sandbox }),
    signal: abort,
  });
}

/** How to view the images of a result; empty if the client receives them or has no tool for this. */
function viewAdvice(settings: ServerSettings, session_id: string): string {
  if (settings.inline_images || !offersTool(settings, 'view_result')) return '';
  const session = session_id === DEFAULT_SESSION ? '' : `, session_id="${session_id}"`;
  return `To view an image, call view_result(ids=["…"]${session}).`;
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
