/** A session as the sandbox of a workspace of Mastra: the type `WorkspaceSandbox` of `@mastra/core/workspace`. */

import { quote, SandboxError, type Session } from '@llm-wasm-sandbox/core/internal';
import { SlotCommands } from './slot-commands.ts';
import { SlotFiles, WORKSPACE } from './slot-files.ts';

interface MastraCommandOptions {
  timeout?: number;
  env?: Readonly<Record<string, string | undefined>>;
  cwd?: string;
  onStdout?: (data: string) => void;
  onStderr?: (data: string) => void;
  abortSignal?: AbortSignal;
}

/** The sandbox of a workspace: its methods are those of `WorkspaceSandbox`. */
export type MastraSandbox = ReturnType<typeof mastraSandbox>;

const INSTRUCTIONS = `Commands run in bash, in ${WORKSPACE}, where all files are. python3 and node are available. Each command starts in a new shell. There are no ports and no processes in the background.`;

/**
 * Returns a session as `sandbox` of a `Workspace` of Mastra, whose agents then have the tool that runs commands. The session belongs
 * to the caller, who closes it.
 */
export function mastraSandbox(session: Session) {
  const files = new SlotFiles(session);
  const commands = new SlotCommands(session, files);
  const identity = { id: session.session_id, name: 'LlmWasmSandbox', provider: 'llm-wasm-sandbox' };
  const createdAt = new Date();
  return {
    ...identity,
    status: 'running' as const,
    workingDirectory: WORKSPACE,
    supportsCheckpoints: false,
    getInstructions: () => INSTRUCTIONS,
    getInfo: () => ({ ...identity, status: 'running' as const, createdAt }),
    /** Runs a command. Arguments are quoted. Output is delivered to the callbacks when the command has ended. */
    executeCommand: async (command: string, args: string[] = [], options: MastraCommandOptions = {}) => {
      const { cwd, env, abortSignal, timeout, onStdout, onStderr } = options;
      const startedAt = performance.now();
      const line = [command, ...args.map(quote)].join(' ');
      const result = await commands.run(line, { cwd, env, signal: abortSignal, timeoutMs: timeout });
      const { stdout, stderr, exitCode, hasTimedOut, error, isTruncated } = result;
      if (stdout !== '') onStdout?.(stdout);
      if (stderr !== '') onStderr?.(stderr);
      return {
        command,
        args,
        success: exitCode === 0,
        exitCode,
        stdout,
        stderr,
        executionTimeMs: performance.now() - startedAt,
        timedOut: hasTimedOut,
        killed: error !== undefined,
        stdoutTruncated: isTruncated,
      };
    },
    /** Writes files. Permissions cannot be set. */
    writeFiles: async (given: { path: string; content: string | Uint8Array; mode?: number }[]) => {
      if (given.some(({ mode }) => mode !== undefined))
        throw new SandboxError(
          'invalid_argument',
          'mode: permissions of files cannot be set here. Use chmod.',
        );
      for (const { path, content } of given) await files.write(path, content);
    },
    /** Creates a checkpoint of the session. */
    snapshot: async (): Promise<void> => {
      await session.checkpoint();
    },
    /** Ends the running commands. The session stays open. */
    destroy: async (): Promise<void> => commands.killAll(),
  };
}
