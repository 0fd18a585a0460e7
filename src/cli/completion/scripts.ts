/** Completion scripts for shells, generated from the data of model.ts. Texts are quoted, so that no shell runs a description. */
import type { Completed, CompletedCommand } from './model.ts';

export const SHELL_NAMES = ['bash', 'zsh', 'fish'] as const;
export type ShellName = (typeof SHELL_NAMES)[number];

const PROGRAM = 'llm-wasm-sandbox';
const FUNCTION = '_llm_wasm_sandbox';

/** A text in single quotes, for bash and zsh. */
const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
const fishQuoted = (text: string) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;
const firstLine = (text: string) => text.split('\n')[0]!;

/** Commands below the program. */
const below = (commands: readonly CompletedCommand[]) => commands.filter(({ path }) => path !== '');

/** Options whose value is the next word. */
const valueOptions = (commands: readonly CompletedCommand[]) => [
  ...new Set(
    commands.flatMap(({ options }) => options.filter((one) => one.value).flatMap((one) => one.names)),
  ),
];

/** Shell patterns for `PATH|OPTION`, by what completes the value of the option. */
function valueCases(commands: readonly CompletedCommand[], action: (value: Completed) => string): string {
  const cases = new Map<string, string[]>();
  for (const { path, options } of commands)
    for (const { names, value } of options)
      if (value !== undefined) {
        const patterns = cases.get(action(value)) ?? [];
        patterns.push(...names.map((name) => quoted(`${path}|${name}`)));
        cases.set(action(value), patterns);
      }
  return [...cases].map(([code, patterns]) => `    ${patterns.join('|')}) ${code}; return ;;`).join('\n');
}

/** The loop that finds the command in the words before the cursor, for bash and zsh. `array` is the name of the array of words. */
const findCommand = (commands: readonly CompletedCommand[], first: string, last: string, array: string) => `
  local at="" i
  for ((i = ${first}; i < ${last}; i++)); do
    case " ${valueOptions(commands).join(' ')} " in *" \${${array}[i-1]} "*) continue ;; esac
    case "\${at:+$at }\${${array}[i]}" in
      ${below(commands)
        .map(({ path }) => quoted(path))
        .join('|')}) at="\${at:+$at }\${${array}[i]}" ;;
    esac
  done`;

function bashScript(commands: readonly CompletedCommand[]): string {
  const words = (list: readonly string[]) => `COMPREPLY=($(compgen -W ${quoted(list.join(' '))} -- "$cur"))`;
  const files = `${FUNCTION}_files`;
  const value = (completed: Completed) => {
    if (completed === 'file') return files;
    return completed === 'nothing' ? ':' : words(completed);
  };
  const optionCases = commands.map(
    ({ path, options }) => `    ${quoted(`${path}|-`)}) ${words(options.flatMap(({ names }) => names))} ;;`,
  );
  const wordCases = commands.map(({ path, subcommands, hasFiles }) => {
    if (subcommands.length > 0)
      return `    ${quoted(`${path}|`)}) ${words(subcommands.map(({ name }) => name))} ;;`;
    return `    ${quoted(`${path}|`)}) ${hasFiles ? files : ':'} ;;`;
  });
  return `# bash completion for ${PROGRAM}
# File names are not split, expanded or run. Where "compopt" is missing, the shell does not quote them.
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
  local cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}" kind=""
  # "=" is a word of its own.
  if [[ $cur == "=" ]]; then cur=""; elif [[ $prev == "=" ]]; then prev="\${COMP_WORDS[COMP_CWORD-2]}"; fi${findCommand(commands, '1', 'COMP_CWORD', 'COMP_WORDS')}
  COMPREPLY=()
  case "$at|$prev" in
${valueCases(commands, value)}
  esac
  [[ $cur == -* ]] && kind="-"
  case "$at|$kind" in
${[...optionCases, ...wordCases].join('\n')}
  esac
}
complete -F ${FUNCTION} ${PROGRAM}
`;
}

function zshScript(commands: readonly CompletedCommand[]): string {
  const described = (name: string, description: string) =>
    quoted(`${name.replaceAll(':', '\\:')}:${firstLine(description)}`);
  const value = (completed: Completed) => {
    if (completed === 'file') return '_files';
    return completed === 'nothing' ? '_message value' : `compadd -- ${completed.map(quoted).join(' ')}`;
  };
  const cases = commands.map(({ path, subcommands, options, hasFiles }) => {
    const lists = [
      `subcommands=(${subcommands.map(({ name, description }) => described(name, description)).join(' ')})`,
      `options=(${options.flatMap(({ names, description }) => names.map((name) => described(name, description))).join(' ')})`,
      `files=${hasFiles ? 1 : 0}`,
    ];
    return `    ${quoted(path)}) ${lists.join('; ')} ;;`;
  });
  // "path" is a special variable of zsh.
  return `#compdef ${PROGRAM}
${FUNCTION}() {
  local -a subcommands options
  local files=0 previous="\${words[CURRENT-1]}"${findCommand(commands, '2', 'CURRENT', 'words')}
  case "$at|$previous" in
${valueCases(commands, value)}
  esac
  case "$at" in
${cases.join('\n')}
  esac
  if [[ $PREFIX == -* ]]; then _describe option options; return; fi
  (( $#subcommands )) && _describe command subcommands
  (( files )) && _files
}
if [[ "\${funcstack[1]}" == ${FUNCTION} ]]; then ${FUNCTION} "$@"; else compdef ${FUNCTION} ${PROGRAM}; fi
`;
}

function fishScript(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap(({ path, subcommands, options, hasFiles }) => {
    const start = `complete -c ${PROGRAM} -n ${fishQuoted(`_${FUNCTION}_at ${fishQuoted(path)}`)}`;
    return [
      ...subcommands.map(
        ({ name, description }) => `${start} -a ${fishQuoted(name)} -d ${fishQuoted(firstLine(description))}`,
      ),
      ...options.map(({ names, description, value }) => {
        const flags = names.map((name) =>
          name.startsWith('--') ? `-l ${fishQuoted(name.slice(2))}` : `-s ${fishQuoted(name.slice(1))}`,
        );
        return `${start} ${flags.join(' ')}${fishValue(value)} -d ${fishQuoted(firstLine(description))}`;
      }),
      ...(hasFiles ? [`${start} -F`] : []),
    ];
  });
  return `# fish completion for ${PROGRAM}
function _${FUNCTION}_at
    set -l known ${below(commands)
      .map(({ path }) => fishQuoted(path))
      .join(' ')}
    set -l with_value ${valueOptions(commands).map(fishQuoted).join(' ')}
    set -l at ''
    set -l previous ''
    for word in (commandline -opc)[2..-1]
        set -l next (string trim -- "$at $word")
        if not contains -- "$previous" $with_value; and contains -- "$next" $known
            set at $next
        end
        set previous $word
    end
    test "$at" = "$argv[1]"
end
complete -c ${PROGRAM} -f
${lines.join('\n')}
`;
}

function fishValue(value: Completed | undefined): string {
  if (value === undefined) return '';
  if (value === 'file') return ' -r -F';
  return value === 'nothing' ? ' -x' : ` -x -a ${fishQuoted(value.join(' '))}`;
}

const SCRIPTS: Record<ShellName, (commands: readonly CompletedCommand[]) => string> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
};

export const completionScript = (shell: ShellName, commands: readonly CompletedCommand[]) =>
  SCRIPTS[shell](commands);
