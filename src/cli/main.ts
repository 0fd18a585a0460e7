#!/usr/bin/env node
/**
 * Entry point of the command line, a thin front end of the library. Guest output is written to the matching stream as
 * it arrives, and the exit code is the guest's. What takes long is started before the rest is loaded.
 */
import nodeModule from 'node:module';

// MCP clients may start the program without a command and write to its standard input.
const isPiped = process.argv.length === 2 && !process.stdin.isTTY;
const args = isPiped ? ['mcp'] : process.argv.slice(2);
// Node.js 22 and newer keep the compiled code of the modules loaded below in the folder for temporary files.
const useCache = () => (nodeModule as { enableCompileCache?: () => void }).enableCompileCache?.();

if (args[0] === 'run') {
  const { startEarly } = await import('./early-start.ts');
  const firstJob = startEarly(args.slice(1));
  useCache();
  const { startRunCommand } = await import('./run-command-entry.ts');
  await startRunCommand(args, firstJob);
} else {
  useCache();
  const { dispatchCommand } = await import('./dispatch-command.ts');
  await dispatchCommand(args);
}
