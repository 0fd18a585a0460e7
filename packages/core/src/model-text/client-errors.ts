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

const INTERNAL = 'The server failed to handle this call. The server log has the cause.';

/** Codes whose messages never mention the host. */
const OWN_MESSAGES: readonly string[] = [
  'invalid_argument invalid_path file_not_found quota_exceeded queue_full rate_limited build_failed',
  'session_exists session_mismatch session_not_found session_limit checkpoint_not_found nothing_to_undo',
  'execution_paused execution_not_found',
].flatMap((codes) => codes.split(' '));

/** The messages of other codes, unless that is INTERNAL. */
const MESSAGES: Readonly<Partial<Record<ErrorCode, string>>> = {
  sandbox_closed: 'The session was closed before this call finished. Start another one with create_session.',
  session_busy: 'The session is in use elsewhere. Retry later or use another session.',
  session_damaged:
    'The stored data of this session is damaged. list_files and read_file show the files that are intact: save the files you need, then delete the session with destroy_session.',
  store_failed:
    'The server could not save or load the session. If this call ran code, its effects were undone. Retry later; the server log has the cause.',
  commit_unknown:
    'The connection to the session store was lost while this call was being saved, so it is not known whether the call took effect. Read the state of the session before you repeat the call.',
  image_invalid:
    'The saved variables of this session cannot be restored, for example because another version of the server saved them; the server log has the cause. The files of the session can still be read with list_files and read_file. Start another session with create_session.',
};

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
  const isOwn = OWN_MESSAGES.includes(code);
  const message = publicMessage ?? (isOwn ? cause.message : (MESSAGES[code] ?? INTERNAL));
  // The operator has to act, except on a session that the caller has closed.
  const isHostError = publicMessage !== undefined || !(isOwn || code === 'sandbox_closed');
  return { code, message: escapeBlock(replaceLoneSurrogates(message)), isHostError };
}
