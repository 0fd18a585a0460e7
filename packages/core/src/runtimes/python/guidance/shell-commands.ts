/**
 * Finds the commands that a failed statement would have run: `sort` in `subprocess.run(['sort', path])`, `cat` and `wc` in
 * `os.popen('cat x | wc -l')`. The source is text here, so an unusual statement yields no commands. Bounded for any source.
 */
import type { AnalysisInput } from '../../../analysis/input.ts';
import { sourceLine } from '../../../analysis/quote-guest-text.ts';

/** Maximum number of lines of a call, and between the assignment of its argument and the call. */
const CALL_LINES = 6;
const LINES_BEFORE = 40;
const COMMANDS_MAX = 6;
/** Functions that start processes, as far as the opening parenthesis. */
const CALLER =
  /(?:\bsubprocess\.\w+|\bPopen|\bos\.(?:popen|system|exec\w*|spawn\w*)|\b(?:check_output|check_call|getoutput|create_subprocess_\w+|run|call))(?=\()/;
const ARGUMENT = /^\(\s{0,9}([[(]?)\s{0,9}(?:[rfb]{0,2}(["'])(.{0,300}?)\2|([A-Za-z_][\w.]{0,60}))/;
const LITERAL = /["']([^"']{1,200})["']/g;
const WORD = /^[\w./+-]{1,60}$/;
/** Words before a command. */
const PREFIXES = new Set(['sudo', 'env', 'time', 'nohup', 'exec', 'then', 'do', '!']);
const INTERPRETERS = /^(?:sys\.executable|python[\d.]*)$/;

interface ShellCommand {
  /** The name of the program, without its folder. */
  readonly name: string;
  /** The words after it, as far as the source shows them. */
  readonly words: readonly string[];
}

/** `python -m pip install x` is the command `pip`. */
function command(words: readonly string[]): ShellCommand | undefined {
  const start = words.findIndex((word) => !PREFIXES.has(word) && !/^\w+=/.test(word));
  const [first, ...rest] = start < 0 ? [] : words.slice(start);
  if (first === undefined || !WORD.test(first)) return undefined;
  if (!INTERPRETERS.test(first))
    return { name: first.slice(first.lastIndexOf('/') + 1).toLowerCase(), words: rest };
  return rest[0] === '-m' && rest[1] !== undefined
    ? { name: rest[1], words: rest.slice(2) }
    : { name: 'python', words: rest };
}

/** The commands of a shell text, pipelines and lists included. */
export function shellCommands(text: string): ShellCommand[] {
  return text
    .split(/\|\|?|&&|;|\n/)
    .map((part) => command(part.trim().split(/\s+/)))
    .filter((one) => one !== undefined);
}

/** The text from a call or an assignment to the end of its statement, roughly. */
function statementFrom(source: string, line: number): string {
  const lines = Array.from({ length: CALL_LINES }, (_, i) => sourceLine(source, line + i));
  return lines.join(' ');
}

function parse(text: string, resolve: (variable: string) => string | undefined): ShellCommand[] {
  const found = ARGUMENT.exec(text);
  if (found === null) return [];
  const [, list, , literal, variable] = found;
  if (list === '[' || list === '(') {
    const end = text.indexOf(list === '[' ? ']' : ')', found.index + 1);
    const rest = text.slice(found.index, end < 0 ? undefined : end);
    const words = [...rest.matchAll(LITERAL)].map(([, word]) => word!);
    const one = command(variable === undefined ? words : [variable, ...words]);
    return one === undefined ? [] : [one];
  }
  if (literal !== undefined) return shellCommands(literal);
  const value = variable === undefined ? undefined : resolve(variable);
  return value === undefined ? [] : parse(`(${value}`, () => undefined);
}

/** The commands that the failed statement would have run, at most six; empty if the source does not show them. */
export function failedCommands({
  source,
  error,
}: Pick<AnalysisInput, 'source' | 'error'>): readonly ShellCommand[] {
  const { line, file } = error ?? {};
  if (typeof line !== 'number' || line < 1 || file !== undefined) return [];
  const assigned = (variable: string) => {
    const assignment = new RegExp(`(?:^|\\s)${variable.replaceAll('.', '\\.')}\\s*=(?!=)\\s*(.*)$`);
    for (let at = line; at >= Math.max(1, line - LINES_BEFORE); at--) {
      const value = assignment.exec(sourceLine(source, at))?.[1];
      if (value !== undefined && value !== '') return `${value} ${statementFrom(source, at + 1)}`;
    }
    return undefined;
  };
  const statement = statementFrom(source, line);
  const call = CALLER.exec(statement);
  if (call === null) return [];
  return parse(statement.slice(call.index + call[0].length), assigned).slice(0, COMMANDS_MAX);
}

/** Programs that install packages. */
export const INSTALLERS = new Set(
  'pip pip3 conda mamba uv poetry apt apt-get apk yum dnf brew npm npx yarn pnpm gem cargo'.split(' '),
);
/** Programs that need a network. */
export const NETWORK_PROGRAMS = new Set(
  'http https ssh scp sftp rsync ftp telnet nc ping dig nslookup aws gcloud kubectl'.split(' '),
);
