/**
 * Errors as clients see them. Every error that leaves the server, from a tool or a resource, passes through here, so
 * that no client learns the folders, processes or names of the host. The original error goes to the log.
 */
import { escapeBlock } from '../analysis/escape-controls.ts';
import { type ErrorCode, SandboxError } from '../errors.ts';
import { replaceLoneSurrogates } from './tool-result.ts';

/** The call was cancelled before it started. The message is for the model. */
export class CancelledError extends Error {
  readonly code = 'cancelled';
}

const OWN_MESSAGE = Symbol('own message');
const INTERNAL = 'The server failed to handle this call. The server log has the cause.';

/** The message of each code. Codes with `OWN_MESSAGE` never mention the host in their message. */
const MESSAGES: Readonly<Record<ErrorCode, string | typeof OWN_MESSAGE>> = {
  invalid_argument: OWN_MESSAGE,
  invalid_path: OWN_MESSAGE,
  file_not_found: OWN_MESSAGE,
  quota_exceeded: OWN_MESSAGE,
  sandbox_closed: 'The session was closed before this call finished. Start another one with create_session.',
  queue_full: OWN_MESSAGE,
  rate_limited: OWN_MESSAGE,
  session_busy: 'The session is in use elsewhere. Retry later or use another session.',
  session_exists: OWN_MESSAGE,
  session_mismatch: OWN_MESSAGE,
  session_not_found: OWN_MESSAGE,
  session_limit: OWN_MESSAGE,
  session_damaged:
    'The stored data of this session is damaged. list_files and read_file show the files that are intact: save the files you need, then delete the session with destroy_session.',
  execution_paused: OWN_MESSAGE,
  execution_not_found: OWN_MESSAGE,
  checkpoint_not_found: OWN_MESSAGE,
  nothing_to_undo: OWN_MESSAGE,
  store_failed:
    'The server could not save or load the session. If this call ran code, its effects were undone. Retry later; the server log has the cause.',
  commit_unknown:
    'The connection to the session store was lost while this call was being saved, so it is not known whether the call took effect. Read the state of the session before you repeat the call.',
  module_invalid: INTERNAL,
  image_invalid:
    'The saved variables of this session cannot be restored, for example because another version of the server saved them; the server log has the cause. The files of the session can still be read with list_files and read_file. Start another session with create_session.',
  build_failed: OWN_MESSAGE,
  not_installed: INTERNAL,
  internal: INTERNAL,
};

/** Codes for which the original error goes to the log, because the operator has to act. */
const LOGGED: readonly string[] = [
  'session_busy',
  'session_damaged',
  'store_failed',
  'commit_unknown',
  'module_invalid',
  'image_invalid',
  'not_installed',
  'internal',
];

export interface ClientError {
  readonly code: ErrorCode | CancelledError['code'];
  readonly message: string;
  /** The original error belongs in the log. */
  readonly isHostError: boolean;
}

export function clientError(cause: unknown): ClientError {
  if (cause instanceof CancelledError)
    return { code: cause.code, message: cause.message, isHostError: false };
  if (!(cause instanceof SandboxError)) return { code: 'internal', message: INTERNAL, isHostError: true };
  const { code, publicMessage } = cause;
  const fixed = MESSAGES[code];
  const message = publicMessage ?? (fixed === OWN_MESSAGE ? cause.message : fixed);
  const isHostError = LOGGED.includes(code) || publicMessage !== undefined;
  return { code, message: escapeBlock(replaceLoneSurrogates(message)), isHostError };
}
