/** The command line as data for shell completion, derived from the table of commands. */
import type { Option } from 'commander';
import type { CommandSpec } from '../command.ts';

/** What completes the value of an option or an argument. */
export type Completed = 'file' | 'nothing' | readonly string[];

interface CompletedOption {
  /** `-l` and `--language`. */
  readonly names: readonly string[];
  readonly description: string;
  /** Undefined if the option has no value. */
  readonly value: Completed | undefined;
}

export interface CompletedCommand {
  /** The command as typed, without the name of the program: `session list`; empty for the program. */
  readonly path: string;
  readonly subcommands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly CompletedOption[];
  readonly hasFiles: boolean;
}

/** Placeholders that stand for a file or a folder. */
const FILE_PLACEHOLDERS: readonly string[] = ['FILE', 'PATH', 'DIR', 'STORE', 'TARGET', 'HOST:GUEST'];

/** The placeholder in `--store <STORE>`, `[FILE]` or `<ID...>`; undefined if there is none. */
function placeholderOf(text: string): string | undefined {
  const start = Math.max(text.indexOf('<'), text.indexOf('['));
  return start < 0 ? undefined : text.slice(start + 1, -1).replace('...', '');
}

const isFile = (text: string) => FILE_PLACEHOLDERS.includes(placeholderOf(text) ?? '');

const completedOption = ({ short, long, description, flags, argChoices }: Option): CompletedOption => ({
  names: [short, long].filter((name) => name !== undefined),
  description,
  value:
    placeholderOf(flags) === undefined ? undefined : (argChoices ?? (isFile(flags) ? 'file' : 'nothing')),
});

const HELP: CompletedOption = { names: ['-h', '--help'], description: 'Show help', value: undefined };

/** All commands, the program itself first. `globals` are the options that every command has. */
export function completedCommands(
  commands: readonly CommandSpec[],
  globals: readonly Option[],
): CompletedCommand[] {
  const common = [...globals.map(completedOption), HELP];
  const describe = (path: string, spec: Omit<CommandSpec, 'name' | 'description'>): CompletedCommand[] => {
    const { options = [], subcommands = [], arguments: args = {} } = spec;
    const own: CompletedCommand = {
      path,
      subcommands: subcommands.map(({ name, description }) => ({ name, description })),
      options: [...options.map(completedOption), ...common],
      hasFiles: Object.keys(args).some(isFile),
    };
    return [own, ...subcommands.flatMap((one) => describe(`${path} ${one.name}`.trim(), one))];
  };
  return describe('', { subcommands: commands });
}
