#!/usr/bin/env node
/**
 * The command line: a thin face of the library. Guest output goes to the matching stream as it comes, the exit code is
 * the guest's, and everything this program itself has to say goes to standard error.
 */
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { languageTitles } from '../runtimes/languages.ts';
import { watchReaders } from './broken-pipe.ts';
import { addDoctorCommand } from './doctor.ts';
import { EXIT, exitCodeOf } from './flags.ts';
import { addPackagesCommand } from './packages.ts';
import { addRunCommand } from './run.ts';
import { addServerCommands } from './server-commands.ts';
import { addSessionCommands } from './session.ts';
import { plain } from './text-table.ts';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));

const program = new Command('llm-wasm-sandbox')
  .description(`Run LLM-written ${languageTitles('and')} in a sealed, metered WebAssembly guest.`)
  .version(version)
  .showHelpAfterError('(add --help for usage)')
  .configureOutput({ writeErr: (text) => process.stderr.write(text) })
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? 0 : EXIT.usage));

addRunCommand(program);
addSessionCommands(program);
addPackagesCommand(program);
addDoctorCommand(program);
addServerCommands(program, { version, readText: (path) => readFileSync(path, 'utf8') });

watchReaders();

try {
  // A client that starts us without a command and talks to our standard input speaks MCP.
  const isPiped = process.argv.length === 2 && !process.stdin.isTTY;
  await program.parseAsync(isPiped ? [...process.argv, 'mcp'] : process.argv);
} catch (cause) {
  const message = cause instanceof Error ? cause.message : String(cause);
  // Names in it may be a guest's.
  process.stderr.write(`llm-wasm-sandbox: ${message.split('\n').map(plain).join('\n')}\n`);
  process.exitCode = exitCodeOf(cause);
}
