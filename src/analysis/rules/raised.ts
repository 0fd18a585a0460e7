/** Rules for failures that are the program's own decision, and the last ones of the table. */
import { formatBytes, formatLiteral } from '../../quantities.ts';
import { messageOf } from '../exception.ts';
import { placeOf } from '../quote.ts';
import { DOCS, type Rule, rule } from '../rule.ts';

export const raisedRules: readonly Rule[] = [
  rule({
    type: 'RaisedByProgram',
    seen: 'The exception was raised by a raise or throw statement of the program itself, whatever its class and text.',
    docs: [],
    example: {
      source: "raise ValueError('price must be positive')",
      error: {
        type: 'ValueError',
        module: 'builtins',
        kind: 'ValueError',
        message: 'price must be positive',
        raised: true,
        line: 1,
      },
    },
    match: ({ error }) => (error?.raised === true ? error : undefined),
    advise: (error, facts) => {
      const place = placeOf(facts);
      return {
        guidance: [
          `The program itself raised ${messageOf(error)}`,
          place && `It was raised on ${place}`,
          'This is a check of the program, not a limit of the sandbox: look at the values that lead to it',
        ],
      };
    },
  }),
];

export const lastRules: readonly Rule[] = [
  rule({
    type: 'OutputLimit',
    seen: 'The program ended with an exit code other than 0, said why only in its output, and part of that was dropped.',
    docs: [DOCS.limits],
    example: {
      source: 'print("x" * 3_000_000)\nraise SystemExit(1)',
      ending: 'exited',
      stdout_dropped_bytes: 1_000_000,
    },
    match: (facts) =>
      facts.error === undefined && facts.stdout_dropped_bytes + facts.stderr_dropped_bytes > 0
        ? { stdout: facts.stdout_dropped_bytes, stderr: facts.stderr_dropped_bytes }
        : undefined,
    advise: ({ stdout, stderr }, facts) => ({
      message: `Exit code ${facts.exit_code}; output was truncated`,
      guidance: [
        stdout > 0
          ? `${formatBytes(stdout)} of standard output were dropped: at most ${formatBytes(facts.limits.stdout_max_bytes)} are kept (stdout_max_bytes)`
          : undefined,
        stderr > 0
          ? `${formatBytes(stderr)} of standard error were dropped: at most ${formatBytes(facts.limits.stderr_max_bytes)} are kept (stderr_max_bytes)`
          : undefined,
        `The program ended itself with exit code ${facts.exit_code}; the reason may be in the part that was dropped`,
        'Print less, write large results to a file in /app, or print the reason of a failure first',
        `Or keep more: policy stdout_max_bytes=${formatLiteral(Math.min(facts.limits.stdout_max_bytes * 2, 2 ** 32))}`,
      ],
    }),
  }),
];
