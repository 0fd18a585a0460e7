/**
 * Whether a function works through effects, as far as its source shows: it changes objects outside its frame, or calls
 * functions without using their results. Calls of such a function with the same arguments can do different work.
 */
import { sourceLine } from './quote-guest-text.ts';

const MAX_BODY_LINES = 200;
const MAX_STATEMENT_CHARS = 300;
const UNUSED_CALL = /^(?:await )?([\w$.]+)\([^()]*(?:\([^()]*\)[^()]*)*\)$/;
/** The head of a compound statement that is followed by a statement on the same line. */
const AFTER_HEAD = /^(?:if|elif|else|for|while|with|try|except|finally)\b[^:]*:\s+/;
/** Functions that only print, and words that look like the name of a function. */
const HARMLESS = /^(?:print|console\.\w+|if|elif|while|for|switch|catch|return|function)$/;

/** The line that defines a function; 0 if there is none. */
export function definitionLine(source: string, name: string): number {
  const escaped = name.replace(/[^\w]/g, '\\$&');
  const at = source.search(new RegExp(`\\b(?:def|function\\*?|const|let|var)\\s{1,9}${escaped}(?![\\w$])`));
  return at < 0 ? 0 : source.slice(0, at).split('\n').length;
}

/** The parameters of a function, if its source shows them and it assigns nothing to them. */
export function parametersOf(source: string, name: string): ReadonlySet<string> | undefined {
  const line = definitionLine(source, name);
  const head = sourceLine(source, line);
  const list = /\(([^()]{0,200})\)/.exec(head.slice(head.indexOf(name)))?.[1];
  if (line === 0 || list === undefined) return undefined;
  const names = list.split(',').map((one) => /^[\w$]+/.exec(one.trim())?.[0]);
  if (names.includes(undefined)) return undefined;
  const assigned = statementsOf(source, line).map(
    (text) => /^([\w$]+)\s*[^\w\s=<>!]{0,3}=(?!=)/.exec(text)?.[1],
  );
  return names.some((one) => assigned.includes(one)) ? undefined : new Set(names as string[]);
}

/** `isVisible` returns whether the values of a variable of the function are known, so that changes to it are not hidden. */
export function hasHiddenEffects(
  source: string,
  name: string,
  isVisible: (variable: string) => boolean,
): boolean {
  const isHidden = (variable: string) => variable === 'self' || variable === 'this' || !isVisible(variable);
  return statementsOf(source, definitionLine(source, name)).some((statement) => {
    const changed = changedObject(statement);
    if (changed !== undefined) return isHidden(changed);
    const call = UNUSED_CALL.exec(statement);
    if (call === null || HARMLESS.test(call[1]!)) return false;
    // A recursive call whose result is not used works through effects.
    const isRecursive = call[1]!.replace(/^.*\./, '') === name;
    return isRecursive || isHidden(call[1]!.split('.', 1)[0]!);
  });
}

/** The variable whose object an assignment changes, as in `board[row] = col` or `node.next = other`; not a counter. */
function changedObject(statement: string): string | undefined {
  const at = statement.indexOf('=');
  if (at < 1 || statement[at + 1] === '=') return undefined;
  const target = statement.slice(0, at).trimEnd();
  const isChange = target.endsWith(']') || /^[\w$]+\.[\w$.]+$/.test(target);
  return isChange ? /^[\w$]+/.exec(target)?.[0] : undefined;
}

/** The statements of the function that starts on a line, without those on the line itself if others follow. */
function statementsOf(source: string, line: number): string[] {
  const lines = source.split('\n').slice(Math.max(0, line - 1));
  const indentOf = (text: string) => /^\s*/.exec(text)![0].length;
  const own = indentOf(lines[0] ?? '');
  const after = lines.slice(1, MAX_BODY_LINES);
  const end = after.findIndex((text) => text.trim() !== '' && indentOf(text) <= own);
  const body = end < 0 ? after : after.slice(0, end);
  return (body.length > 0 ? body : lines.slice(0, 1))
    .flatMap((text) => text.slice(0, MAX_STATEMENT_CHARS).split(/[;{}]/))
    .map((statement) => statement.trim().replace(AFTER_HEAD, ''));
}
