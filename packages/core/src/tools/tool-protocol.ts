/** The requests, answers and decisions that make up a tool call. */
import type { CancelSignal } from '../concurrency/cancellation.ts';
import { sha256Hex } from '../framing/digest.ts';
import type { PendingCall, ToolCallRecord } from '../schema/tool-call-record.ts';
import { JsonDataError } from './json-data.ts';
import { programError, type ToolErrorCode } from './tool-error.ts';
import type { ToolLimits } from './tool-limits.ts';
import type { OfferedTool } from './toolset.ts';

/** A tool call of a guest. */
export interface ToolRequest {
  /** Chosen by the guest; unique in the execution. */
  readonly id: number;
  readonly name: string;
  readonly argumentsJson: string;
  /** Why the worker has rejected the arguments. `argumentsJson` is then only their beginning. */
  readonly problem?: string | undefined;
}

/** The answer to a tool call. A pending call stays unanswered. */
export type ToolAnswer =
  | { readonly type: 'value'; readonly json: string }
  | { readonly type: 'error'; readonly code: ToolErrorCode; readonly message: string }
  | { readonly type: 'pending'; readonly reason: 'approval' | 'suspended'; readonly payload?: unknown };

/**
 * The answer to a pending call: a value, the message of an error, an approval, or a denial with an optional reason. `id` is
 * the id of the call in `metadata.pending`.
 */
export type Resolution =
  | { readonly id: number; readonly value: unknown }
  | { readonly id: number; readonly error: string }
  | { readonly id: number; readonly approve: true }
  | { readonly id: number; readonly deny: true | string };

/** A tool call that a person has to approve. */
export interface ApprovalRequest {
  /** Identifies the call. It is the same as `call_id` in `ToolContext`. */
  readonly call_id: string;
  /** Number of the call in its run, starting at 1. */
  readonly seq: number;
  /** Name of the tool; `network:request` for a request that no rule permits. */
  readonly name: string;
  /** Copy of the arguments as the program passed them. Those of a request are `method`, `url` and `body_bytes`. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Name of the session. Undefined if the program does not run in a session. */
  readonly session_id: string | undefined;
  /** Aborted when no decision is needed any more, because the run was cancelled, has timed out or has ended. */
  readonly signal: AbortSignal;
  /** The question, if it is not about a tool call. @internal */
  readonly text?: string;
}
/**
 * A decision about a tool call, with an optional reason. Undefined leaves the call pending: the program pauses if it can.
 */
export type ApprovalDecision =
  | boolean
  | {
      readonly approved: boolean;
      readonly reason?: string;
      /** Applies to all further requests with the same method and origin, while the session is open. Only for requests. */
      readonly for?: 'session';
    }
  | undefined;
/** Decides whether to approve a call to a tool with `needsApproval`. */
export type OnApproval = (request: ApprovalRequest) => ApprovalDecision | Promise<ApprovalDecision>;

/** @internal */
export interface BuiltInTool {
  readonly tool: OfferedTool;
  readonly maxCalls: number;
  readonly maxArgumentsBytes: number;
  /** Called when a person has approved a call. */
  approve(
    args: Record<string, unknown>,
    scope: { readonly isForSession: boolean; readonly isRepeated: boolean },
  ): void;
  /** The value that the program gets if a person has not approved a call. */
  refuse(args: Record<string, unknown>, reason: string, isForSession: boolean): unknown;
}

/** @internal */
export interface ToolDispatcherOptions {
  readonly limits?: Partial<ToolLimits> | undefined;
  /** The same for all runs of an execution that pauses; see `callId`. */
  readonly runId?: string | undefined;
  readonly sessionId?: string | undefined;
  readonly onApproval?: OnApproval | undefined;
  /** Aborted when the run is cancelled. */
  readonly signal?: CancelSignal | undefined;
  /** Why the run cannot pause; undefined if it can. Calls that would have to wait fail with this text. */
  readonly cannotPause: string | undefined;
  /** Whether no tool is called: every accepted call stays unanswered. Requires a run that can pause. */
  readonly leavesUnanswered?: boolean;
  /** A tool of the sandbox itself, with limits of its own. It is not part of the toolset. */
  readonly builtIn?: BuiltInTool | undefined;
  /** The earlier calls of a resumed execution. */
  readonly earlier?:
    | { readonly records: readonly ToolCallRecord[]; readonly pending: readonly PendingCall[] }
    | undefined;
}

/**
 * An idempotency key: the same if an execution makes the same call again after a resume that was rolled back, undone or
 * interrupted, and different for every other call. A UUID of version 8, which is derived from its arguments.
 */
export function callId(runId: string, { seq, name }: ToolCallRecord, argumentsJson: string): string {
  const hash = sha256Hex(`${JSON.stringify([runId, seq, name]).slice(0, -1)},${argumentsJson}]`);
  return hash.replace(/^(.{8})(.{4})(.{3})(.{3})(.{12}).*$/, '$1-$2-8$3-8$4-$5');
}

export function statusOf(answer: ToolAnswer): ToolCallRecord['status'] {
  if (answer.type === 'pending') return 'pending';
  if (answer.type === 'value') return 'ok';
  return answer.code === 'denied' ? 'denied' : 'error';
}

export const failure = (code: ToolErrorCode, message: string) => ({ type: 'error', code, message }) as const;

export function errorAnswer(cause: unknown): ToolAnswer {
  if (cause instanceof JsonDataError)
    return failure(cause.what === 'arguments' ? 'invalid_arguments' : 'failed', cause.message);
  const { code, message } = programError(cause);
  return failure(code, message);
}

export function denialText(reason: string | undefined): string {
  if (reason === undefined || reason === '') return 'The call was not approved.';
  const text = reason.slice(0, 500);
  return `The call was not approved. Reason: ${text}${/[.!?]$/.test(text) ? '' : '.'}`;
}
