/**
 * The only exception class that the library throws. Guest failures are data in the result and never throw; a
 * `SandboxError` reports a problem outside the guest, and its message says what to do.
 */

/** The closed set of error codes. Callers can switch over it exhaustively. */
export const ERROR_CODES = {
  invalid_argument: 'An argument, option or policy value does not match the schema.',
  invalid_path:
    'A workspace path is empty, is absolute but not below /app, leaves the workspace, or contains characters that are not allowed.',
  file_not_found: 'The workspace does not contain the file.',
  quota_exceeded: 'The change exceeds the workspace quota.',
  sandbox_closed: 'The sandbox was closed before or during the call.',
  rate_limited: 'This tenant has used up its fuel or its main-thread time for the current minute.',
  queue_full: 'Too many calls of this tenant are waiting for a worker.',
  session_busy: 'Another process or sandbox has the session open for writing.',
  session_exists: 'A session with this name already exists.',
  session_mismatch: 'The session exists with a different runtime or different settings.',
  session_not_found: 'The session does not exist.',
  session_limit: 'The number or size of sessions or checkpoints has reached its limit.',
  execution_paused: 'The session is waiting for answers to tool calls, so it cannot run another program.',
  execution_not_found: 'The session is not paused in this execution, which has ended or was already resumed.',
  session_damaged: 'The stored session is damaged; its files may still be readable.',
  checkpoint_not_found: 'The session has no checkpoint with this name.',
  nothing_to_undo: 'The session has no call to undo: none has run, or the last one was already undone.',
  store_failed:
    'A store or a package source failed, for example because of a full disk, missing permissions or an unreachable server.',
  module_invalid: 'A WebAssembly module is malformed or uses a feature that the rewriter rejects.',
  image_invalid:
    'An image is damaged, or was built from a different module or layer set, or in a different format version.',
  build_failed: 'A guest or an image could not be built.',
  not_installed: 'A file of the installation is missing.',
  internal: 'A bug in this library.',
} as const;

/** The code of a `SandboxError`. */
export type ErrorCode = keyof typeof ERROR_CODES;

/**
 * Thrown for errors of the host and the calling code only. `code` is stable; `message` says what happened, why, and
 * what to do.
 */
export class SandboxError extends Error {
  /** Always `SandboxError`. */
  override readonly name = 'SandboxError';
  /** The message without details of the host (folders, processes, names), for clients of a server; undefined if it is the same. */
  readonly publicMessage: string | undefined;
  constructor(
    /** What went wrong, as one of `ERROR_CODES`. */
    readonly code: ErrorCode,
    message: string,
    { publicMessage, ...options }: { cause?: unknown; publicMessage?: string } = {},
  ) {
    super(message, options);
    this.publicMessage = publicMessage;
  }
}
