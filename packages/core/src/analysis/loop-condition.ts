/** What the condition of a loop compares. */

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
