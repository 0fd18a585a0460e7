/** A command as data: its name, its help text and its action. `addCommand` registers it with commander. */
import { type Command, InvalidArgumentError, type Option } from 'commander';
import { didYouMean } from './did-you-mean.ts';

/** Options that only `--help all` shows. */
const rareOptions = new WeakSet<Option>();

export function rare(option: Option): Option {
  rareOptions.add(option);
  return option;
}

/** Whether the help for a command line shows an option. */
export const isShown = (option: Option, args: readonly string[]) =>
  !rareOptions.has(option) ||
  args.some((one, i) => one === 'all' && /^(?:-h|--help)$/.test(args[i - 1] ?? ''));

export interface CommandDetails<Flags = unknown> {
  /** Positional arguments as commander writes them (`<ID>`, `[PATH]`, `<ID...>`), with their descriptions. */
  readonly arguments?: Readonly<Record<string, string>>;
  readonly options?: readonly Option[];
  /** Command lines without the program name, shown after the help text. */
  readonly examples?: readonly string[];
  readonly subcommands?: readonly CommandSpec[];
  /** Absent for a command that only groups subcommands. */
  action?(args: readonly (string | undefined)[], flags: Flags): Promise<void>;
}

export interface CommandSpec<Flags = unknown> extends CommandDetails<Flags> {
  readonly name: string;
  readonly description: string;
}

export function addCommand(parent: Command, spec: CommandSpec): void {
  const command = parent.command(spec.name).description(spec.description);
  for (const [name, description] of Object.entries(spec.arguments ?? {})) command.argument(name, description);
  for (const option of spec.options ?? []) command.addOption(suggestingChoices(option));
  if (spec.examples !== undefined) command.addHelpText('after', exampleText(spec.examples));
  for (const subcommand of spec.subcommands ?? []) addCommand(command, subcommand);
  if (spec.action === undefined) return;
  // Otherwise, Commander reports too many arguments instead of an unknown command.
  if (spec.subcommands !== undefined) command.allowExcessArguments();
  command.action(async (...received: unknown[]) => {
    if (spec.subcommands !== undefined) rejectUnknownSubcommand(command);
    // Commander passes the arguments, then the flags and the command itself. A variadic argument is an array.
    const args = received.slice(0, -2).flat() as (string | undefined)[];
    // If a parent command has the same option, Commander assigns the value to the parent, wherever the option appears.
    await spec.action!(args, command.optsWithGlobals());
  });
}

/** Commander suggests similar commands and options, but not similar values of an option. */
export function suggestingChoices(option: Option): Option {
  const { argChoices, parseArg } = option;
  if (argChoices === undefined || parseArg === undefined) return option;
  const suggesting = Object.assign(Object.create(Object.getPrototypeOf(option)), option, {
    parseArg: (value: string, previous: unknown) => {
      try {
        return parseArg.call(option, value, previous);
      } catch (cause) {
        if (!(cause instanceof InvalidArgumentError)) throw cause;
        throw new InvalidArgumentError(cause.message + didYouMean(value, argChoices));
      }
    },
  });
  return rareOptions.has(option) ? rare(suggesting) : suggesting;
}

function rejectUnknownSubcommand(command: Command): void {
  const [unknown] = command.args;
  if (unknown === undefined) return;
  const names = command.commands.map((one) => one.name());
  command.error(`error: unknown command '${unknown}'${didYouMean(unknown, names)}`);
}

const exampleText = (lines: readonly string[]) =>
  `\nExamples:\n${lines.map((line) => `  llm-wasm-sandbox ${line}`).join('\n')}`;
