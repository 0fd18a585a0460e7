/** Errors as the SDKs of E2B expect them. The status selects the class of the exception that the SDK throws. */
import { type ErrorCode, SandboxError } from '../errors.ts';
import { clientError } from '../model-text/client-errors.ts';

export class E2bError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** What the proxy of E2B answers for a sandbox that is not running. SDKs report it as a timeout of the sandbox. */
export const notRunning = (sandbox_id: string) =>
  new E2bError(
    502,
    `The sandbox ${sandbox_id} is not running: it was killed or paused, its timeout has passed, or it never existed`,
  );

const STATUS: Readonly<Partial<Record<ErrorCode, number>>> = {
  file_not_found: 404,
  session_not_found: 404,
  quota_exceeded: 507,
  session_busy: 409,
  session_exists: 409,
  execution_paused: 409,
  sandbox_closed: 502,
  rate_limited: 429,
  queue_full: 429,
  session_limit: 429,
  invalid_argument: 400,
  invalid_path: 400,
  session_mismatch: 400,
  checkpoint_not_found: 404,
  build_failed: 400,
};

/** A body that the server does not accept. */
const isBodyError = (cause: unknown): cause is Error & { status: number } =>
  cause instanceof Error && 'status' in cause && typeof cause.status === 'number';

/** The error for a client, and whether the original error belongs in the log. */
export function toE2bError(cause: unknown): { readonly error: E2bError; readonly isHostError: boolean } {
  if (cause instanceof E2bError) return { error: cause, isHostError: false };
  if (isBodyError(cause)) return { error: new E2bError(cause.status, cause.message), isHostError: false };
  const { code, message, isHostError } = clientError(cause);
  const status = cause instanceof SandboxError ? (STATUS[cause.code] ?? 500) : 500;
  const text =
    code === 'sandbox_closed' ? 'The sandbox was killed, was paused or reached its timeout' : message;
  return { error: new E2bError(status, text), isHostError };
}

/** The codes of the Connect protocol, by status. */
const CONNECT_CODES: Readonly<Record<number, string>> = {
  400: 'invalid_argument',
  401: 'unauthenticated',
  403: 'permission_denied',
  404: 'not_found',
  409: 'already_exists',
  429: 'resource_exhausted',
  501: 'unimplemented',
  502: 'unavailable',
  503: 'unavailable',
  504: 'deadline_exceeded',
  507: 'failed_precondition',
};

/** The body of an error of a Connect service. */
export const connectError = (status: number, message: string) => ({
  code: CONNECT_CODES[status] ?? 'unknown',
  message,
});
