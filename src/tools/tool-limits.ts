/** Limits of the tool calls of one run. */

export interface ToolLimits {
  /** Calls that a run may make; at most 10,000. */
  readonly max_calls: number;
  /** Calls that run at the same time; further calls wait. */
  readonly max_in_flight: number;
  /** Size of the arguments of one call as JSON. */
  readonly max_arguments_bytes: number;
  /** Size of the result of one call as JSON. */
  readonly max_result_bytes: number;
  /** Time limit of a call whose tool has none. */
  readonly call_timeout_ms: number;
}

export const DEFAULT_TOOL_LIMITS: ToolLimits = {
  max_calls: 100,
  max_in_flight: 16,
  max_arguments_bytes: 1024 * 1024,
  max_result_bytes: 4 * 1024 * 1024,
  call_timeout_ms: 60_000,
};
export const MAX_TOOL_CALLS = 10_000;
/** Bytes of arguments that unanswered calls of a run may hold in the host. */
export const MAX_HELD_ARGUMENT_BYTES = 64 * 1024 * 1024;
export const PREVIEW_CHARS = 200;
