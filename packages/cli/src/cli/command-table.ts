/**
 * The command line as a commander program: the table of commands and the settings they share. A command is loaded when it
 * is named on the command line, so `--help` loads none.
 */
import { optimizeOnHalfOfCores } from '@llm-wasm-sandbox/core/basics';
import { Command, CommanderError, Help, Option } from 'commander';
import { COLOR_MODES, hasColor, paint, readColorMode } from './color.ts';
import { addCommand, type CommandDetails, type CommandSpec, isShown, suggestingChoices } from './command.ts';
import { commanderError } from './diagnostics.ts';

/** Loads a command. Their flags differ. */
type Load = () => Promise<{ readonly default: CommandDetails<never> }>;

const COMMANDS: Readonly<Record<string, readonly [description: string, load: Load]>> = {
  run: ['Run a program and exit with its exit code', () => import('./commands/run.ts')],
  repl: ['Run code interactively in a session, line by line', () => import('./commands/repl.ts')],
  session: ['Inspect and manage sessions (created by run --session)', () => import('./commands/session.ts')],
  pending: ['List paused programs and their pending tool calls', () => import('./commands/pending.ts')],
  resume: ['Answer the tool calls of a paused program and continue it', () => import('./commands/resume.ts')],
  batch: ['Run many programs and print one result per line', () => import('./commands/batch.ts')],
  worker: ['Run jobs from "batch submit" until stopped', () => import('./commands/worker.ts')],
  packages: [
    'List the packages that programs can import, and the fuel their first import costs',
    () => import('./commands/packages.ts'),
  ],
  doctor: ['Check the installation and explain how to fix problems', () => import('./commands/doctor.ts')],
  redteam: ['Replay known attacks against this installation', () => import('./commands/redteam.ts')],
  mcp: ['Serve MCP over standard input and output', () => import('./commands/mcp.ts')],
  serve: ['Serve MCP over HTTP', () => import('./commands/serve.ts')],
  playground: [
    'Open a local web page for running programs and exploring sessions',
    () => import('./commands/playground.ts'),
  ],
};

/** Options of all commands. */
const globalOptions = () => [
  new Option('--color <WHEN>', 'Colour messages: on terminals (auto), always or never')
    .choices(COLOR_MODES)
    .default('auto'),
];

/** All commands, loaded. */
export const loadCommands = (): Promise<CommandSpec[]> => Promise.all(Object.keys(COMMANDS).map(loadCommand));

async function loadCommand(name: string): Promise<CommandSpec> {
  optimizeOnHalfOfCores();
  const [description, load] = COMMANDS[name]!;
  return { ...((await load()).default as CommandDetails), name, description };
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
  for (const [name, [description]] of Object.entries(COMMANDS))
    addCommand(program, args.includes(name) ? await loadCommand(name) : { name, description });
  return program;
}
