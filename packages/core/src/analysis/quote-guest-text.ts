/**
 * Excerpts of guest text for guidance: one line each, of bounded length, without control characters, so that any text
 * from a guest can be quoted safely.
 */
import type { GuestError } from '../schema.ts';
import type { AnalysisInput } from './input.ts';

const EXCERPT_MAX = 160;
const MESSAGE_MAX = 300;
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what must be removed.
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+/g;

/** The text as one printable line of at most `max` characters. */
export function oneLine(text: string, max = EXCERPT_MAX): string {
  // Scans four times the result, so that removed characters do not shorten it, but never megabytes.
  const line = text
    .slice(0, max * 4)
    .replace(UNPRINTABLE, ' ')
    .trim();
  return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}

/** `FileNotFoundError: message`. */
export function errorText(error: GuestError): string {
  const message = oneLine(error.message, MESSAGE_MAX);
  return message === '' ? oneLine(error.type) : `${oneLine(error.type)}: ${message}`;
}

/** The first capture group of a pattern in the error's message. */
export function messageMatch(error: GuestError | undefined, pattern: RegExp): string | undefined {
  return error === undefined ? undefined : (pattern.exec(error.message)?.[1] ?? undefined);
}

/** Lines that begin later in the source are not looked up. */
const SOURCE_MAX = 65_536;

/** A line of the program, 1-based; empty if there is no such line. */
export function sourceLine(source: string, line: number): string {
  let start = 0;
  for (let at = 1; at < line; at++) {
    start = source.indexOf('\n', start) + 1;
    if (start === 0 || start > SOURCE_MAX) return '';
  }
  const end = source.indexOf('\n', start);
  return oneLine(source.slice(start, end < 0 ? undefined : end));
}

/** The part of the input that says which line failed. */
export type FailedProgram = Pick<AnalysisInput, 'source' | 'error'> &
  Partial<Pick<AnalysisInput, 'exitCause'>>;

/** The line of the program that failed or was interrupted; empty if unknown. */
export function failedStatement({ source, error, exitCause }: FailedProgram): string {
  const { line, file } = error ?? exitCause ?? {};
  return typeof line === 'number' && line >= 1 && file === undefined ? sourceLine(source, line) : '';
}

/** The location to follow "at": `line 3: x = data["k"]`, `line 3`, or undefined if no line is known. */
export function failedLocation(input: AnalysisInput): string | undefined {
  const { line, file } = input.error ?? input.exitCause ?? {};
  if (typeof line !== 'number' || line < 1) return undefined;
  if (file !== undefined) return `line ${line} of ${oneLine(file)}`;
  const statement = failedStatement(input);
  return statement === '' ? `line ${line}` : `line ${line}: ${statement}`;
}

/** The guidance line that names the location; `what` is the beginning of the sentence. */
export function failedAt(input: AnalysisInput, what = 'It failed on'): string | undefined {
  const location = failedLocation(input);
  return location && `${what} ${location}`;
}

/** Advice for code that was pasted together with its Markdown fence. */
export function markdownFenceAdvice({ source }: AnalysisInput): string | undefined {
  return /^\s*```/.test(source.slice(0, 200))
    ? 'The code begins with a Markdown fence: remove the ``` lines'
    : undefined;
}
