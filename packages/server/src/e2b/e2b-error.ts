/** Errors as the SDKs of E2B expect them. */
import { SandboxError } from '@llm-wasm-sandbox/core/internal';
import { HttpError } from '../server/http-error.ts';

/** What the proxy of E2B answers for a sandbox that is not running. SDKs report it as a timeout of the sandbox. */
export const notRunning = (sandbox_id: string) =>
  new HttpError(
    502,
    `${sandbox_id} is not running: the sandbox was killed or reached its end of life, it was paused, or it never existed`,
  );

/** An error of a request, as the SDKs expect it. */
export const toE2bError = (cause: unknown): unknown =>
  cause instanceof SandboxError && cause.code === 'sandbox_closed'
    ? new HttpError(502, 'The sandbox was killed, was paused or reached its timeout')
    : cause;

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
