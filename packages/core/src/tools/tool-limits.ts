/** Limits of the tool calls of one run. */

export interface ToolLimits {
  /** Maximum number of calls per run; at most 10,000. */
  readonly max_calls: number;
  /** Maximum number of concurrent calls; further calls wait. */
  readonly max_in_flight: number;
  /** Maximum size of the arguments of one call as JSON. */
  readonly max_arguments_bytes: number;
  /** Maximum size of the result of one call as JSON. */
  readonly max_result_bytes: number;
  /** Time limit of calls to tools that do not set one. */
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
/** Maximum length of the name of a tool in a call. Names of tools are shorter. */
export const MAX_CALLED_NAME_CHARACTERS = 1000;
/** Maximum length of the reason for which a program withdraws a call. */
export const MAX_REASON_CHARACTERS = 1000;
/** Memory for the arguments of the calls in flight of a run. A worker sends further calls when others have been answered. */
export const MAX_IN_FLIGHT_ARGUMENT_BYTES = 8 * 1024 * 1024;
/** Memory for the arguments of all calls of a run that are unanswered or whose tools have not ended. */
export const MAX_HELD_ARGUMENT_BYTES = 2 * MAX_IN_FLIGHT_ARGUMENT_BYTES;
/** Maximum size of the arguments of a request as JSON: its body in base64, and its headers. */
export const MAX_REQUEST_ARGUMENT_BYTES = 6 * 1024 * 1024;
/** The names under which programs send requests and read responses. They are not tools of the caller. */
export const NETWORK_CALLS = {
  request: 'network:request',
  read: 'network:read',
  close: 'network:close',
} as const;
export const PREVIEW_CHARS = 200;
