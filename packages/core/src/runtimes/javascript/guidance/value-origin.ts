/**
 * Finds in the source where a value came from. QuickJS names no values in its messages, and for a failed destructuring it
 * reports the position of the call before it. Bounded for any source; undefined if the source does not show the origin.
 */
import { type FailedProgram, failedStatement, sourceLine } from '../../../analysis/quote-guest-text.ts';
import { RETURNS } from './advice.ts';

/** A call to a function of `os` or `std`. */
interface ModuleCall {
  readonly name: string;
  /** Its first argument, if that is a string literal. */
  readonly path: string | undefined;
  /** The variable that holds the whole result, unless the result is used directly. */
  readonly variable: string | undefined;
}

const LINE_MAX = 300;
/** Identifiers of a failed statement that are traced to their assignment. */
const IDENTIFIERS_MAX = 12;
const CALL = /^(?:await\s+)?((?:os|std)\.(?:in\.)?\w{1,30})\(\s*(?:(['"`])([^'"`\n]{0,200})\2)?/;
const IDENTIFIER = /(?<![.\w$'"`])[A-Za-z_$][\w$]{0,60}/g;
/** Lines below the reported one in which a failed destructuring is searched for. */
const LINES_BELOW = 8;

const withoutComment = (line: string) => line.replace(/(^|\s)\/\/.*$/, '');
const escaped = (identifier: string) => identifier.replaceAll('$', '\\$');

function parseCall(expression: string, variable?: string): ModuleCall | undefined {
  const found = CALL.exec(expression.trim());
  return found === null ? undefined : { name: found[1]!, path: found[3], variable };
}

/** The call that the last of these lines assigns to a variable. */
function assignedCall(lines: readonly string[], variable: string): ModuleCall | undefined {
  const assignment = new RegExp(`(?:^|[^\\w$.\\[,{])${escaped(variable)}\\s*=(?![=>])\\s*(.*)$`);
  for (let i = lines.length - 1; i >= 0; i--) {
    if (lines[i]!.length > LINE_MAX || !lines[i]!.includes(variable)) continue;
    const found = assignment.exec(withoutComment(lines[i]!));
    if (found !== null) return parseCall(found[1]!, variable);
  }
  return undefined;
}

const linesUpTo = ({ source }: FailedProgram, line: number) => source.split('\n').slice(0, line);

/** The module call that the failed statement is about: on its line, or where one of its variables was assigned. */
export function originatingCall(program: FailedProgram): ModuleCall | undefined {
  const statement = withoutComment(failedStatement(program));
  const direct = /(?<![\w$.])(?:os|std)\.(?:in\.)?\w+\(.*/.exec(statement);
  if (direct !== null) return parseCall(direct[0]);
  const variables = new Set(
    [...statement.matchAll(IDENTIFIER)].slice(0, IDENTIFIERS_MAX).map(([identifier]) => identifier),
  );
  const lines = linesUpTo(program, program.error?.line ?? 0);
  for (const variable of variables) {
    const call = assignedCall(lines, variable);
    // `tuple[0]` is a correct use of a tuple.
    const isIndexed = new RegExp(`${escaped(variable)}\\s*\\[\\s*[01]\\s*\\]`).test(statement);
    if (call !== undefined && !isIndexed) return call;
  }
  return undefined;
}

interface FailedIteration {
  readonly line: number;
  /** The module call whose result was iterated. */
  readonly call: ModuleCall | undefined;
  /** The statement destructures a result and an error. */
  readonly expectsTuple: boolean;
}

const PATTERN = /\[([^\]=]{0,100})\]\s*=(?![=>])\s*(.{1,200})/;
const FOR_OF = /\bfor\s*\(\s*(?:const|let|var)\s+(\S.{0,99}?)\s+of\s+(.{1,200})/;
const RESULT_AND_ERROR = /^\s*[\w$]+\s*,\s*(?:e|err|error|errno|ex)\w{0,8}\s*$/i;

/** The first statement from the reported line on that iterates or destructures a value. */
export function failedIteration(program: FailedProgram): FailedIteration | undefined {
  const { line: first, file } = program.error ?? {};
  if (typeof first !== 'number' || first < 1 || file !== undefined) return undefined;
  for (let line = first; line <= first + LINES_BELOW; line++) {
    const text = withoutComment(sourceLine(program.source, line));
    const loop = FOR_OF.exec(text);
    if (loop !== null) {
      const variable = /^[A-Za-z_$][\w$]*/.exec(loop[2]!)?.[0];
      const call =
        parseCall(loop[2]!) ??
        (variable === undefined ? undefined : assignedCall(linesUpTo(program, line), variable));
      return { line, call, expectsTuple: false };
    }
    const pattern = PATTERN.exec(text);
    if (pattern === null) {
      if (/\.\.\.|\byield\s*\*/.test(text)) return { line, call: undefined, expectsTuple: false };
      continue;
    }
    const call = parseCall(pattern[2]!);
    // Destructuring a tuple is correct: the failed statement comes later.
    if (call !== undefined && RETURNS.get(call.name) === 'tuple') continue;
    return { line, call, expectsTuple: RESULT_AND_ERROR.test(pattern[1]!) };
  }
  return undefined;
}

const ASYNC_FUNCTION =
  /\basync\s{1,9}function\b[\s*]{0,9}([A-Za-z_$][\w$]{0,60})|(?:const|let|var)\s{1,9}([A-Za-z_$][\w$]{0,60})\s{0,9}=\s{0,9}async\b/g;

/**
 * The async function of the program whose promise the failed statement uses as if it were the result: it calls the function
 * without await, or uses a variable to which such a call was assigned.
 */
export function unawaitedFunction(program: FailedProgram): string | undefined {
  const { line, file } = program.error ?? {};
  if (typeof line !== 'number' || file !== undefined) return undefined;
  const statement = withoutComment(failedStatement(program));
  const names = [...program.source.matchAll(ASYNC_FUNCTION)]
    .slice(0, IDENTIFIERS_MAX)
    .map(([, declared, assigned]) => (declared ?? assigned)!);
  const lines = linesUpTo(program, line);
  return names.find((name) => {
    const call = `(?<!\\bawait\\s{1,9})(?<![\\w$.])${escaped(name)}\\(`;
    if (new RegExp(`(?:${call}[^)]*\\)\\s*[.[]|\\bof\\s+${call}|=\\s*${call})`).test(statement)) return true;
    const assignment = new RegExp(`(?:const|let|var)\\s+([A-Za-z_$][\\w$]{0,60})\\s*=\\s*${call}`);
    return lines.some((text) => {
      const variable = text.length <= LINE_MAX ? assignment.exec(text)?.[1] : undefined;
      if (variable === undefined) return false;
      return new RegExp(`(?<![\\w$.])${escaped(variable)}\\s*[.[]|\\bof\\s+${escaped(variable)}\\b`).test(
        statement,
      );
    });
  });
}
