/** Runs the command that the arguments name. Messages of this program itself go to standard error. */
import { CommanderError } from 'commander';
import { handleBrokenPipes } from './broken-pipe.ts';
import { exitCodeOf } from './exit-codes.ts';
import { ownPackage } from './own-package.ts';
import { createProgram } from './program.ts';
import { escapeControls } from './terminal-text.ts';

/** Sets the exit code of the process. */
export async function runCommandLine(args: readonly string[]): Promise<void> {
  handleBrokenPipes();
  try {
    const program = await createProgram(ownPackage(), args);
    await program.parseAsync(args, { from: 'user' });
  } catch (cause) {
    // Commander has already printed its own messages.
    if (!(cause instanceof CommanderError)) printError(cause);
    process.exitCode = exitCodeOf(cause);
  }
}

function printError(cause: unknown): void {
  const message = cause instanceof Error ? cause.message : String(cause);
  // The message may contain names that a guest chose.
  process.stderr.write(`llm-wasm-sandbox: ${message.split('\n').map(escapeControls).join('\n')}\n`);
}
