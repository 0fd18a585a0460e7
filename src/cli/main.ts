#!/usr/bin/env node
/**
 * Entry point of the command line, a thin front end of the library. Guest output is written to the matching stream as
 * it arrives, the exit code is the guest's, and messages of this program itself go to standard error.
 */
import nodeModule from 'node:module';
import { CommanderError } from 'commander';
import { handleBrokenPipes } from './broken-pipe.ts';
import { exitCodeOf } from './exit-codes.ts';
import { packageFacts } from './package-facts.ts';
import { createProgram } from './program.ts';
import { escapeControls } from './terminal-text.ts';
import { validateLazily } from './v8-flags.ts';

validateLazily();
// Node.js 22 and newer keep the compiled code of the modules loaded below in the folder for temporary files.
(nodeModule as { enableCompileCache?: () => void }).enableCompileCache?.();
handleBrokenPipes();

try {
  // MCP clients may start the program without a command and write to its standard input.
  const isPiped = process.argv.length === 2 && !process.stdin.isTTY;
  const args = isPiped ? ['mcp'] : process.argv.slice(2);
  const program = await createProgram(packageFacts(), args);
  await program.parseAsync(args, { from: 'user' });
} catch (cause) {
  // Commander has already printed its own messages.
  if (!(cause instanceof CommanderError)) printError(cause);
  process.exitCode = exitCodeOf(cause);
}

function printError(cause: unknown): void {
  const message = cause instanceof Error ? cause.message : String(cause);
  // The message may contain names that a guest chose.
  process.stderr.write(`llm-wasm-sandbox: ${message.split('\n').map(escapeControls).join('\n')}\n`);
}
