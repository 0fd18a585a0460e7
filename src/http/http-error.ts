/** Errors of protocols over HTTP. The status selects the class of the exception that a client throws. */
import { type ErrorCode, SandboxError } from '../errors.ts';
import { clientError } from '../model-text/client-errors.ts';

export class HttpError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

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
export function toHttpError(cause: unknown): { readonly error: HttpError; readonly isHostError: boolean } {
  if (cause instanceof HttpError) return { error: cause, isHostError: false };
  if (isBodyError(cause)) return { error: new HttpError(cause.status, cause.message), isHostError: false };
  const { message, isHostError } = clientError(cause);
  const status = cause instanceof SandboxError ? (STATUS[cause.code] ?? 500) : 500;
  return { error: new HttpError(status, message), isHostError };
}
