/** A session as the shell of OpenAI's tool `shell` in its local mode: the type `Shell` of `@openai/agents`. */
import type { Session } from '@llm-wasm-sandbox/core/internal';
import { SlotCommands } from './slot-commands.ts';
import { SlotFiles } from './slot-files.ts';

interface ShellAction {
  commands: string[];
  timeoutMs?: number;
  maxOutputLength?: number;
}

/** The shell of the tool `shell`. */
export interface OpenAiShell {
  /** Runs the commands one after another. Each has a shell of its own and the files of the session. */
  run(action: ShellAction): Promise<{
    output: {
      stdout: string;
      stderr: string;
      outcome: { type: 'exit'; exitCode: number } | { type: 'timeout' };
    }[];
    maxOutputLength?: number;
  }>;
}

/** Returns a session as the shell of OpenAI's local shell tool. Pass it to `shellTool` of `@openai/agents`. */
export function openAiShell(session: Session): OpenAiShell {
  const commands = new SlotCommands(session, new SlotFiles(session));
  return {
    run: async ({ commands: lines, timeoutMs, maxOutputLength }) => {
      const output: Awaited<ReturnType<OpenAiShell['run']>>['output'] = [];
      for (const line of lines) {
        const { stdout, stderr, exitCode, hasTimedOut } = await commands.run(line, { timeoutMs });
        const cut = (text: string) => text.slice(0, maxOutputLength);
        const outcome = hasTimedOut ? ({ type: 'timeout' } as const) : ({ type: 'exit', exitCode } as const);
        output.push({ stdout: cut(stdout), stderr: cut(stderr), outcome });
        if (hasTimedOut) break;
      }
      return { output, ...(maxOutputLength !== undefined && { maxOutputLength }) };
    },
  };
}
