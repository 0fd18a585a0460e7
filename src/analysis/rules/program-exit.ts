/** The last rules of the table: programs that raised an exception themselves or chose their exit code. */
import { formatBytes, formatLiteral } from '../../quantities.ts';
import { errorText, failedAt } from '../excerpt.ts';
import { DOCS, type Rule, rule } from '../rule.ts';
import { suggestedBytes } from '../suggested-limits.ts';

export const exitRules: readonly Rule[] = [
  rule({
    type: 'RaisedByProgram',
    evidence:
      'The exception was raised by a raise or throw statement of the program itself, whatever its class and text.',
    docs: [],
    match: ({ error }) => (error?.raised === true ? error : undefined),
    advise: (error, input) => ({
      guidance: [
        `The program itself raised ${errorText(error)}`,
        failedAt(input, 'It was raised on'),
        'This is a check of the program, not a limit of the sandbox: look at the values that lead to it',
      ],
    }),
  }),
  rule({
    type: 'OutputLimit',
    evidence:
      'The program ended with an exit code other than 0, said why only in its output, and part of that was dropped.',
    docs: [DOCS.limits],
    match: ({ error, stdoutDroppedBytes, stderrDroppedBytes }) =>
      error === undefined && stdoutDroppedBytes + stderrDroppedBytes > 0
        ? { stdout: stdoutDroppedBytes, stderr: stderrDroppedBytes }
        : undefined,
    advise: ({ stdout, stderr }, { exitCode, limits }) => ({
      message: `Exit code ${exitCode}; output was truncated`,
      guidance: [
        stdout > 0
          ? `${formatBytes(stdout)} of standard output were dropped: at most ${formatBytes(limits.stdout_max_bytes)} are kept (stdout_max_bytes)`
          : undefined,
        stderr > 0
          ? `${formatBytes(stderr)} of standard error were dropped: at most ${formatBytes(limits.stderr_max_bytes)} are kept (stderr_max_bytes)`
          : undefined,
        `The program ended itself with exit code ${exitCode}; the reason may be in the part that was dropped`,
        'Print less, write large results to a file in /app, or print the reason of a failure first',
        `Or keep more: policy stdout_max_bytes=${formatLiteral(suggestedBytes(limits.stdout_max_bytes))}`,
      ],
    }),
  }),
];
