/**
 * Writes the structured events of a sandbox to the caller's logger. An event is one object with a name and flat fields.
 * Text from the guest appears only in the shortened form that guidance uses. A logger that throws does not affect a run.
 */
import type { SandboxError } from '../errors.ts';
import type { EventLogger, Policy, RuntimeName, SandboxResult, TrapReason } from '../schema.ts';

/** The names and meanings of all events. */
export const EVENTS = {
  'execution.start': 'A call to `execute` was accepted.',
  'execution.complete':
    'A call has ended. The event contains the `error_guidance` and the `fuel_analysis` of the result.',
  'execution.unclassified_error': 'A run failed in a way that no guidance rule covers.',
  'session.open': 'A session was created or opened.',
  'session.checkpoint': 'A checkpoint was created.',
  'session.rollback': 'A session was restored to an earlier state.',
  'session.fork': 'A session was created as a fork of another.',
  'session.close': 'A session was closed.',
  'session.save_failed': 'A session could not be saved. The event contains the error.',
  'security.limit_exceeded': 'A run was stopped because it reached a limit.',
  'security.denied_call':
    'A run was stopped because the guest called a host function that is not available to it.',
  'security.path_restricted': 'A program tried to use a file outside its file system.',
} as const;
/** The name of an event. */
export type EventName = keyof typeof EVENTS;

const LIMIT_TRAPS: readonly (TrapReason | null)[] = [
  'out_of_fuel',
  'timeout',
  'memory_limit',
  'process_limit',
  'stack_overflow',
];
const MESSAGE_MAX = 500;

export class EventLog {
  constructor(
    readonly logger: EventLogger | undefined,
    readonly runtime: RuntimeName,
  ) {}

  emit(event: EventName, fields: object, level: 'info' | 'warn' = 'info'): void {
    if (this.logger === undefined) return;
    try {
      this.logger[level]({ event, runtime: this.runtime, ...fields }, event);
    } catch {
      // A broken logger must not fail the call.
    }
  }

  /** Writes an event of a session. Does nothing without a session. */
  session(event: EventName & `session.${string}`, session_id: string | undefined, fields: object = {}): void {
    if (session_id !== undefined) this.emit(event, { session_id, ...fields });
  }

  start(execution_id: string, code: string, limits: Pick<Policy, 'fuel_budget' | 'timeout_seconds'>): void {
    const { fuel_budget, timeout_seconds } = limits;
    this.emit('execution.start', { execution_id, code_chars: code.length, fuel_budget, timeout_seconds });
  }

  complete(execution_id: string, result: SandboxResult, unclassified: boolean): void {
    if (this.logger === undefined) return;
    const { metadata, success, exit_code, fuel_consumed, memory_used_bytes, duration_ms } = result;
    const { trap_reason, queue_ms, state, session_id, error_guidance, fuel_analysis, error } = metadata;
    this.emit('execution.complete', {
      execution_id,
      success,
      exit_code,
      trap_reason,
      fuel_consumed,
      memory_used_bytes,
      duration_ms,
      queue_ms,
      state,
      ...(session_id !== undefined && { session_id }),
      ...(error_guidance && { error_guidance }),
      ...(fuel_analysis && { fuel_analysis }),
    });
    if (LIMIT_TRAPS.includes(trap_reason)) {
      this.emit('security.limit_exceeded', { execution_id, trap_reason }, 'warn');
    }
    if (trap_reason === 'denied_call') {
      this.emit('security.denied_call', { execution_id, trap_message: metadata.trap_message }, 'warn');
    }
    if (error_guidance?.error_type === 'PathRestriction') {
      this.emit(
        'security.path_restricted',
        { execution_id, error_message: error_guidance.error_message },
        'warn',
      );
    }
    if (unclassified) {
      const known = error && {
        error_type: error.type,
        error_module: error.module,
        error_message: error.message.slice(0, MESSAGE_MAX),
      };
      this.emit('execution.unclassified_error', { execution_id, exit_code, trap_reason, ...known }, 'warn');
    }
  }

  /** A session could not be saved. */
  saveFailed(session_id: string, { code, message }: SandboxError): void {
    this.emit('session.save_failed', { session_id, error: code, error_message: message }, 'warn');
  }
}
