/** The command line as a commander program: the table of commands and the settings they share. */
import { Command } from 'commander';
import { languageTitles } from '../runtimes/languages.ts';
import { addCommand, type CommandSpec } from './command.ts';
import { doctorCommand } from './commands/doctor.ts';
import { mcpCommand } from './commands/mcp.ts';
import { packagesCommand } from './commands/packages.ts';
import { redteamCommand } from './commands/redteam.ts';
import { runCommand } from './commands/run.ts';
import { serveCommand } from './commands/serve.ts';
import { sessionCommand } from './commands/session.ts';

export const COMMANDS: readonly CommandSpec[] = [
  runCommand,
  sessionCommand,
  packagesCommand,
  doctorCommand,
  redteamCommand,
  mcpCommand,
  serveCommand,
];

/** Parsing throws a CommanderError, after commander has printed the message, for `--help` and for usage errors. */
export function createProgram(version: string): Command {
  const program = new Command('llm-wasm-sandbox')
    .description(`Run LLM-written ${languageTitles('and')} in an isolated, metered WebAssembly guest.`)
    .version(version, '-V, --version', 'Print the version')
    .helpOption('-h, --help', 'Show help')
    .helpCommand('help [COMMAND]', 'Show help for a command')
    .exitOverride()
    .showHelpAfterError('(add --help for usage)')
    .configureOutput({ writeErr: (text) => process.stderr.write(text) });
  for (const command of COMMANDS) addCommand(program, command);
  return program;
}
