/**
 * The command line as a commander program: the table of commands and the settings they share. A command is loaded when it
 * is named on the command line, so `--help` loads none.
 */
import { optimizeOnHalfOfCores } from '@llm-wasm-sandbox/core/basics';
import { Command, CommanderError, Help, Option } from 'commander';
import { COLOR_MODES, hasColor, paint, readColorMode } from './color.ts';
import { addCommand, type CommandDetails, type CommandSpec, isShown, suggestingChoices } from './command.ts';
import { commanderError } from './diagnostics.ts';

interface CommandEntry {
  readonly name: string;
  readonly description: string;
  load(): Promise<CommandDetails>;
}

const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'run',
    description: 'Run a program and exit with its exit code',
    load: async () => (await import('./commands/run.ts')).runCommand,
  },
  {
    name: 'repl',
    description: 'Run code interactively in a session, line by line',
    load: async () => (await import('./commands/repl.ts')).replCommand,
  },
  {
    name: 'session',
    description: 'Inspect and manage sessions (created by run --session)',
    load: async () => (await import('./commands/session.ts')).sessionCommand,
  },
  {
    name: 'pending',
    description: 'List paused programs and their pending tool calls',
    load: async () => (await import('./commands/pending.ts')).pendingCommand,
  },
  {
    name: 'resume',
    description: 'Answer the tool calls of a paused program and continue it',
    load: async () => (await import('./commands/resume.ts')).resumeCommand,
  },
  {
    name: 'batch',
    description: 'Run many programs and print one result per line',
    load: async () => (await import('./commands/batch.ts')).batchCommand,
  },
  {
    name: 'worker',
    description: 'Run jobs from "batch submit" until stopped',
    load: async () => (await import('./commands/worker.ts')).workerCommand,
  },
  {
    name: 'packages',
    description: 'List the packages that programs can import, and the fuel their first import costs',
    load: async () => (await import('./commands/packages.ts')).packagesCommand,
  },
  {
    name: 'doctor',
    description: 'Check the installation and explain how to fix problems',
    load: async () => (await import('./commands/doctor.ts')).doctorCommand,
  },
  {
    name: 'redteam',
    description: 'Replay known attacks against this installation',
    load: async () => (await import('./commands/redteam.ts')).redteamCommand,
  },
  {
    name: 'mcp',
    description: 'Serve MCP over standard input and output',
    load: async () => (await import('./commands/mcp.ts')).mcpCommand,
  },
  {
    name: 'serve',
    description: 'Serve MCP over HTTP',
    load: async () => (await import('./commands/serve.ts')).serveCommand,
  },
  {
    name: 'playground',
    description: 'Open a local web page for running programs and exploring sessions',
    load: async () => (await import('./commands/playground.ts')).playgroundCommand,
  },
];

/** Options of all commands. */
const globalOptions = () => [
  new Option('--color <WHEN>', 'Colour messages: on terminals (auto), always or never')
    .choices(COLOR_MODES)
    .default('auto'),
];

/** All commands, loaded. */
export function loadCommands(): Promise<CommandSpec[]> {
  return Promise.all(COMMANDS.map(loadCommand));
}

async function loadCommand({ name, description, load }: CommandEntry): Promise<CommandSpec> {
  optimizeOnHalfOfCores();
  return { ...(await load()), name, description };
}

interface ProgramFacts {
  readonly version: string;
  readonly description: string;
}

/**
 * The program for a command line, without the names of Node.js and of the script. Parsing other arguments with it fails.
 * Parsing throws a CommanderError, after commander has printed the message, for `--help` and for usage errors.
 */
export async function createRootCommand(
  { version, description }: ProgramFacts,
  args: readonly string[],
): Promise<Command> {
  readColorMode(args);
  const help = new Help();
  const program: Command = new Command('llm-wasm-sandbox')
    .description(description)
    .version(version, '-v, --version', 'Print the version')
    .addOption(new Option('-V').hideHelp())
    .on('option:V', () => {
      process.stdout.write(`${version}\n`);
      throw new CommanderError(0, 'commander.version', version);
    })
    .helpOption('-h, --help', 'Show help')
    .helpCommand('help [COMMAND]', 'Show help for a command')
    .exitOverride()
    .showHelpAfterError('(add --help for usage)')
    .configureOutput({
      writeErr: (text) => process.stderr.write(text),
      outputError: (text, write) => write(commanderError(text)),
      getOutHasColors: () => hasColor(process.stdout),
      getErrHasColors: () => hasColor(process.stderr),
    })
    .configureHelp({
      showGlobalOptions: true,
      visibleOptions: (command) => help.visibleOptions(command).filter((option) => isShown(option, args)),
      styleTitle: (title) => paint('title', title, process.stdout),
      // The options and arguments of commands that are not loaded are unknown.
      subcommandTerm: (command) =>
        command.parent === program && command.name() !== 'help'
          ? command.name()
          : help.subcommandTerm(command),
    });
  for (const option of globalOptions()) program.addOption(suggestingChoices(option));
  for (const entry of COMMANDS) {
    addCommand(program, args.includes(entry.name) ? await loadCommand(entry) : entry);
  }
  return program;
}
