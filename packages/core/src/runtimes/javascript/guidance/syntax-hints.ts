/**
 * Advice for source that is neither JavaScript nor TypeScript that can run, by the message of the error or by typical
 * syntax.
 */
import type { AnalysisInput } from '../../../analysis/input.ts';
import { failedStatement } from '../../../analysis/quote-guest-text.ts';
import type { GuestError } from '../../../schema.ts';

/** TypeScript that is more than types, by the message of the error. */
const UNSUPPORTED: readonly (readonly [RegExp, string])[] = [
  [
    /can have decorators, not parameters|^decorators of private members/,
    'Remove this decorator and do its work in the constructor of the class',
  ],
  [
    /^a namespace can export only declarations/,
    'Write export in front of the declaration in the namespace, or move the code to a file and import it',
  ],
];
const JSX = /(?:[=(?:]|=>|\breturn)\s{0,4}\(?\s{0,9}<(?:[A-Za-z][\w.]{0,40})?(?:\s+[\w-]+=|\s*\/?>)/;

/** Lines about a statement that could not be parsed. */
export function syntaxHints({ message }: GuestError, input: AnalysisInput): readonly (string | undefined)[] {
  const statement = failedStatement(input);
  return [
    UNSUPPORTED.find(([pattern]) => pattern.test(message))?.[1],
    JSX.test(statement)
      ? 'The code contains JSX: build the markup as text with template literals, without JSX'
      : undefined,
    /^unexpected token[^:]{0,40}: ''$|^unexpected end/.test(message)
      ? 'The code ends too early: a {, ( or [ before this line is not closed'
      : undefined,
    /\bawait\b/.test(statement)
      ? 'await is valid at the top level and in async functions only: declare the function with async'
      : undefined,
  ];
}
