/**
 * `completion`: prints a completion script, generated from the table of commands. bash and zsh run the same function: zsh has
 * an interface for completions of bash. Words are quoted, so that no shell runs one.
 */
import type { Option } from 'commander';
import type { CommandDetails, CommandSpec } from '../command.ts';

const PROGRAM = 'llm-wasm-sandbox';
const FUNCTION = '_llm_wasm_sandbox';

/** What each shell needs before the function, and how to use its script. */
const SHELLS = {
  bash: { head: '', use: 'completion bash > ~/.local/share/bash-completion/completions/llm-wasm-sandbox' },
  zsh: {
    head: 'autoload -Uz bashcompinit && bashcompinit\n',
    use: 'completion zsh > ~/.llm-wasm-sandbox.zsh  # source this file in ~/.zshrc, after compinit',
  },
} as const;

/** Placeholders of options and arguments that stand for a file or a folder. */
const FILE_PLACEHOLDER = /[<[](?:FILE|PATH|DIR|STORE|TARGET|HOST:GUEST)(?:\.\.\.)?[>\]]/;

/** The command as typed, such as `session list`, and what follows it. The program itself has an empty path. */
interface Completed {
  readonly path: string;
  readonly subcommands: readonly string[];
  readonly options: readonly Option[];
  readonly hasFiles: boolean;
}

function completedCommands(path: string, spec: CommandDetails, globals: readonly Option[]): Completed[] {
  const { options = [], subcommands = [], arguments: args = {} } = spec;
  const own: Completed = {
    path,
    subcommands: subcommands.map(({ name }) => name),
    options: [...options, ...globals],
    hasFiles: Object.keys(args).some((name) => FILE_PLACEHOLDER.test(name)),
  };
  const below = subcommands.map((one) => completedCommands(`${path} ${one.name}`.trim(), one, globals));
  return [own, ...below.flat()];
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const namesOf = ({ short, long }: Option) => [short, long].filter((name) => name !== undefined);
const hasValue = ({ required, optional }: Option) => required || optional;
const words = (list: readonly string[]) => `COMPREPLY=($(compgen -W ${quoted(list.join(' '))} -- "$cur"))`;

/** The code that completes the value of an option. */
function valueCode({ argChoices, flags }: Option): string {
  if (argChoices !== undefined) return words(argChoices);
  return FILE_PLACEHOLDER.test(flags) ? `${FUNCTION}_files` : ':';
}

/** Cases for `COMMAND|OPTION` before the cursor. Options with the same code share one. */
function valueCases(commands: readonly Completed[]): string {
  const cases = new Map<string, string[]>();
  for (const { path, options } of commands)
    for (const option of options.filter(hasValue)) {
      const patterns = namesOf(option).map((name) => quoted(`${path}|${name}`));
      cases.set(valueCode(option), [...(cases.get(valueCode(option)) ?? []), ...patterns]);
    }
  return [...cases].map(([code, patterns]) => `    ${patterns.join('|')}) ${code}; return ;;`).join('\n');
}

/** Cases for `COMMAND|-`, which is followed by options, and for `COMMAND|`. */
const wordCases = ({ path, subcommands, options, hasFiles }: Completed) => {
  const next = subcommands.length > 0 ? words(subcommands) : hasFiles ? `${FUNCTION}_files` : ':';
  return `    ${quoted(`${path}|-`)}) ${words([...options.flatMap(namesOf), '-h', '--help'])} ;;
    ${quoted(`${path}|`)}) ${next} ;;`;
};

function completionScript(head: string, commands: readonly Completed[]): string {
  const valueOptions = new Set(commands.flatMap(({ options }) => options.filter(hasValue).flatMap(namesOf)));
  const paths = commands.filter(({ path }) => path !== '').map(({ path }) => quoted(path));
  return `# Completion for ${PROGRAM}
${head}# File names are not split, expanded or run. Where "compopt" is missing, the shell does not quote them.
${FUNCTION}_files() {
  local file quoting=""
  compopt -o filenames 2>/dev/null || quoting=1
  while IFS= read -r file; do
    [[ -n $quoting ]] && printf -v file %q "$file"
    COMPREPLY+=("$file")
  done < <(compgen -f -- "$cur")
}
${FUNCTION}() {
  local IFS=$' \\t\\n'
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" kind="" at="" i
  # "=" is a word of its own.
  if [[ $cur == "=" ]]; then cur=""; elif [[ $prev == "=" ]]; then prev="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case " ${[...valueOptions].join(' ')} " in *" \${COMP_WORDS[i-1]} "*) continue ;; esac
    case "\${at:+$at }\${COMP_WORDS[i]}" in
      ${paths.join('|')}) at="\${at:+$at }\${COMP_WORDS[i]}" ;;
    esac
  done
  COMPREPLY=()
  case "$at|$prev" in
${valueCases(commands)}
  esac
  [[ $cur == -* ]] && kind="-"
  case "$at|$kind" in
${commands.map(wordCases).join('\n')}
  esac
}
complete -F ${FUNCTION} ${PROGRAM}
`;
}

/** `load` returns all commands and the options that every command has. */
export const completionCommand = (
  load: () => Promise<{ readonly subcommands: readonly CommandSpec[]; readonly globals: readonly Option[] }>,
): CommandDetails => ({
  subcommands: Object.entries(SHELLS).map(([name, { head, use }]) => ({
    name,
    description: `Print the script for ${name}`,
    examples: [use],
    action: async () => {
      const { subcommands, globals } = await load();
      process.stdout.write(completionScript(head, completedCommands('', { subcommands }, globals)));
    },
  })),
});
