/**
 * The only exception class that the library throws. Guest failures are data in the result and never throw; a
 * `SandboxError` reports a problem outside the guest, and its message says what to do.
 */

/** The codes of `SandboxError` and their meanings. The set is closed: a `switch` over the codes can be exhaustive. */
export const ERROR_CODES = {
  invalid_argument: 'An argument, option or policy value does not match the schema.',
  invalid_path:
    'A workspace path is empty, leads out of /app, conflicts with a folder or file, or contains characters that are not allowed.',
  file_not_found: 'The workspace does not contain the file, or the tenant has no such job.',
  quota_exceeded: 'The files would exceed a limit on their size, their number or their paths.',
  sandbox_closed: 'The sandbox was closed before or during the call.',
  rate_limited:
    'This tenant has used up its fuel for the current minute, or the processor time that its requests may use per minute.',
  queue_full: 'Too many calls of this tenant are waiting for a worker.',
  session_busy: 'Another process or sandbox is using the session.',
  session_exists: 'A session with this name already exists.',
  session_mismatch: 'The session exists, but with a different runtime or different settings.',
  session_not_found: 'The session does not exist.',
  session_limit: 'The number or size of sessions or checkpoints has reached its limit.',
  execution_paused: 'The session is paused until tool calls are answered, so it cannot run another program.',
  execution_not_found:
    'No program is paused with this execution id. The execution has ended, was discarded or was already resumed.',
  session_damaged: 'The stored session is damaged. Files that are intact can still be read.',
  checkpoint_not_found: 'The session has no checkpoint with this name.',
  nothing_to_undo: 'The session has no call to undo: no call has run, or the last call was already undone.',
  store_failed:
    'A store or a package source failed, for example because of a full disk, missing permissions or an unreachable server.',
  commit_unknown:
    'The connection to a store was lost while it was saving a change. The change may or may not have taken effect: read the state of the session before you repeat the change.',
  module_invalid: 'A WebAssembly module is malformed or uses a feature that is not supported.',
  image_invalid:
    'An image is damaged, has a different format version, or was built from a different module or different layers.',
  build_failed: 'A guest or an image could not be built.',
  not_installed: 'An optional package, or a file of this package, is missing.',
  internal: 'A bug in this library.',
} as const;

/** The code of a `SandboxError`. */
export type ErrorCode = keyof typeof ERROR_CODES;

/**
 * An error of the host or of the calling code. The failure of a program is not an error, but data in its result. `code` is
 * stable. `message` says what happened, why, and what to do.
 */
export class SandboxError extends Error {
  /** Always `SandboxError`. */
  override readonly name = 'SandboxError';
  /**
   * The message for clients of a server, without details of the host, such as paths. Undefined if `message` has no such
   * details.
   */
  readonly publicMessage: string | undefined;
  constructor(
    /** What went wrong: a key of `ERROR_CODES`. */
    readonly code: ErrorCode,
    message: string,
    { publicMessage, ...options }: { cause?: unknown; publicMessage?: string } = {},
  ) {
    super(message, options);
    this.publicMessage = publicMessage;
  }
}

export const invalidArgument = (message: string) => new SandboxError('invalid_argument', message);
