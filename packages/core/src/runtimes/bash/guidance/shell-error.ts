/** The message that explains why a shell program failed: the last one on standard error that bash or a command has written. */
import { STDERR_SCAN_CHARS } from '../../../analysis/find-rule.ts';
import type { AnalysisInput } from '../../../analysis/input.ts';

export interface ShellError {
  /** What bash could not run, or the command that failed. */
  readonly subject: string;
  readonly text: string;
  /** The line of the program, if bash names it. */
  readonly line: number | undefined;
}

/** `bash: line 3: SUBJECT: TEXT`, `bash: line 3: TEXT` or `COMMAND: SUBJECT: TEXT`. */
const PREFIX = /^[^\s:]{1,100}: (?:-c: )?line (\d{1,9}): /;
const SEPARATOR = ': ';
const MAX_MESSAGE_CHARS = 600;

/** The last message of standard error whose text matches. Long output may be cut off and is not searched. */
export function shellError(input: AnalysisInput, text: RegExp): ShellError | undefined {
  const { stderr, trap } = input;
  if (trap !== null || stderr.length > STDERR_SCAN_CHARS) return undefined;
  for (const message of stderr.trimEnd().split('\n').reverse()) {
    const [prefix = '', digits] = PREFIX.exec(message) ?? [];
    const whole = message.slice(prefix.length);
    if (whole.length > MAX_MESSAGE_CHARS) continue;
    const line = digits === undefined ? undefined : Number(digits);
    if (text.test(whole)) return { subject: '', text: whole, line };
    const at = whole.lastIndexOf(SEPARATOR);
    const end = whole.slice(at + SEPARATOR.length);
    if (at > 0 && text.test(end)) return { subject: whole.slice(0, at), text: end, line };
  }
  return undefined;
}

export const messageOf = ({ subject, text }: ShellError): string =>
  subject === '' ? text : `${subject}: ${text}`;

/** The input with the line that bash names, so that guidance can quote it. */
export const withLine = (input: AnalysisInput, error: ShellError): AnalysisInput => ({
  ...input,
  error: { type: 'ShellError', message: messageOf(error), line: error.line ?? null },
});
