#!/usr/bin/env node
/**
 * Entry point of the command line, a thin front end of the library. Guest output is written to the matching stream as
 * it arrives, and the exit code is the guest's. What takes long is started before the rest is loaded.
 */
import nodeModule from 'node:module';
import { join } from 'node:path';
import { cacheFolder, ensurePrivateFolder } from '@llm-wasm-sandbox/core/internal';

// MCP clients may start the program without a command and write to its standard input.
const isPiped = process.argv.length === 2 && !process.stdin.isTTY;
const args = isPiped ? ['mcp'] : process.argv.slice(2);
/**
 * Node.js 22 and newer store the compiled code of the modules loaded below, and run it without further checks. By default, the
 * code is in the folder for temporary files, where other users and programs can write.
 */
function useCache(): void {
  const { enableCompileCache } = nodeModule as { enableCompileCache?: (folder: string) => void };
  if (enableCompileCache === undefined) return;
  try {
    const folder = join(cacheFolder(), 'compiled');
    ensurePrivateFolder(folder);
    enableCompileCache(folder);
  } catch {
    // Without a cache, the start takes longer.
  }
}

/** Tools come from the server, which uses the library itself, not the part of it that the fast start contains. */
const hasTools = args.some((arg) => arg.startsWith('--tools-config'));

if (args[0] === 'run' && !hasTools) {
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
