/** Errors of protocols over HTTP. The status selects the class of the exception that a client throws. */
import { clientError, type ErrorCode, SandboxError } from '@llm-wasm-sandbox/core/internal';

interface HttpErrorOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /** The code of the error that caused it. */
  readonly code?: string;
}

export class HttpError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly options: HttpErrorOptions = {},
  ) {
    super(message);
  }
}

/** An error that clients may repeat the request after. */
export const retryLater = (status: number, message: string, seconds = 1) =>
  new HttpError(status, message, { headers: { 'retry-after': String(seconds) } });

/** What a client sent, as messages show it. */
export const quoted = (text: string, maxChars = 100) => JSON.stringify(text.slice(0, maxChars));

/** The status of each error, in every protocol over HTTP. */
export const HTTP_STATUS: Readonly<Record<ErrorCode, number>> = {
  invalid_argument: 400,
  invalid_path: 400,
  session_mismatch: 400,
  nothing_to_undo: 400,
  build_failed: 400,
  file_not_found: 404,
  session_not_found: 404,
  execution_not_found: 404,
  checkpoint_not_found: 404,
  session_busy: 409,
  session_exists: 409,
  execution_paused: 409,
  rate_limited: 429,
  queue_full: 429,
  session_limit: 429,
  session_damaged: 500,
  store_failed: 500,
  commit_unknown: 500,
  module_invalid: 500,
  image_invalid: 500,
  not_installed: 500,
  internal: 500,
  sandbox_closed: 502,
  quota_exceeded: 507,
};

/** The error for a client, and whether the original error belongs in the log. */
export function toHttpError(cause: unknown): { readonly error: HttpError; readonly isHostError: boolean } {
  if (cause instanceof HttpError) return { error: cause, isHostError: false };
  const { code, message, isHostError } = clientError(cause);
  const status = cause instanceof SandboxError ? HTTP_STATUS[cause.code] : 500;
  return { error: new HttpError(status, message, { code }), isHostError };
}
