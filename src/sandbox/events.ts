/**
 * The structured events of a sandbox, written to the caller's logger. Each is one object with an `event` name and flat
 * fields; text that came from a guest is only there as guidance already shortened it. A logger that throws is the
 * caller's affair and changes no run.
 */
import type { EventLogger, Policy, RuntimeName, SandboxResult, TrapReason } from '../schema.ts';

/** Every event there is, with what it means. */
export const EVENTS = {
  'execution.start': 'A call was handed over for execution.',
  'execution.complete': 'A call has ended, one way or another; carries error_guidance and fuel_analysis.',
  'execution.unclassified_error': 'A run failed in a way that no rule of the error guidance knows.',
  'session.open': 'A session was begun or taken up again.',
  'session.checkpoint': 'A checkpoint of a session was made.',
  'session.rollback': 'A session went back to an earlier state.',
  'session.fork': 'A session was begun from the state of another.',
  'session.close': 'A session was closed; it can be opened again.',
  'security.limit_exceeded': 'A run was ended by one of its limits.',
  'security.denied_call': 'A guest called a host function that it is not given.',
  'security.path_restricted': 'A program failed on a file outside of its world.',
} as const;
export type EventName = keyof typeof EVENTS;

const LIMIT_TRAPS: readonly (TrapReason | null)[] = [
  'out_of_fuel',
  'timeout',
  'memory_limit',
  'stack_overflow',
];
const MESSAGE_MAX = 500;

export class Events {
  constructor(
    readonly logger: EventLogger | undefined,
    readonly runtime: RuntimeName,
  ) {}

  emit(event: EventName, fields: object, level: 'info' | 'warn' = 'info'): void {
    if (this.logger === undefined) return;
    try {
      this.logger[level]({ event, runtime: this.runtime, ...fields }, event);
    } catch {
      // Nothing a run could do about it, and nobody else to tell.
    }
  }

  /** An event of a session; of a sandbox without one, none. */
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
}
