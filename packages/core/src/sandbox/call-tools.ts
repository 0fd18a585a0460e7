/**
 * The tools of one call: the tools that the options offer, the requests of the program, and the tool calls in the result.
 * `ToolDispatcher` makes the decisions.
 */

import { randomUUID } from 'node:crypto';
import type { CancelSignal } from '../concurrency/cancellation.ts';
import { invalidArgument, type SandboxError } from '../errors.ts';
import type { NetworkBroker } from '../network/broker.ts';
import type { NetworkAccess } from '../network/network-access.ts';
import type { Program } from '../runtimes/runtime.ts';
import { isoTime } from '../schema/iso-time.ts';
import type { PausedExecution, Policy, ResultMetadata } from '../schema.ts';
import { ToolDispatcher } from '../tools/tool-dispatcher.ts';
import { DEFAULT_TOOL_LIMITS, MAX_REQUEST_ARGUMENT_BYTES, NETWORK_CALLS } from '../tools/tool-limits.ts';
import type { BuiltInTool, OnApproval, Resolution } from '../tools/tool-protocol.ts';
import { Toolset, type ToolsOption } from '../tools/toolset.ts';
import {
  type HostAnswer,
  type HostRequest,
  type JobTools,
  MAX_STORED_CODE,
  type RunOutcome,
} from '../worker/protocol/messages.ts';

/** The tool options of a sandbox or of a call. */
export interface ToolOptions {
  /** Tools that programs can call. Tools that are passed to `execute` or `resume` replace those of the sandbox. */
  tools?: ToolsOption | undefined;
  /**
   * Decides whether to approve calls to tools that need approval. Without a decision, the program pauses if it can;
   * otherwise the call is denied.
   */
  onApproval?: OnApproval | undefined;
  /**
   * Who runs the tools. `wait`: the host runs them. `pause`: every call stays unanswered, and the program pauses when it
   * has nothing else to do. The caller then runs the tools and passes their results to `resume`. `pause` requires a
   * session. Default: `wait`.
   */
  onPending?: 'wait' | 'pause' | undefined;
}

/** The tools of a sandbox, validated. */
export interface OfferedTools {
  readonly toolset: Toolset | undefined;
  readonly onApproval: OnApproval | undefined;
  readonly onPending: ToolOptions['onPending'];
}

/** Options of a call override those of the sandbox. */
export function offeredTools(options: ToolOptions, base?: OfferedTools): OfferedTools {
  return {
    toolset: options.tools === undefined ? base?.toolset : Toolset.from(options.tools),
    onApproval: options.onApproval ?? base?.onApproval,
    onPending: options.onPending ?? base?.onPending,
  };
}

/** The part of a call that is stored when it pauses. */
interface PausableCall {
  readonly program: Program;
  readonly limits: Pick<Policy, 'fuel_budget' | 'timeout_seconds'>;
}

/** The execution that `resume` continues, and the answers. */
export interface Resumption {
  readonly paused: PausedExecution;
  readonly resolutions: ReadonlyMap<number, Resolution>;
}

interface CallToolsContext {
  readonly executionId: string;
  readonly policy: Policy;
  readonly sessionId: string | undefined;
  /** Why the program cannot pause; undefined if it can. */
  readonly cannotPause: string | undefined;
  readonly signal: CancelSignal;
  /** Undefined if the program may send no requests. */
  readonly network: NetworkAccess | undefined;
  /** Patterns to which the call restricts its requests. */
  readonly networkOnly: readonly string[] | undefined;
}

export class CallTools {
  readonly run: ToolDispatcher;
  readonly #toolset: Toolset | undefined;
  readonly #network: NetworkBroker | undefined;
  readonly #networkOnly: readonly string[] | undefined;
  readonly #policy: Policy;
  readonly #resumption: Resumption | undefined;
  /** The same for all runs of an execution. */
  readonly #runId: string;

  /** The tools and the network of a call; undefined if it has neither. */
  static start(
    options: ToolOptions,
    base: OfferedTools,
    context: CallToolsContext,
    resumption: Resumption | undefined,
  ): CallTools | undefined {
    const offered = offeredTools(options, base);
    if (offered.onPending === 'pause' && context.cannotPause !== undefined) throw pauseRequiresSession();
    const { toolset } = offered;
    if (toolset === undefined && context.network === undefined) return undefined;
    return new CallTools(toolset, offered, context, resumption);
  }

  private constructor(
    toolset: Toolset | undefined,
    { onApproval, onPending }: OfferedTools,
    { executionId, policy, sessionId, cannotPause, signal, network, networkOnly }: CallToolsContext,
    resumption?: Resumption,
  ) {
    this.#toolset = toolset;
    this.#policy = policy;
    this.#resumption = resumption;
    const paused = resumption?.paused;
    this.#runId = paused?.run_id ?? executionId;
    this.#networkOnly = networkOnly;
    this.#network = network?.open([policy.network_only, networkOnly], paused?.network);
    this.run = new ToolDispatcher(toolset ?? Toolset.from({}), {
      runId: this.#runId,
      limits: { max_calls: policy.max_tool_calls },
      sessionId,
      onApproval,
      signal,
      cannotPause,
      leavesUnanswered: onPending === 'pause',
      builtIn: this.#network && requestTool(this.#network, policy),
      earlier: paused && { records: paused.tool_calls, pending: paused.pending },
    });
  }

  /** The part of the job that concerns tools. */
  get job(): JobTools {
    const { max_tool_calls, max_wait_seconds, network } = this.#policy;
    const paused = this.#resumption?.paused;
    const usedRequests = (paused?.tool_calls ?? []).filter(
      ({ name }) => name === NETWORK_CALLS.request,
    ).length;
    return {
      catalog: this.#toolset?.catalogJson ?? '[]',
      ...(this.#toolset === undefined && { hasNoTools: true }),
      maxCalls: max_tool_calls,
      usedCalls: (paused?.tool_calls.length ?? 0) - usedRequests,
      ...(network && {
        network: {
          maxRequests: network.limits.requests,
          usedRequests,
          maxArgumentBytes: MAX_REQUEST_ARGUMENT_BYTES,
        },
      }),
      maxInFlight: DEFAULT_TOOL_LIMITS.max_in_flight,
      maxArgumentBytes: DEFAULT_TOOL_LIMITS.max_arguments_bytes,
      maxWaitMs: Math.max(0, max_wait_seconds * 1000 - (paused?.tool_wait_ms ?? 0)),
      resumed: paused?.pending.map(({ id, arguments: given }) => ({
        id,
        bytes: JSON.stringify(given).length,
      })),
    };
  }

  /** Answers a request of the program. Never rejects. */
  async answer(request: HostRequest): Promise<HostAnswer<never>> {
    if (request.type === 'tool_call') {
      const { id, name, arguments: argumentsJson, problem } = request;
      return { tool: await this.run.call({ id, name, argumentsJson, problem }) };
    }
    if (request.type === 'tool_resume') {
      const resolution = this.#resumption?.resolutions.get(request.id);
      if (resolution !== undefined) return { tool: await this.run.resolve(resolution) };
      return { tool: { type: 'pending', reason: 'suspended' } };
    }
    if (request.type === 'network_read' && this.#network !== undefined)
      return { tool: { type: 'value', json: JSON.stringify(await this.#network.read(request.handle)) } };
    if (request.type === 'network_close') this.#network?.close(request.handle);
    if (request.type === 'tool_withdraw') {
      const pending = new Set(this.run.pending.map(({ id }) => id));
      for (const id of request.ids) if (pending.has(id)) await this.run.resolve({ id, deny: request.reason });
      this.run.expire(request.ids);
    }
    return {};
  }

  /** The execution of a call that has paused. Limits and calls continue from earlier pauses. */
  pause(
    { program, limits }: PausableCall,
    { fuelConsumed, durationMs, toolWaitMs = 0 }: RunOutcome,
  ): PausedExecution {
    const before = this.#resumption?.paused;
    return {
      // Every pause has its own id. Otherwise an approval could apply to a call of another pause, which the person has
      // not seen, if the program was meanwhile restored and continued with other answers.
      execution_id: before === undefined ? this.#runId : randomUUID(),
      run_id: this.#runId,
      paused_at: isoTime(Date.now()),
      pauses: (before?.pauses ?? 0) + 1,
      code: program.code.slice(0, MAX_STORED_CODE),
      language: program.language,
      ...(program.file_name !== undefined && { file_name: program.file_name }),
      inject_setup: program.inject_setup,
      fuel_budget: before?.fuel_budget ?? limits.fuel_budget,
      timeout_seconds: before?.timeout_seconds ?? limits.timeout_seconds,
      ...(this.#networkOnly && { network_only: [...this.#networkOnly] }),
      fuel_consumed: (before?.fuel_consumed ?? 0) + fuelConsumed,
      running_ms: (before?.running_ms ?? 0) + Math.max(0, durationMs - toolWaitMs),
      tool_wait_ms: (before?.tool_wait_ms ?? 0) + toolWaitMs,
      tool_calls: [...this.run.records],
      ...(this.#network && { network: this.#network.records }),
      pending: [...this.run.pending],
    };
  }

  /** The tool calls and requests, for the result. Aborts those that are still running. */
  finish(): Pick<ResultMetadata, 'tool_calls' | 'network'> {
    this.run.abort('the program has ended');
    void this.#network?.finish();
    return {
      ...(this.#toolset && { tool_calls: [...this.run.toolRecords] }),
      ...(this.#network && { network: this.#network.records }),
    };
  }

  /** Resolves when all requests are in the recording. */
  async recorded(): Promise<void> {
    await this.#network?.recorded();
  }
}

/** Requests are dispatched like calls of a tool, so that they wait, pause and end like them. */
function requestTool(broker: NetworkBroker, { network }: Policy): BuiltInTool {
  const description = {
    name: NETWORK_CALLS.request,
    path: [],
    description: 'Sends a request.',
    input_schema: null,
    output_schema: null,
  };
  const definition = {
    execute: (args: Record<string, unknown>, { signal }: { readonly signal: AbortSignal }) =>
      broker.request(args, signal),
    needsApproval: (args: Record<string, unknown>) => broker.needsApproval(args),
    // The broker has its own limits.
    timeoutMs: 2 ** 31 - 1,
  };
  return {
    tool: { description, definition, input: undefined, output: undefined },
    maxCalls: network?.limits.requests ?? 0,
    maxArgumentsBytes: MAX_REQUEST_ARGUMENT_BYTES,
    approve: (args, scope) => broker.approve(args, scope),
    refuse: (args, reason, isForSession) => broker.refuse(args, reason, isForSession),
  };
}

function pauseRequiresSession(): SandboxError {
  return invalidArgument(
    "onPending: 'pause' requires a session whose variables persist. Pass session_id or store to createSandbox(), and do not set auto_persist_globals to false.",
  );
}
