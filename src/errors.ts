/**
 * The one exception class of the host world. Guest failures are data and never come as exceptions; what is thrown
 * here means that the caller or the installation has to change something, and the message says what.
 */

/** Closed set: a new code is a new row here, and callers may switch over it exhaustively. */
export const ERROR_CODES = {
  invalid_argument: 'An argument, policy key or option does not fit the schema.',
  invalid_path:
    'A workspace path is empty, absolute outside /app, climbs out, or has characters no file may have.',
  file_not_found: 'The workspace has no such file.',
  quota_exceeded: 'The change does not fit the workspace quota.',
  sandbox_closed: 'The sandbox was closed before or during the call.',
  session_busy: 'Another process or sandbox is the writer of this session.',
  session_mismatch: 'The session exists with another runtime or other settings.',
  session_not_found: 'There is no such session.',
  session_limit: 'There are as many sessions, checkpoints or bytes as the limits allow.',
  session_damaged: 'What a store kept of the session is damaged; its files may still be readable.',
  store_failed: 'A store could not read or write: a full disk, a missing permission or the like.',
  module_invalid: 'A WebAssembly module is malformed or uses what the rewriter refuses.',
  image_invalid: 'An image is damaged or was made from another module, layers or format.',
  build_failed: 'A guest could not be prepared or booted at build time.',
  not_installed: 'A file the installation should have is missing.',
  internal: 'A fault of this library.',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

/** Thrown for host and caller faults only; `code` is stable, `message` tells what to do. */
export class SandboxError extends Error {
  override readonly name = 'SandboxError';
  constructor(
    readonly code: ErrorCode,
    message: string,
    options?: { cause?: unknown },
  ) {
    super(message, options);
  }
}
