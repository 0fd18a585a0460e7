/**
 * The tools of one call: the tools that the options offer, the requests of the program about them, and what the result says
 * about its calls. The decisions are those of `ToolRun`.
 */
import type { PausedExecution, Policy, ResultMetadata } from '../schema.ts';
import type { OnApproval, Resolution } from '../tools/tool-call.ts';
import { DEFAULT_TOOL_LIMITS } from '../tools/tool-limits.ts';
import { ToolRun } from '../tools/tool-run.ts';
import { Toolset, type ToolsOption } from '../tools/toolset.ts';
import type { HostAnswer, HostRequest, JobTools } from '../worker/protocol.ts';

/** The options about tools, of a sandbox or of a call. */
export interface ToolOptions {
  /** Functions of the caller that programs can call: a record of tools and namespaces. */
  tools?: ToolsOption | undefined;
  /** Decides about calls of tools that need approval. Without it, or if it returns undefined, the program pauses if it can. */
  onApproval?: OnApproval | undefined;
}

/** The tools of a sandbox, after they have been checked. */
export interface OfferedTools {
  readonly toolset: Toolset | undefined;
  readonly onApproval: OnApproval | undefined;
}

/** Those of a call replace those of the sandbox. */
export function offeredTools(options: ToolOptions, base?: OfferedTools): OfferedTools {
  return {
    toolset: options.tools === undefined ? base?.toolset : Toolset.from(options.tools),
    onApproval: options.onApproval ?? base?.onApproval,
  };
}

/** What a call of `resume` continues. */
export interface Resumption {
  readonly paused: PausedExecution;
  readonly resolutions: ReadonlyMap<number, Resolution>;
}

interface CallToolsContext {
  readonly policy: Policy;
  readonly sessionId: string | undefined;
  readonly canPause: boolean;
  readonly signal: AbortSignal;
}

/** JSON of a catalog. A catalog never changes. */
const catalogTexts = new WeakMap<Toolset, string>();

function catalogText(toolset: Toolset): string {
  const text = catalogTexts.get(toolset) ?? JSON.stringify(toolset.catalog);
  catalogTexts.set(toolset, text);
  return text;
}

export class CallTools {
  readonly run: ToolRun;
  readonly #toolset: Toolset;
  readonly #policy: Policy;
  readonly #resumption: Resumption | undefined;

  constructor(
    toolset: Toolset,
    onApproval: OnApproval | undefined,
    { policy, sessionId, canPause, signal }: CallToolsContext,
    resumption?: Resumption,
  ) {
    this.#toolset = toolset;
    this.#policy = policy;
    this.#resumption = resumption;
    const paused = resumption?.paused;
    this.run = new ToolRun(toolset, {
      limits: { max_calls: policy.max_tool_calls },
      sessionId,
      onApproval,
      signal,
      canPause,
      earlier: paused && { records: paused.tool_calls, pending: paused.pending },
    });
  }

  /** The part of the job that concerns tools. */
  get job(): JobTools {
    const { max_tool_calls, max_wait_seconds } = this.#policy;
    const paused = this.#resumption?.paused;
    return {
      catalog: catalogText(this.#toolset),
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
      const { id, name, arguments: argumentsJson } = request;
      return { tool: await this.run.call({ id, name, argumentsJson }) };
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

  /** What happened, for the result. Tools that still run get their signal. */
  finish(): Pick<ResultMetadata, 'tool_calls'> {
    this.run.abort('the program has ended');
    return { tool_calls: [...this.run.records] };
  }
}
