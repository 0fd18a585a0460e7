/** One failed run for each type of guidance, for docs/ERROR_GUIDANCE.md and the tests of the rules. */
import type { GuidanceExample } from './example-failure.ts';

const failed = (exitCode: number, source: string, stderr: string): GuidanceExample['run'] => ({
  ending: 'exited',
  exitCode,
  source,
  stderr,
});

export const bashExamples: readonly GuidanceExample[] = [
  { type: 'CommandNotFound', run: failed(127, 'gerp x a.txt', 'bash: line 1: gerp: command not found\n') },
  { type: 'CannotExecute', run: failed(126, './run.sh', 'bash: line 1: ./run.sh: Permission denied\n') },
  { type: 'UnsupportedOption', run: failed(1, 'ls --hyperlink', "ls: Unknown option 'hyperlink'\n") },
  {
    type: 'FileNotFound',
    run: {
      ...failed(1, 'cat dta.csv', 'cat: dta.csv: No such file or directory\n'),
      files: () => ['data.csv'],
    },
  },
  {
    type: 'UnsupportedFile',
    run: failed(1, 'ln a b', "ln: cannot create hard link from 'a' to 'b': Operation not permitted\n"),
  },
  {
    type: 'SyntaxError',
    run: failed(2, 'if true; then', 'bash: line 2: syntax error: unexpected end of file\n'),
  },
  {
    type: 'UnquotedVariable',
    run: failed(2, 'name="a b"\n[ $name = c ]', 'bash: line 2: [: too many arguments\n'),
  },
  { type: 'UnboundVariable', run: failed(127, 'set -u\necho $x', 'bash: line 2: x: unbound variable\n') },
  {
    type: 'ProcessLimit',
    run: {
      source: 'f() { echo "$(f)"; }\nf',
      trap: {
        reason: 'process_limit',
        message: 'Execution trapped: ProcessLimit (processes start each other more than 200 levels deep)',
      },
    },
  },
  { type: 'EndedBySignal', run: failed(137, 'kill -9 $$', '') },
  { type: 'CommandFailed', run: failed(1, 'set -e\nfalse\necho done', '') },
];
