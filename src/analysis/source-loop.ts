/** A loop that a language has found in the source of a program, and what its condition compares. */

export interface SourceLoop {
  /** Line of the loop's head, starting at 1. */
  readonly line: number;
  readonly lastLine: number;
  /** The head on one line, e.g. `while n != 1:`. */
  readonly head: string;
  /** The part of the head that decides whether the loop continues; empty if there is none. */
  readonly condition: string;
  /** The variables and the collection of a loop over items; undefined for other loops. */
  readonly items?: { readonly names: string; readonly collection: string } | undefined;
  /** The variable and the exclusive bound of a loop over a range of numbers. */
  readonly range?: { readonly name: string; readonly bound: string } | undefined;
  /** The first value of the variable of a loop that counts upwards. */
  readonly start?: string | undefined;
  /** The condition is always true or the iterator never ends, and no statement in the loop leaves it. */
  readonly isInfinite: boolean;
  /** The loop is part of an expression, as in `sum(x for x in count())`. */
  readonly isExpression?: boolean;
  /**
   * The body only awaits what is ready, and nothing else in the program waits. The function of the loop is not always on
   * the stack.
   */
  readonly isAwaiting?: boolean;
}

export interface Comparison {
  readonly name: string;
  readonly operator: '<' | '<=' | '>' | '>=' | '!=' | '==';
  readonly bound: string;
}

const COMPARISON =
  /(?<![\w.$)\]])([\p{L}_$][\w$]*)\s*(<=|>=|<|>|!==?|===?)\s*(-?[\d_.]+(?:e\d+|\s*\*\*\s*\d+)?n?|[\p{L}_$][\w$.]*(?:\([\w$]*\))?)(?![\w$([.]|\s*[-+*/%])/u;

/** The comparison of a variable in a condition, if the condition has a simple one. */
export function comparisonIn(condition: string): Comparison | undefined {
  const found = COMPARISON.exec(condition);
  if (found === null) return undefined;
  const operator = found[2]!.slice(0, 2).replace('===', '==') as Comparison['operator'];
  return { name: found[1]!, operator, bound: found[3]! };
}

const WORDS = new Set(
  'while for not and or is in if else True False None true false null undefined len let const var of new typeof this self'.split(
    ' ',
  ),
);

/** Names in an expression that can be variables: no keywords, no functions that are called, no attributes. */
export function namesIn(expression: string): string[] {
  const found = expression.matchAll(/(?<![\w.$'"])[\p{L}_$][\w$]*(?!\s*\()/gu);
  return [...new Set([...found].map(([name]) => name))].filter((name) => !WORDS.has(name));
}
