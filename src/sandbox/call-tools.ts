/**
 * The tools of one call: the tools that the options offer, the requests of the program, and the tool calls in the result.
 * `ToolDispatcher` makes the decisions.
 */

import { randomUUID } from 'node:crypto';
import type { CancelSignal } from '../concurrency/cancellation.ts';
import { SandboxError } from '../errors.ts';
import { isoTime } from '../schema/iso-time.ts';
import type { LanguageName, PausedExecution, Policy, ResultMetadata } from '../schema.ts';
import { ToolDispatcher } from '../tools/tool-dispatcher.ts';
import { DEFAULT_TOOL_LIMITS } from '../tools/tool-limits.ts';
import type { OnApproval, Resolution } from '../tools/tool-protocol.ts';
import { Toolset, type ToolsOption } from '../tools/toolset.ts';
import type { HostAnswer, HostRequest, JobTools, RunOutcome } from '../worker/protocol.ts';

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
  readonly code: string;
  readonly language: LanguageName;
  readonly fileName: string | undefined;
  readonly injectSetup: boolean;
  readonly limits: { readonly fuel_budget: number; readonly timeout_seconds: number };
}

/** The execution that `resume` continues, and the answers. */
export interface Resumption {
  readonly paused: PausedExecution;
  readonly resolutions: ReadonlyMap<number, Resolution>;
}

/** Characters of a program that are stored while it is paused, for guidance. */
const MAX_STORED_CODE = 262_144;

interface CallToolsContext {
  readonly executionId: string;
  readonly policy: Policy;
  readonly sessionId: string | undefined;
  /** Why the program cannot pause; undefined if it can. */
  readonly cannotPause: string | undefined;
  readonly signal: CancelSignal;
}

export class CallTools {
  readonly run: ToolDispatcher;
  readonly #toolset: Toolset;
  readonly #policy: Policy;
  readonly #resumption: Resumption | undefined;
  /** The same for all runs of an execution. */
  readonly #runId: string;

  /** The tools that a call has from its options or from the sandbox; undefined if there are none. */
  static start(
    options: ToolOptions,
    base: OfferedTools,
    context: CallToolsContext,
    resumption: Resumption | undefined,
  ): CallTools | undefined {
    const offered = offeredTools(options, base);
    if (offered.onPending === 'pause' && context.cannotPause !== undefined) throw pauseRequiresSession();
    return offered.toolset && new CallTools(offered.toolset, offered, context, resumption);
  }

  private constructor(
    toolset: Toolset,
    { onApproval, onPending }: OfferedTools,
    { executionId, policy, sessionId, cannotPause, signal }: CallToolsContext,
    resumption?: Resumption,
  ) {
    this.#toolset = toolset;
    this.#policy = policy;
    this.#resumption = resumption;
    const paused = resumption?.paused;
    this.#runId = paused?.run_id ?? executionId;
    this.run = new ToolDispatcher(toolset, {
      runId: this.#runId,
      limits: { max_calls: policy.max_tool_calls },
      sessionId,
      onApproval,
      signal,
      cannotPause,
      leavesUnanswered: onPending === 'pause',
      earlier: paused && { records: paused.tool_calls, pending: paused.pending },
    });
  }

  /** The part of the job that concerns tools. */
  get job(): JobTools {
    const { max_tool_calls, max_wait_seconds } = this.#policy;
    const paused = this.#resumption?.paused;
    return {
      catalog: this.#toolset.catalogJson,
      maxCalls: max_tool_calls,
      usedCalls: paused?.tool_calls.length ?? 0,
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
  async answer(request: HostRequest): Promise<HostAnswer> {
    if (request.type === 'tool_call') {
      const { id, name, arguments: argumentsJson, problem } = request;
      return { tool: await this.run.call({ id, name, argumentsJson, problem }) };
    }
    if (request.type === 'tool_resume') {
      const resolution = this.#resumption?.resolutions.get(request.id);
      if (resolution !== undefined) return { tool: await this.run.resolve(resolution) };
      return { tool: { type: 'pending', reason: 'suspended' } };
    }
    if (request.type === 'tool_withdraw') {
      const pending = new Set(this.run.pending.map(({ id }) => id));
      for (const id of request.ids) if (pending.has(id)) await this.run.resolve({ id, deny: request.reason });
      this.run.expire(request.ids);
    }
    return {};
  }

  /** The execution of a call that has paused. Limits and calls continue from earlier pauses. */
  pause(call: PausableCall, { fuelConsumed, durationMs, toolWaitMs = 0 }: RunOutcome): PausedExecution {
    const before = this.#resumption?.paused;
    return {
      // Every pause has its own id. Otherwise an approval could apply to a call of another pause, which the person has
      // not seen, if the program was meanwhile restored and continued with other answers.
      execution_id: before === undefined ? this.#runId : randomUUID(),
      run_id: this.#runId,
      paused_at: isoTime(Date.now()),
      pauses: (before?.pauses ?? 0) + 1,
      code: call.code.slice(0, MAX_STORED_CODE),
      language: call.language,
      ...(call.fileName !== undefined && { file_name: call.fileName }),
      inject_setup: call.injectSetup,
      fuel_budget: before?.fuel_budget ?? call.limits.fuel_budget,
      timeout_seconds: before?.timeout_seconds ?? call.limits.timeout_seconds,
      fuel_consumed: (before?.fuel_consumed ?? 0) + fuelConsumed,
      running_ms: (before?.running_ms ?? 0) + Math.max(0, durationMs - toolWaitMs),
      tool_wait_ms: (before?.tool_wait_ms ?? 0) + toolWaitMs,
      tool_calls: [...this.run.records],
      pending: [...this.run.pending],
    };
  }

  /** The tool calls, for the result. Aborts tools that are still running. */
  finish(): Pick<ResultMetadata, 'tool_calls'> {
    this.run.abort('the program has ended');
    return { tool_calls: [...this.run.records] };
  }
}

function pauseRequiresSession(): SandboxError {
  return new SandboxError(
    'invalid_argument',
    "onPending: 'pause' requires a session whose variables persist. Pass session_id or store to createSandbox(), and do not set auto_persist_globals to false.",
  );
}
