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

const USAGE_ERRORS: readonly ErrorCode[] = ['invalid_argument', 'invalid_path'];
const FAULTS: readonly ErrorCode[] = [
  'sandbox_closed',
  'module_invalid',
  'image_invalid',
  'build_failed',
  'not_installed',
  'internal',
];

export function exitCodeOf(cause: unknown): number {
  if (cause instanceof UsageError) return EXIT.usage;
  // Commander also throws after it has printed the help or the version.
  if (cause instanceof CommanderError) return cause.exitCode === 0 ? 0 : EXIT.usage;
  if (!(cause instanceof SandboxError) || FAULTS.includes(cause.code)) return EXIT.fault;
  return USAGE_ERRORS.includes(cause.code) ? EXIT.usage : EXIT.unavailable;
}
