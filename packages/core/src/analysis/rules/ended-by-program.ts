/** The last rules of the table: programs that raised an exception themselves or chose their exit code. */
import { formatBytes } from '../../quantities.ts';
import { errorText, failedAt } from '../quote-guest-text.ts';
import { DOCS, type Rule, rule } from '../rule.ts';
import { suggestedBytes } from '../suggested-limits.ts';

export const exitRules: readonly Rule[] = [
  rule({
    type: 'RaisedByProgram',
    evidence:
      'The program raised the exception itself, in a raise or throw statement, whatever its class and message are.',
    docs: [],
    match: ({ error }) => (error?.raised === true ? error : undefined),
    advise: (error, input) => ({
      guidance: [
        `The program raised this exception itself: ${errorText(error)}`,
        failedAt(input, 'It was raised on'),
        'This is a check in the program, not a limit of the sandbox: inspect the values that led to it',
      ],
    }),
  }),
  rule({
    type: 'OutputLimit',
    evidence:
      'The program exited with a nonzero code and without an exception, and part of its output was dropped.',
    docs: [DOCS.limits],
    match: ({ error, stdoutDroppedBytes, stderrDroppedBytes }) =>
      error === undefined && stdoutDroppedBytes + stderrDroppedBytes > 0
        ? { stdout: stdoutDroppedBytes, stderr: stderrDroppedBytes }
        : undefined,
    advise: ({ stdout, stderr }, { exitCode, capabilities: { limits }, language }) => ({
      message: `Exit code ${exitCode}; output was truncated`,
      guidance: [
        stdout > 0
          ? `Standard output exceeded stdout_max_bytes (${formatBytes(limits.stdout_max_bytes)}): ${formatBytes(stdout)} ${stdout === 1 ? 'was' : 'were'} dropped`
          : undefined,
        stderr > 0
          ? `Standard error exceeded stderr_max_bytes (${formatBytes(limits.stderr_max_bytes)}): ${formatBytes(stderr)} ${stderr === 1 ? 'was' : 'were'} dropped`
          : undefined,
        `The program exited with code ${exitCode}; the reason may be in the dropped output`,
        'Print less, write large results to a file in /app, or print error messages first',
        (reader) => {
          const how = reader.raise(
            'stdout_max_bytes',
            suggestedBytes(limits.stdout_max_bytes),
            language.name,
          );
          return how && `Or raise the limit: ${how}`;
        },
      ],
    }),
  }),
];
