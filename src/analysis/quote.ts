/**
 * Words and numbers as guidance shows them. Invariant: whatever goes in, what comes out is one line of bounded length
 * without control characters, so that text from a guest can be quoted safely.
 */
import type { RunFacts } from './input.ts';

const QUOTE_MAX = 160;
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are exactly what must not get through.
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+/g;

/** One printable line of at most `max` characters. */
export function cut(text: string, max = QUOTE_MAX): string {
  // Four times as much is looked at, so that removing characters leaves enough without scanning megabytes.
  const line = text
    .slice(0, max * 4)
    .replace(UNPRINTABLE, ' ')
    .trim();
  return line.length > max ? `${line.slice(0, max - 1)}…` : line;
}

/** Lines of the source that may be looked at for one; a line far down a huge program is not worth the time. */
const SOURCE_MAX = 65_536;

/** The text of a line of the program, 1-based. */
export function lineText(source: string, line: number): string {
  let start = 0;
  for (let at = 1; at < line; at++) {
    start = source.indexOf('\n', start) + 1;
    if (start === 0 || start > SOURCE_MAX) return '';
  }
  const end = source.indexOf('\n', start);
  return cut(source.slice(start, end < 0 ? undefined : end));
}

/** The statement an error or a limit points at, or an empty string. */
export function statementOf(facts: RunFacts): string {
  const { line, file } = facts.error ?? facts.exit_cause ?? {};
  return typeof line === 'number' && line >= 1 && file === undefined ? lineText(facts.source, line) : '';
}

/**
 * QuickJS has positions for calls only: a loop that a limit interrupts has that of the last call before it, or of its
 * function. The stack tells such an error from one that was made inside a built-in, whose call is the line.
 */
const isBefore = ({ runtime, trap, error }: RunFacts) =>
  runtime === 'javascript' && trap !== null && error?.stack !== undefined;

/** Goes behind "at": `line 3: x = data["k"]`, `line 3`, or undefined when no line is known. */
export function placeOf(facts: RunFacts): string | undefined {
  const { line, file } = facts.error ?? facts.exit_cause ?? {};
  if (typeof line !== 'number' || line < 1) return undefined;
  if (isBefore(facts)) {
    const name = /^ *at ([\w$.]+) \(/.exec(facts.error!.stack!)?.[1];
    return `or after line ${line}${name ? `, in ${cut(name)}` : ''}`;
  }
  if (file !== undefined) return `line ${line} of ${cut(file)}`;
  const statement = statementOf(facts);
  return statement === '' ? `line ${line}` : `line ${line}: ${statement}`;
}

/** What to do about code that was pasted with its Markdown around it. */
export function fenceLine({ source }: RunFacts): string | undefined {
  return /^\s*```/.test(source.slice(0, 200))
    ? 'The code begins with a Markdown fence: remove the lines with ```'
    : undefined;
}
