/**
 * Runs a program for a tool call: with the tools of the gateway, the decisions of a person, progress and statistics. A call
 * that needs approval is presented to the person at the client. If that is not possible, the program pauses, provided that
 * another process can resume it; otherwise the call is denied. The model never decides.
 */

import {
  type ApprovalDecision,
  CancelledError,
  type ExecuteOptions,
  executionResult,
  fitsForm,
  isSession,
  type LanguageName,
  MCP_READER,
  type OnApproval,
  type ResumeOptions,
  type Sandbox,
  type SandboxResult,
  type Session,
  sha256Hex,
  type ToolResult,
  type Toolset,
  undefinedIfAborted,
} from '@llm-wasm-sandbox/core/internal';
import type { InputRequiredResult } from '@modelcontextprotocol/server';
import { executionStats } from '../server/metrics.ts';
import type { ServerSettings } from '../server/settings.ts';
import { DEFAULT_SESSION } from '../server/tenant.ts';
import type { ApprovalProgress, RoundState, RunOwner } from './runs-awaiting-approval.ts';
import type { ToolCall } from './tool.ts';
import { offersTool } from './tool.ts';

const MAX_PROGRESS_CHARS = 2000;

/** What the server adds to the options of a program. */
type AddedOptions = Pick<
  ExecuteOptions,
  'onApproval' | 'onPackages' | 'signal' | 'onStdout' | 'onStderr' | 'onProgress'
>;

interface CalledProgram {
  /** The arguments of the tool call. A client repeats them when it answers a question. */
  readonly request: unknown;
  readonly session_id: string;
  readonly language: LanguageName;
}

/** A program to run. */
interface NewProgram extends CalledProgram {
  readonly sandbox: Sandbox;
  readonly code: string;
  readonly options: ExecuteOptions;
}

/** A program to run in a session, on the files of the default workspace. */
interface ProgramOnDefaultFiles extends CalledProgram {
  readonly shell: Session;
  readonly code: string;
  readonly options: ExecuteOptions;
}

/** A paused program to continue. */
interface PausedProgram extends CalledProgram {
  readonly session: Session;
  readonly execution_id: string;
  readonly options: ResumeOptions;
}

export type ClientProgram = NewProgram | ProgramOnDefaultFiles | PausedProgram;

function sandboxOf(program: ClientProgram): Sandbox {
  if ('session' in program) return program.session;
  return 'shell' in program ? program.shell : program.sandbox;
}

function start(
  program: ClientProgram,
  { state, tenant }: ToolCall,
  added: AddedOptions,
): Promise<SandboxResult> {
  if ('session' in program) {
    const { session, execution_id, options } = program;
    return session.resume(execution_id, { ...options, ...added });
  }
  const { code, options } = program;
  if ('sandbox' in program) return program.sandbox.execute(code, { ...options, ...added });
  return program.shell.withFilesOf(
    () => tenant.defaultWorkspace(),
    () => program.shell.execute(code, { ...options, ...added }),
    state.settings.max_queued,
  );
}

/** Runs a program until it ends, pauses or has questions for a person. */
export async function runForClient(
  call: ToolCall,
  program: ClientProgram,
): Promise<ToolResult | InputRequiredResult> {
  const { mcp, input, signal } = call;
  const consent = mcp.packageConsent;
  const sandbox = sandboxOf(program);
  const mayAsk = program.options.tools !== undefined || sandbox.policy.network?.ask === true;
  const whyNot = whyItCannotPause(sandbox, call);
  const leaveOpen = (reason: string) =>
    whyNot === undefined ? undefined : { approved: false, reason: `${reason}, and ${whyNot}` };
  const decisions = (ask: OnApproval | undefined, onApproval: OnApproval, abort: AbortSignal) => ({
    signal: abort,
    ...(consent !== undefined && { onPackages: consent.decide(ask, program.session_id, abort) }),
    ...(mayAsk && { onApproval }),
  });
  if (!input.canAsk || (!mayAsk && !consent?.isOpen))
    return run(
      program,
      call,
      decisions(undefined, () => leaveOpen('this client cannot ask a person'), signal),
    );
  const asking = mcp.approvals.open<ToolResult>(ownerOf(call, program.request));
  const onApproval: OnApproval = (request) =>
    fitsForm(request) ? asking.ask(request) : leaveOpen('the arguments are too long to be shown to a person');
  // Progress belongs to the request that started the program.
  const progress: ToolCall['progress'] =
    call.progress && ((fuel) => asking.rounds === 0 && call.progress!(fuel));
  asking.result = run(program, { ...call, progress }, decisions(asking.ask, onApproval, asking.signal));
  return answerOf(call, await mcp.approvals.next(asking, signal));
}

/** Continues the program of an earlier request with the answers in this one. */
export async function runAnswered(
  call: ToolCall,
  round: RoundState,
  { request, session_id }: Pick<ClientProgram, 'request' | 'session_id'>,
): Promise<ToolResult | InputRequiredResult> {
  const decisionOf = (key: string) => call.input.decision(key);
  const owner = ownerOf(call, request);
  return answerOf(call, await continueRun({ ...call, session_id }, owner, round, decisionOf));
}

const ownerOf = ({ tenant }: ToolCall, request: unknown): RunOwner => ({
  tenant: tenant.id,
  request: requestDigest(request),
});

/** The result of a program that has ended, or its questions. */
export function answerOf(
  { input }: ToolCall,
  progress: ApprovalProgress<ToolResult>,
): ToolResult | Promise<InputRequiredResult> {
  return progress.type === 'done' ? progress.value : input.ask(progress.questions, progress.state);
}

/**
 * The tools that a program may call. If it may call some, the MCP servers are asked for them. A server may never answer, so
 * the call can be cancelled meanwhile.
 */
export async function toolsOf(
  { state: { gateway }, tenant, signal }: ToolCall,
  { session_id, mayCall }: { readonly session_id: string; readonly mayCall: boolean },
): Promise<{ readonly tools?: Toolset }> {
  if (gateway === undefined) return {};
  let tools = gateway.listedToolset;
  if (mayCall) {
    using active = tenant.calls.begin(session_id, signal);
    tools = active.signal.aborted ? undefined : await undefinedIfAborted(gateway.toolset(), active.signal);
    if (tools === undefined)
      throw new CancelledError(
        'The call was cancelled while MCP servers listed their tools. Nothing was run.',
      );
  }
  return tools === undefined ? {} : { tools };
}

/** Why a program cannot wait for a person who uses the command line; undefined if it can. */
function whyItCannotPause(sandbox: Sandbox, { tenant, state }: ToolCall): string | undefined {
  if (!isSession(sandbox) || !sandbox.session.auto_persist_globals) {
    const fact = 'only a program in a session that keeps its variables can wait for approval';
    return offersTool(state.settings, 'create_session') ? `${fact}. Use create_session` : fact;
  }
  if (tenant.sessions.store.isInMemory)
    return 'this server keeps sessions in memory, so no other process can resume the program. Its operator must set store';
  return undefined;
}

/** Identifies a request that is repeated with the answers. */
// biome-ignore lint/plugin: arguments, within the limits of request bodies
export const requestDigest = (args: unknown): string => sha256Hex(JSON.stringify(args));

/** Continues a program with the decisions of a person. */
export async function continueRun(
  { mcp: { approvals }, tenant, signal, session_id }: ToolCall & { readonly session_id: string },
  owner: RunOwner,
  round: RoundState,
  decisionOf: (key: string) => ApprovalDecision,
): Promise<ApprovalProgress<ToolResult>> {
  if (approvals.isWaiting(round)) return approvals.continue(owner, round, decisionOf, signal);
  // Another server may run the program.
  using active = tenant.calls.begin(session_id, signal);
  return await approvals.relay(owner, round, decisionOf, active.signal);
}

/** Runs the program until it ends or pauses. */
async function run(
  program: ClientProgram,
  call: ToolCall,
  decisions: AddedOptions & { signal: AbortSignal },
): Promise<ToolResult> {
  const { state, tenant, progress } = call;
  const { session_id, language } = program;
  using active = tenant.calls.begin(session_id, decisions.signal);
  const { signal } = active;
  const result = await start(program, call, { ...progressCallbacks(progress), ...decisions, signal });
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
    files: 'files' in program.options ? Object.keys(program.options.files ?? {}) : [],
    maxChars: settings.max_output_chars,
    profile: 'profile' in program.options && program.options.profile === true,
    recent: tenant.recent,
    viewAdvice: viewAdvice(settings, session_id),
    signal: decisions.signal,
  });
}

/** How to view the images of a result; empty if the client has no tool for this. */
function viewAdvice(settings: ServerSettings, session_id: string): string {
  if (!offersTool(settings, 'view_result')) return '';
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
