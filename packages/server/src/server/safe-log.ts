/** A safe log for a server: it never throws, and it can omit text that comes from programs. */
import { ERROR_CODES } from '@llm-wasm-sandbox/core/internal';
import type { ServerLog } from './telemetry.ts';

const LEVELS = ['info', 'warn', 'error'] as const;

function mapLog(
  log: ServerLog,
  write: (emit: () => void) => void,
  fields: (fields: object) => object,
): ServerLog {
  const entries = LEVELS.map((level) => [
    level,
    (given: object, message: string) => write(() => log[level](fields(given), message)),
  ]);
  return Object.fromEntries(entries) as unknown as ServerLog;
}

/** A log that never throws. A call that has run must not fail because its log event cannot be written. */
export function withoutLogErrors(log: ServerLog): ServerLog {
  const write = (emit: () => void) => {
    try {
      emit();
    } catch {
      // The log is the only place to report this error.
    }
  };
  return mapLog(log, write, (fields) => fields);
}

/** Text fields of sandbox events that do not come from a program. */
const SAFE_TEXTS = new Set([
  'event',
  'runtime',
  'execution_id',
  'session_id',
  'forked_from',
  'checkpoint',
  'trap_reason',
  'state',
]);

/**
 * A log for the events of sandboxes that drops text from programs: error messages, source lines and names that a program
 * chose. Figures stay, and so do error codes, the type of the guidance and the status of the fuel report, which are closed
 * sets.
 */
export function withoutProgramData(log: ServerLog): ServerLog {
  return mapLog(log, (emit) => emit(), safeFields);
}

function safeFields(fields: object): object {
  const entries = Object.entries(fields);
  const safe = entries.filter(([name, value]) =>
    typeof value === 'string' ? isSafeText(name, value) : typeof value !== 'object' || value === null,
  );
  const { error_guidance, fuel_analysis } = fields as {
    error_guidance?: { error_type: string };
    fuel_analysis?: { status: string };
  };
  return {
    ...Object.fromEntries(safe),
    ...(error_guidance && { guidance_type: error_guidance.error_type }),
    ...(fuel_analysis && { fuel_status: fuel_analysis.status }),
  };
}

function isSafeText(name: string, value: string): boolean {
  return SAFE_TEXTS.has(name) || (name === 'error' && Object.hasOwn(ERROR_CODES, value));
}

/** The fields of an error without its message, which may quote a request. */
export function errorFields(cause: Error): object {
  const { code } = cause as { code?: unknown };
  return { error: cause.name, ...(code !== undefined && { code: String(code) }) };
}
