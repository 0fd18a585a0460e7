/** Exit codes of the command line itself. `run` otherwise exits with the code of the guest program. */

import { type ErrorCode, SandboxError } from '@llm-wasm-sandbox/core/basics';
import { CommanderError } from 'commander';

export const EXIT = {
  /** Invalid command line; the code that shells and getopt use. */
  usage: 2,
  /** The session is unavailable: not found, in use, damaged, over a limit, or its store failed. */
  unavailable: 69,
  /** A defect in llm-wasm-sandbox or its installation, a failed build, or a saved state that does not match the guests. */
  fault: 70,
} as const;

/** The command line is invalid; the message says what to write instead. */
export class UsageError extends Error {}

const EXIT_CODES: Record<ErrorCode, number> = {
  invalid_argument: EXIT.usage,
  invalid_path: EXIT.usage,
  file_not_found: EXIT.unavailable,
  quota_exceeded: EXIT.unavailable,
  queue_full: EXIT.unavailable,
  rate_limited: EXIT.unavailable,
  session_busy: EXIT.unavailable,
  session_exists: EXIT.unavailable,
  session_mismatch: EXIT.unavailable,
  session_not_found: EXIT.unavailable,
  session_limit: EXIT.unavailable,
  session_damaged: EXIT.unavailable,
  execution_paused: EXIT.unavailable,
  execution_not_found: EXIT.unavailable,
  checkpoint_not_found: EXIT.unavailable,
  nothing_to_undo: EXIT.unavailable,
  store_failed: EXIT.unavailable,
  commit_unknown: EXIT.unavailable,
  sandbox_closed: EXIT.fault,
  module_invalid: EXIT.fault,
  image_invalid: EXIT.fault,
  build_failed: EXIT.fault,
  not_installed: EXIT.fault,
  internal: EXIT.fault,
};

export function exitCodeOf(cause: unknown): number {
  if (cause instanceof UsageError) return EXIT.usage;
  // Commander also throws after it has printed the help or the version.
  if (cause instanceof CommanderError) return cause.exitCode === 0 ? 0 : EXIT.usage;
  return cause instanceof SandboxError ? EXIT_CODES[cause.code] : EXIT.fault;
}
