/** Runs the command that the arguments name. Messages of this program itself go to standard error. */
import { CommanderError } from 'commander';
import { handleBrokenPipes } from './broken-pipe.ts';
import { createRootCommand } from './command-table.ts';
import { printError } from './diagnostics.ts';
import { exitCodeOf } from './exit-codes.ts';
import { packageInfo } from './package-info.ts';

/** Sets the exit code of the process. */
export async function dispatchCommand(args: readonly string[]): Promise<void> {
  handleBrokenPipes();
  try {
    const program = await createRootCommand(packageInfo(), args);
    await program.parseAsync(args, { from: 'user' });
  } catch (cause) {
    // Commander has already printed its own messages.
    if (!(cause instanceof CommanderError))
      printError(cause instanceof Error ? cause.message : String(cause));
    process.exitCode = exitCodeOf(cause);
  }
}
