/** The rule for text that JSON.parse rejects. The report of the guest quotes the text near the error. */
import { DOCS, exceptionRule } from '../../../analysis/rule.ts';
import { invalidJsonLines } from '../../../analysis/rules/rule-factories.ts';
import type { GuestError } from '../../../schema.ts';
import { jsonErrorAdvice, jsonValueAdvice } from './advice.ts';
import { engineError } from './engine-error.ts';

const isJsonError = ({ thrower, stack }: GuestError) =>
  thrower === 'parse' || /^\s*at <input>:/.test(stack ?? '');

export const jsonRule = exceptionRule({
  type: 'DataShape',
  evidence: 'SyntaxError from JSON.parse: the text is not JSON.',
  docs: [DOCS.files],
  match: (input) => {
    const error = engineError(input, 'SyntaxError');
    return error !== undefined && isJsonError(error) ? error : undefined;
  },
  lines: (error) => {
    const notText = jsonValueAdvice(error.near ?? '');
    const shown = notText === undefined ? error : { ...error, near: undefined };
    const isEmpty = error.length === 0 || error.message.startsWith('Unexpected end of JSON input');
    return [
      ...invalidJsonLines(shown, isEmpty),
      notText ?? jsonErrorAdvice(error.message),
      'JSON requires double quotes and allows no trailing commas or comments; use JSON.stringify to write it',
    ];
  },
});
