/**
 * Processes of a session: each runs in a guest of its own, with the files of the session as they were when it started. What it
 * changes is applied when it ends. Processes run at the same time, and next to the interpreter of the session.
 */
import { launch } from '../runtimes/programs/process-launcher.ts';
import type { ExecuteOptions } from '../sandbox/call-options.ts';
import type { SandboxResult } from '../schema.ts';
import type { Session } from './session.ts';
import { checkFolder, followLinks } from './workspace-edits.ts';

interface SessionProcess {
  readonly argv: readonly string[];
  /** Relative to the workspace. */
  readonly cwd: string;
  /** Variables in addition to those of the session. */
  readonly env: Readonly<Record<string, string>>;
}

/** Guidance would be about the program that starts the process. */
const NO_ANALYSIS = { error_guidance: false, fuel_analysis: false };

/** Returns a function that starts a process. Throws `file_not_found` or `invalid_path` if `cwd` is not a folder. */
export async function prepareProcess(
  session: Session,
  { argv, cwd, env }: SessionProcess,
): Promise<(options: ExecuteOptions) => Promise<SandboxResult>> {
  const tree = await session.fileTree();
  checkFolder(tree, followLinks(tree, cwd, session.policy.home));
  const { runtime, program } = launch(argv, cwd);
  const changed = { ...NO_ANALYSIS, cwd: undefined, env: { ...session.policy.env, ...env } };
  const sandbox = await session.withRuntime(runtime, changed);
  return (options) => sandbox.execute(program, { ...options, file_name: null });
}

/** How a process ended. A limit or a signal is reported as a shell reports it, and `error` says which. */
export function processEnd({ exit_code, metadata }: SandboxResult): {
  readonly exitCode: number;
  readonly error?: string;
} {
  const { trap_reason, trap_message } = metadata;
  if (trap_reason === null) return { exitCode: exit_code };
  const error = trap_reason === 'cancelled' ? 'signal: killed' : (trap_message ?? trap_reason);
  return { exitCode: trap_reason === 'timeout' ? 124 : 137, error };
}
