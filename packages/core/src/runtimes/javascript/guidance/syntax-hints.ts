/**
 * Advice for source that is neither JavaScript nor TypeScript that can run, by the message of the error or by typical
 * syntax.
 */
import type { AnalysisInput } from '../../../analysis/input.ts';
import { failedStatement } from '../../../analysis/quote-guest-text.ts';
import type { GuestError } from '../../../schema.ts';
import { syntaxErrorAdvice } from './advice.ts';

const JSX = /(?:[=(?:]|=>|\breturn)\s{0,4}\(?\s{0,9}<(?:[A-Za-z][\w.]{0,40})?(?:\s+[\w-]+=|\s*\/?>)/;

/** Lines about a statement that could not be parsed. */
export function syntaxHints({ message }: GuestError, input: AnalysisInput): readonly (string | undefined)[] {
  const statement = failedStatement(input);
  return [
    JSX.test(statement)
      ? 'The code contains JSX: build the markup as text with template literals, without JSX'
      : undefined,
    syntaxErrorAdvice(message),
    /\bawait\b/.test(statement)
      ? 'await is valid at the top level and in async functions only: declare the function with async'
      : undefined,
  ];
}
