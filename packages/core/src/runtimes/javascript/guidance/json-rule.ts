/** The rule for text that JSON.parse rejects. The report of the guest quotes the text near the error. */
import { DOCS, exceptionRule } from '../../../analysis/rule.ts';
import { invalidJsonLines } from '../../../analysis/rules/rule-factories.ts';
import type { GuestError } from '../../../schema.ts';
import { engineError } from './engine-error.ts';

/** What the first unexpected token says about the text. */
const JSON_TOKENS: readonly (readonly [RegExp, string])[] = [
  [/token:? '?</, "The text begins with '<': it is HTML or XML, not JSON"],
  [/token:? '?undefined/, 'The value is undefined: check what was read before parsing it'],
  [/^Expected ',' or '[\]}]'/, 'If the text ends there, it is truncated'],
];
/** Advice for values that are not text, by the text that they are converted to. */
const NOT_TEXT: readonly (readonly [string, string])[] = [
  ['[object Promise]', 'The value is a promise: await it before JSON.parse'],
  ['[object Response]', 'The value is a response: use await response.json()'],
  ['[object ', 'The value is already an object (its text is [object Object]): use it without JSON.parse'],
];
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
    const notText = NOT_TEXT.find(([text]) => error.near?.startsWith(text))?.[1];
    const shown = notText === undefined ? error : { ...error, near: undefined };
    const isEmpty = error.length === 0 || error.message.startsWith('Unexpected end of JSON input');
    return [
      ...invalidJsonLines(shown, isEmpty),
      notText ?? JSON_TOKENS.find(([pattern]) => pattern.test(error.message))?.[1],
      'JSON requires double quotes and allows no trailing commas or comments; use JSON.stringify to write it',
    ];
  },
});
