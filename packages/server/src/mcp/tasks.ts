/**
 * Long tool calls as tasks of the MCP extension `io.modelcontextprotocol/tasks`. A task is a view of a call: it runs and is cancelled as
 * other calls are, and questions of its program are answered as those of other programs. Clients that do not declare the extension wait
 * for the result instead.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type ApprovalDecision, linkSignals } from '@llm-wasm-sandbox/core/internal';
import {
  type CallToolResult,
  type InputRequiredResult,
  inputRequired,
  isInputRequiredResult,
  type McpServer,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import { DEFAULT_SESSION, type Tenant } from '../server/tenant.ts';
import { type CallContext, type CallRequest, callRequest, callTool, type RunnableTool } from './call-tool.ts';
import { type ClientInput, clientInput, inputRequests, statedCapabilities } from './client-input.ts';
import type { McpState } from './mcp-state.ts';
import { answerOf, continueRun, requestDigest } from './run-for-client.ts';
import { ANSWER_SECONDS, NotWaiting, type RoundState } from './runs-awaiting-approval.ts';
import type { Task, TaskState, TaskStates } from './task-states.ts';

export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';
/** A call that takes longer becomes a task. */
const TASK_AFTER_MS = 2000;
/** Tasks of a tenant that a server works on at the same time. The client waits for the result of further calls. */
const MAX_TASKS = 32;
/** How long after its creation a task can be used. */
const TTL_MS = 3_600_000;
const POLL_INTERVAL_MS = 1000;

type ToolCallResult = CallToolResult | InputRequiredResult;

/** Clients of 2026 state their capabilities with each request. In 2025, tasks were another protocol. */
const declaresTasks = (request: CallRequest): boolean =>
  statedCapabilities(request)?.extensions?.[TASKS_EXTENSION] !== undefined;

export const isTask = (result: unknown): boolean =>
  (result as { resultType?: unknown }).resultType === 'task';

/** Calls a tool. If the call takes long or waits for a person, the result is a task, provided that the client knows tasks. */
export async function callAsTask(
  tool: RunnableTool,
  args: Record<string, unknown>,
  context: CallContext,
): Promise<ToolCallResult> {
  const { mcp, tenant, request, input } = context;
  const tasks = mcp.tasksOf(tenant);
  if (!declaresTasks(request) || input.state !== undefined || tasks.calls.count() >= MAX_TASKS)
    return callTool(tool, args, context);
  const task = newTask();
  const controller = new AbortController();
  const unlink = linkSignals(controller, request.signal);
  const { asked, call } = collectQuestions(tool, args, context);
  const ended = followCall(tasks, task, controller.signal, call);
  const first = await Promise.race([ended, delay(TASK_AFTER_MS, undefined, { ref: false })]);
  if (first !== undefined && !isInputRequiredResult(first.result)) return first.result;
  const round = {
    tool: tool.name,
    session_id: args['session_id'] as string | undefined,
    request: requestDigest(args),
  };
  const after = (end: Ended) => stateAfter(task, end, asked.state && { ...round, state: asked.state });
  const state = first === undefined ? { task } : after(first);
  try {
    await tasks.add(state);
  } catch (cause) {
    // Nobody could follow the call as a task, so this request waits for it.
    const end = await ended;
    if (isInputRequiredResult(end.result)) throw cause;
    return end.result;
  }
  // The end of this request no longer ends the call.
  unlink();
  if (first === undefined)
    reportFailure(
      ended.then((end) => tasks.end(after(end))),
      context,
    );
  const { inputRequests: _, ...seed } = state.task;
  return { resultType: 'task', ...seed } as unknown as CallToolResult;
}

function newTask(): Task {
  const createdAt = new Date().toISOString();
  return {
    taskId: randomUUID(),
    status: 'working',
    createdAt,
    lastUpdatedAt: createdAt,
    ttlMs: TTL_MS,
    pollIntervalMs: POLL_INTERVAL_MS,
  };
}

interface Ended {
  readonly result: ToolCallResult;
  readonly isCancelled: boolean;
}

/** Makes a call that can be cancelled with the id of its task. */
async function followCall(
  tasks: TaskStates,
  { taskId }: Task,
  abort: AbortSignal,
  call: (signal: AbortSignal) => Promise<ToolCallResult>,
): Promise<Ended> {
  using active = tasks.calls.begin(taskId, abort);
  const result = await call(active.signal);
  return { result, isCancelled: active.signal.aborted };
}

/** A call whose questions become part of the task. It reports no progress, which tasks do not have. */
function collectQuestions(tool: RunnableTool, args: Record<string, unknown>, context: CallContext) {
  const { request, input } = context;
  const asked: { state?: RoundState } = {};
  const taskInput: ClientInput = {
    ...input,
    state: undefined,
    ask: async (questions, round) => {
      asked.state = round;
      return inputRequired({ inputRequests: inputRequests(questions) });
    },
  };
  const { progressToken: _, ..._meta } = request._meta ?? {};
  const call = (signal: AbortSignal) =>
    callTool(tool, args, { ...context, request: { ...request, _meta, signal }, input: taskInput });
  return { asked, call };
}

function stateAfter(task: Task, { result, isCancelled }: Ended, round: TaskState['round']): TaskState {
  const { inputRequests: _, ...rest } = task;
  const updated = { ...rest, lastUpdatedAt: new Date().toISOString() };
  if (isInputRequiredResult(result))
    return { task: { ...updated, status: 'input_required', inputRequests: result.inputRequests! }, round };
  if (isCancelled) return { task: { ...updated, status: 'cancelled' } };
  return { task: { ...updated, status: 'completed', result: { ...result, resultType: 'complete' } } };
}

/** Nobody awaits the end of a task. */
function reportFailure(work: Promise<unknown>, { mcp }: CallContext): void {
  work.catch((err) =>
    mcp.server.telemetry.log.error({ event: 'task.error', err }, 'state of a task not saved'),
  );
}

const taskParams = z.looseObject({ taskId: z.string().max(100) });

/** Registers `tasks/get`, `tasks/update` and `tasks/cancel`. */
export function registerTasks(server: McpServer, mcp: McpState, tenant: Tenant): void {
  const tasks = mcp.tasksOf(tenant);
  const handle = (
    method: string,
    answer: (found: TaskState, context: CallContext) => object | Promise<object>,
  ) =>
    server.server.setRequestHandler(method, { params: taskParams }, async ({ taskId }, context) => {
      const request = callRequest(context, server);
      // Clients of 2025 have tasks of another kind, which this server does not offer.
      if (request.envelope === undefined)
        throw new ProtocolError(ProtocolErrorCode.MethodNotFound, 'Method not found');
      if (!declaresTasks(request))
        throw new MissingRequiredClientCapabilityError({
          requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
        });
      const input = clientInput(context, server, mcp.roundCodec);
      return answer(await findTask(tasks, taskId), { mcp, tenant, request, input }) as Record<
        string,
        unknown
      >;
    });
  handle('tasks/get', ({ task }) => task);
  handle('tasks/update', (found, context) => {
    const { keys = [] } = found.round?.state ?? {};
    // Answers that decide nothing leave the questions open.
    if (
      found.task.status === 'input_required' &&
      keys.some((key) => context.input.decision(key) !== undefined)
    )
      reportFailure(
        continueTask(found, (key) => context.input.decision(key), context, new AbortController().signal),
        context,
      );
    return {};
  });
  handle('tasks/cancel', async (found, context) => {
    await cancelTask(found, context);
    return {};
  });
}

/** The state of a task now. */
async function findTask(tasks: TaskStates, taskId: string): Promise<TaskState> {
  const found = await tasks.latest(taskId);
  if (found === undefined || Date.now() - Date.parse(found.task.createdAt) > TTL_MS)
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      'There is no such task. Tasks expire an hour after their creation, and earlier if there are many.',
    );
  const { task } = found;
  if (task.status === 'working' && (await tasks.isLost(taskId))) {
    const message = 'The server that ran the program has ended, and its result is lost. Make the call again.';
    return { task: { ...task, status: 'failed', error: { code: ProtocolErrorCode.InternalError, message } } };
  }
  if (task.status !== 'input_required') return found;
  const { inputRequests: _, ...rest } = task;
  // This server is continuing the program with the answers.
  if (tasks.calls.count(taskId) > 0) return { task: { ...rest, status: 'working' } };
  if (Date.now() - Date.parse(task.lastUpdatedAt) <= ANSWER_SECONDS * 1000) return found;
  const statusMessage = `No answer arrived within ${ANSWER_SECONDS} seconds, so the program was cancelled.`;
  return { task: { ...rest, status: 'cancelled', statusMessage } };
}

/** Continues the program of a task with the decisions of a person. */
async function continueTask(
  { task, round }: TaskState,
  decisionOf: (key: string) => ApprovalDecision,
  context: CallContext,
  abort: AbortSignal,
): Promise<void> {
  const { tool, session_id, request, state } = round!;
  const { mcp, tenant } = context;
  const tasks = mcp.tasksOf(tenant);
  let isLate = false;
  const run: RunnableTool['run'] = async (_, call) => {
    const owner = { tenant: tenant.id, request };
    try {
      const running = { ...call, session_id: session_id ?? DEFAULT_SESSION };
      return answerOf(call, await continueRun(running, owner, state, decisionOf));
    } catch (cause) {
      isLate = cause instanceof NotWaiting;
      throw cause;
    }
  };
  const { asked, call } = collectQuestions({ name: tool, run }, { session_id }, context);
  const end = await followCall(tasks, task, abort, call);
  // Another answer came first, and what follows it is the state of the task.
  if (isLate) return;
  const next = asked.state && { ...round!, state: asked.state };
  await tasks.end(stateAfter(task, end, next));
}

/** Cancels the program of a task: one that waits for a person by continuing it without approval. */
async function cancelTask(found: TaskState, context: CallContext): Promise<void> {
  const { taskId, status } = found.task;
  const { calls } = context.mcp.tasksOf(context.tenant);
  if (status === 'input_required')
    return continueTask(
      found,
      () => ({ approved: false, reason: 'the task was cancelled' }),
      context,
      AbortSignal.abort(),
    );
  if (status === 'working' && calls.cancel(taskId) === 0) await calls.shared?.request(taskId);
}
