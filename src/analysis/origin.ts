/**
 * Where a value of a JavaScript program came from, read from its text: QuickJS names no values in its messages, and for
 * failed destructuring it gives the place of what ran before. Bounded; where the text does not say, nothing is claimed.
 */
import type { RunFacts } from './input.ts';
import { lineText, statementOf } from './quote.ts';

/** What functions of the modules really return. */
export const RETURNS: Readonly<Record<string, 'tuple' | 'number' | 'nullable'>> = {
  'os.readdir': 'tuple',
  'os.stat': 'tuple',
  'os.lstat': 'tuple',
  'os.realpath': 'tuple',
  'os.readlink': 'tuple',
  'os.getcwd': 'tuple',
  'os.open': 'number',
  'os.close': 'number',
  'os.read': 'number',
  'os.write': 'number',
  'os.seek': 'number',
  'os.remove': 'number',
  'os.rename': 'number',
  'os.mkdir': 'number',
  'os.chdir': 'number',
  'os.symlink': 'number',
  'os.utimes': 'number',
  'std.loadFile': 'nullable',
  'std.open': 'nullable',
  'std.getenv': 'nullable',
};

export interface Call {
  readonly name: string;
  /** The path it was given, if that is written out. */
  readonly path: string | undefined;
  /** The variable that holds the whole result, if it was not used directly. */
  readonly variable: string | undefined;
}

const SOURCE_MAX = 32_768;
const LINE_MAX = 300;
/** Words of a failing statement that are followed to where they were set. */
const WORDS_MAX = 12;
const CALL = /^(?:await\s+)?((?:os|std)\.\w{1,30})\(\s*(?:(['"`])([^'"`\n]{0,200})\2)?/;
const WORD = /(?<![.\w$'"`])[A-Za-z_$][\w$]{0,60}/g;
/** How far below the reported line a failed destructuring is looked for. */
const LINES_BELOW = 8;

const withoutComment = (line: string) => line.replace(/(^|\s)\/\/.*$/, '');

function callAt(expression: string, variable?: string): Call | undefined {
  const found = CALL.exec(expression.trim());
  return found === null ? undefined : { name: found[1]!, path: found[3], variable };
}

/** The call whose whole result a variable holds, by the last assignment up to a line. */
function assigned(lines: readonly string[], variable: string): Call | undefined {
  const word = variable.replaceAll('$', '\\$');
  const assignment = new RegExp(`(?:^|[^\\w$.\\[,{])${word}\\s*=(?![=>])\\s*(.*)$`);
  for (let i = lines.length - 1; i >= 0; i--) {
    if (lines[i]!.length > LINE_MAX || !lines[i]!.includes(variable)) continue;
    const found = assignment.exec(withoutComment(lines[i]!));
    if (found !== null) return callAt(found[1]!, variable);
  }
  return undefined;
}

const linesUpTo = (facts: RunFacts, line: number) =>
  facts.source.slice(0, SOURCE_MAX).split('\n').slice(0, line);

/** The call of a module function that a failing line is about: on it, or where one of its variables was set. */
export function callBehind(facts: RunFacts): Call | undefined {
  const statement = withoutComment(statementOf(facts));
  const direct = /(?<![\w$.])(?:os|std)\.\w+\(.*/.exec(statement);
  if (direct !== null) return callAt(direct[0]);
  const words = new Set([...statement.matchAll(WORD)].slice(0, WORDS_MAX).map(([word]) => word));
  const lines = linesUpTo(facts, facts.error?.line ?? 0);
  for (const variable of words) {
    const call = assigned(lines, variable);
    // `pair[0]` is how a pair may be used.
    if (
      call !== undefined &&
      !new RegExp(`${variable.replaceAll('$', '\\$')}\\s*\\[\\s*[01]\\s*\\]`).test(statement)
    ) {
      return call;
    }
  }
  return undefined;
}

export interface Culprit {
  readonly line: number;
  /** The module function whose result is not what it was taken for. */
  readonly call: Call | undefined;
  /** It was taken apart into a value and an error. */
  readonly expectsPair: boolean;
}

const PATTERN = /\[([^\]=]{0,100})\]\s*=(?![=>])\s*(.{1,200})/;
const LOOP = /\bfor\s*\(\s*(?:const|let|var)\s+(.{1,100}?)\s+of\s+(.{1,200})/;
const PAIR = /^\s*[\w$]+\s*,\s*(?:e|err|error|errno|ex)\w{0,8}\s*$/i;

/** The statement that took something apart that cannot be, from the reported line on. */
export function failedIteration(facts: RunFacts): Culprit | undefined {
  const first = facts.error?.line;
  if (typeof first !== 'number' || first < 1) return undefined;
  for (let line = first; line <= first + LINES_BELOW; line++) {
    const text = withoutComment(lineText(facts.source, line));
    const loop = LOOP.exec(text);
    if (loop !== null) {
      const word = /^[A-Za-z_$][\w$]*/.exec(loop[2]!)?.[0];
      const call =
        callAt(loop[2]!) ?? (word === undefined ? undefined : assigned(linesUpTo(facts, line), word));
      return { line, call, expectsPair: false };
    }
    const pattern = PATTERN.exec(text);
    if (pattern === null) {
      if (/\.\.\.|\byield\s*\*/.test(text)) return { line, call: undefined, expectsPair: false };
      continue;
    }
    const call = callAt(pattern[2]!);
    // Taking a pair apart is right: what failed comes later.
    if (call !== undefined && RETURNS[call.name] === 'tuple') continue;
    return { line, call, expectsPair: PAIR.test(pattern[1]!) };
  }
  return undefined;
}
