/** Rules for shell programs: what a status and the messages on standard error say about a failed command. */
import type { AnalysisInput } from '../../../analysis/input.ts';
import { failedAt, failedStatement, oneLine } from '../../../analysis/quote-guest-text.ts';
import { DOCS, type Rule, rule } from '../../../analysis/rule.ts';
import { existingFileLine, workspaceListing } from '../../../analysis/rules/file-rules.ts';
import { similarNames } from '../../../schema/similar-names.ts';
import { availableCommands } from '../../programs/program-list.ts';
import { messageOf, type ShellError, shellError, withLine } from './shell-error.ts';

/** What to do instead of commands that agents expect and the sandbox does not have. */
const INSTEAD: Readonly<Record<string, string>> = {
  sudo: 'The program is the only user and may change every file of the workspace: leave sudo out',
  git: 'There is no git: keep copies of files, or use diff -u and patch; the sandbox can return to an earlier state',
  make: 'There is no make: run the commands of the recipe',
  gcc: 'There are no compilers: write the program in Python or JavaScript',
  perl: "There is no Perl: use sed, awk or python3 -c '…'",
  ruby: "There is no Ruby: use python3 -c '…'",
  rg: "Use grep -rn 'pattern' .",
  fd: "Use find . -name '*.txt'",
  wget: 'Use curl -fsSLO URL, or curl -fsSL URL to print a document',
  nano: 'There are no editors: write files with cat > file <<EOF, and change them with sed -i',
  vim: 'There are no editors: write files with cat > file <<EOF, and change them with sed -i',
};
const INSTALLERS = ['apt', 'apt-get', 'yum', 'dnf', 'apk', 'brew', 'conda', 'snap'];
const NETWORK = ['ssh', 'scp', 'nc', 'ping', 'telnet', 'ftp', 'rsync'];

const nameOf = (subject: string) => oneLine(subject.slice(subject.lastIndexOf('/') + 1), 60);

function missingCommandLines(name: string, { requests, capabilities }: AnalysisInput): string[] {
  if (INSTALLERS.includes(name))
    return [
      capabilities.addsPackages
        ? 'Commands cannot be installed: use those that exist. pip install adds known packages of Python'
        : 'Nothing can be installed: use the commands that exist',
    ];
  if (NETWORK.includes(name))
    return [
      requests === undefined
        ? 'There is no network: pass the data as files, or through tools of the caller'
        : 'Only HTTP requests can be sent: use curl, urllib.request in python3, or fetch in node',
    ];
  const instead = Object.hasOwn(INSTEAD, name) ? INSTEAD[name] : undefined;
  if (instead !== undefined) return [instead];
  const letters = (text: string) => [...text].sort().join('');
  const commands = availableCommands();
  const swapped = commands.filter((command) => letters(command) === letters(name));
  const similar = [...new Set([...swapped, ...similarNames(name, commands)])].slice(0, 3);
  return similar.length > 0 ? [`Did you mean ${similar.join(', ')}?`] : [];
}

/** `x = 5` starts the command x. */
function assignmentLine(name: string, input: AnalysisInput): string | undefined {
  const words = failedStatement(input).trim().split(/\s+/);
  return words.some((word, i) => word === name && words[i + 1]?.startsWith('=') === true)
    ? `For an assignment, write ${oneLine(name, 60)}=value, without spaces around =`
    : undefined;
}

/** What to use instead of options that commands lack, by command and option. */
const OPTION_SUBSTITUTES: Readonly<Record<string, string>> = {
  'diff y': 'Use diff, or diff -u',
  'diff c': 'Use diff -u',
};

function optionSubstitute(command: string, text: string): string | undefined {
  const option = /'([\w-]{1,40})/.exec(text)?.[1] ?? '';
  const key = `${command} ${option}`;
  return Object.hasOwn(OPTION_SUBSTITUTES, key) ? OPTION_SUBSTITUTES[key] : undefined;
}

const UNQUOTED =
  /^(?:too many arguments|binary operator expected|unary operator expected|ambiguous redirect)$/;
const SET_E = /^[ \t]{0,40}set -[A-Za-z]{0,20}e|^#![^\n]{0,80}\s-[a-z]{0,9}e/m;
/** Arithmetic commands that fail if their value is 0. */
const COUNTING = /(?:^|[\s;])(?:\(\([^)\n]{0,80}\)\)|let\s)/m;

interface ShellRule {
  readonly type: string;
  readonly evidence: string;
  readonly docs?: readonly string[];
  readonly match: (input: AnalysisInput) => ShellError | undefined;
  readonly lines: (error: ShellError, input: AnalysisInput) => readonly (string | undefined)[];
}

const shellRule = ({ type, evidence, docs = [DOCS.unsupported], match, lines }: ShellRule): Rule =>
  rule({
    type,
    evidence,
    docs,
    match,
    advise: (error, input) => {
      const located = withLine(input, error);
      return {
        message: oneLine(messageOf(error), 300),
        guidance: [...lines(error, located), failedAt(located)],
      };
    },
  });

const NO_MESSAGE: ShellError = { subject: '', text: '', line: undefined };

export const shellRules: readonly Rule[] = [
  shellRule({
    type: 'CommandNotFound',
    evidence: 'bash wrote "command not found" to standard error, and the exit code is 127.',
    match: (input) => (input.exitCode === 127 ? shellError(input, /^command not found$/) : undefined),
    lines: ({ subject }, input) => [
      `There is no command '${nameOf(subject)}' in the sandbox`,
      ...missingCommandLines(nameOf(subject), input),
      assignmentLine(subject, input),
      'ls /usr/bin lists the commands; python3 and node run programs in other languages',
    ],
  }),
  shellRule({
    type: 'CannotExecute',
    evidence: 'The exit code is 126, and a message on standard error says why a file cannot be executed.',
    match: (input) =>
      input.exitCode === 126
        ? shellError(input, /^(?:Permission denied|cannot execute.*|Is a directory|.*[Ee]xec format error)$/)
        : undefined,
    lines: ({ subject, text }) => [
      text === 'Permission denied'
        ? `The file is not executable: chmod +x ${nameOf(subject)}, or run it with its interpreter: bash ${nameOf(subject)}`
        : 'Only the programs of the sandbox can be executed, and scripts whose first line names one of them, such as #!/bin/bash',
    ],
  }),
  shellRule({
    type: 'UnsupportedOption',
    evidence: 'A command wrote that it does not know an option.',
    match: (input) => shellError(input, /^(?:Unknown option|invalid option|unrecognized option)/),
    lines: ({ subject, text }) => [
      `${oneLine(subject, 60)} does not have this option: ${oneLine(text)}`,
      optionSubstitute(subject, text),
      `${oneLine(subject, 60)} --help lists its options`,
    ],
  }),
  shellRule({
    type: 'FileNotFound',
    evidence: 'A command wrote "No such file or directory" to standard error.',
    docs: [DOCS.files],
    match: (input) => shellError(input, /^No such file or directory$/),
    lines: ({ subject }, input) => {
      const path = subject
        .split(': ')
        .at(-1)!
        .replace(/^['"]|['"]$/g, '');
      return [existingFileLine(path, input) ?? `'${oneLine(path)}' does not exist`, workspaceListing(input)];
    },
  }),
  shellRule({
    type: 'UnsupportedFile',
    evidence: 'ln, link or mkfifo wrote "Operation not permitted" to standard error.',
    match: (input) => {
      const error = shellError(input, /^Operation not permitted$/);
      return error !== undefined && /^(?:ln|link|mkfifo): /.test(error.subject) ? error : undefined;
    },
    lines: ({ subject }) => [
      subject.startsWith('mkfifo')
        ? 'There are no named pipes: use a pipeline, <(command) or a file'
        : 'There are no hard links, because each file has one path: use ln -s, or cp for a copy',
    ],
  }),
  shellRule({
    type: 'SyntaxError',
    evidence: 'bash wrote "syntax error" or "unexpected EOF" to standard error.',
    docs: [DOCS.unsupported],
    match: (input) => shellError(input, /^(?:syntax error.*|unexpected EOF.*)$/),
    lines: () => ['bash could not parse the program; commands before this line have run'],
  }),
  shellRule({
    type: 'UnquotedVariable',
    evidence:
      'bash wrote "too many arguments", "binary operator expected", "unary operator expected" or "ambiguous redirect".',
    match: (input) => shellError(input, UNQUOTED),
    lines: ({ text }) => [
      text === 'unary operator expected'
        ? 'A variable in [ … ] is empty, so a word is missing'
        : 'A variable without quotes became several words, or none',
      'Quote it ("$name"), or use [[ … ]], in which variables are not split',
    ],
  }),
  shellRule({
    type: 'UnboundVariable',
    evidence: 'bash wrote "unbound variable": set -u is on, and a variable has no value.',
    match: (input) => shellError(input, /^unbound variable$/),
    lines: ({ subject }) => [
      `With set -u, '${nameOf(subject)}' must have a value before it is used`,
      // biome-ignore lint/suspicious/noTemplateCurlyInString: this is shell syntax.
      'Assign it first, or give a default: ${name:-default}, ${1:-}',
    ],
  }),
  shellRule({
    type: 'EndedBySignal',
    evidence: 'The exit code is 128 plus the number of a signal: 130, 137, 139, 141 or 143.',
    docs: [DOCS.limits],
    match: ({ exitCode, trap }) =>
      trap === null && [130, 137, 139, 141, 143].includes(exitCode) ? NO_MESSAGE : undefined,
    lines: (_, { exitCode }) => [
      `A command was ended by signal ${exitCode - 128}`,
      exitCode === 137
        ? 'All processes of a call share its limits: less data at a time, or a higher memory limit, may help'
        : undefined,
    ],
  }),
  shellRule({
    type: 'CommandFailed',
    evidence: 'The program ended with a status other than 0, and none of the other rules applies.',
    match: ({ trap }) => (trap === null ? NO_MESSAGE : undefined),
    lines: (_, { exitCode, source, stderr }) => [
      `The exit code ${exitCode} is that of the last command, or of exit`,
      SET_E.test(source)
        ? 'With set -e, the first command that fails ends the program: write "command || true" where a failure is expected (grep without a match returns 1)'
        : undefined,
      SET_E.test(source) && COUNTING.test(source)
        ? '((i++)) and let fail if their value is 0: write i=$((i + 1))'
        : undefined,
      stderr === ''
        ? 'Nothing was written to standard error; set -x shows the commands as they run'
        : undefined,
    ],
  }),
];
