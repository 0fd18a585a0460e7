/**
 * Rules for errors of QuickJS. Its messages are short and name no values, so the statement on the failed line and the
 * origin of its variables are part of the evidence.
 */

import type { AnalysisInput } from '../../../analysis/input.ts';
import { pathRegion } from '../../../analysis/path-region.ts';
import {
  errorText,
  failedAt,
  markdownFenceAdvice,
  messageMatch,
  oneLine,
} from '../../../analysis/quote-guest-text.ts';
import { DOCS, exceptionRule, type Rule, rule } from '../../../analysis/rule.ts';
import { pathRestrictionLines, workspaceListing } from '../../../analysis/rules/files.ts';
import {
  earlierDefinitionAdvice,
  invalidJsonLines,
  syntaxErrorRule,
} from '../../../analysis/rules/rule-factories.ts';
import { similarNames } from '../../../analysis/similar-names.ts';
import type { GuestError } from '../../../schema.ts';
import { engineError, NOT_ITERABLE } from './select-engine-error.ts';
import { failedIteration, originatingCall, RETURNS } from './value-origin.ts';

const SOURCE_MAX = 50_000;
const DECLARATION = /\b(?:const|let|var|function|class)\s+([A-Za-z_$][\w$]{0,60})/g;
const UNSETTLED = 'the program awaits a promise that can never settle';

/** The error, if its type and message match. */
function errorLike(input: AnalysisInput, type: string, message: RegExp): GuestError | undefined {
  const error = engineError(input, type);
  return error !== undefined && message.test(error.message) ? error : undefined;
}

const isJsonError = ({ thrower, stack }: GuestError) =>
  thrower === 'parse' || /^\s*at <input>:/.test(stack ?? '');

/** The result of a module function was destructured the wrong way. The function is undefined if unknown. */
function tupleMistake(input: AnalysisInput): { readonly name: string | undefined } | undefined {
  const error = engineError(input, 'TypeError');
  if (error === undefined) return undefined;
  if (NOT_ITERABLE.test(error.message)) {
    const failed = failedIteration(input);
    if (failed === undefined || (failed.call === undefined && !failed.expectsTuple)) return undefined;
    return { name: failed.call?.name };
  }
  // The program treats the tuple as the result: any later use of it can fail.
  const call = originatingCall(input);
  return call?.variable !== undefined && RETURNS[call.name] === 'tuple' ? { name: call.name } : undefined;
}

function returnTypeLine(name: string | undefined): string | undefined {
  const kind = name === undefined ? undefined : RETURNS[name];
  if (kind === 'number')
    return `${name} returns a number, not a tuple; a negative number is an error code: const result = ${name}(...)`;
  if (kind === 'nullable')
    return `${name} returns the value, or null on failure, not a tuple: const value = ${name}(...)`;
  return undefined;
}

/** The path outside /app from which the null value on the failed line was read. */
function restrictedPath(input: AnalysisInput): string | undefined {
  if (errorLike(input, 'TypeError', / of null$/) === undefined) return undefined;
  const call = originatingCall(input);
  if (call?.path === undefined || RETURNS[call.name] !== 'nullable') return undefined;
  return pathRegion(call.path, input) === 'outside' ? call.path : undefined;
}

const declaredNames = (source: string) =>
  [...source.slice(0, SOURCE_MAX).matchAll(DECLARATION)].map(([, name]) => name!);

export const errorRules: readonly Rule[] = [
  exceptionRule({
    type: 'DataShape',
    evidence: 'SyntaxError from JSON.parse: the text is not JSON.',
    docs: [DOCS.files],
    match: (input) => {
      const error = engineError(input, 'SyntaxError');
      return error !== undefined && isJsonError(error) ? error : undefined;
    },
    lines: (error) => [
      ...invalidJsonLines(
        error,
        error.length === 0 || error.message.startsWith('Unexpected end of JSON input'),
      ),
      'JSON requires double quotes and allows no trailing commas or comments; use JSON.stringify to write it',
    ],
  }),
  exceptionRule({
    type: 'EncodingError',
    evidence: 'URIError or InvalidCharacterError: text cannot be decoded or encoded.',
    docs: [DOCS.files],
    match: (input) => engineError(input, 'URIError', 'InvalidCharacterError'),
    lines: (error) => [`The text cannot be decoded or encoded: ${oneLine(error.message)}`],
  }),
  exceptionRule({
    type: 'RegexError',
    evidence: 'SyntaxError from the RegExp constructor.',
    match: (input) => {
      const error = engineError(input, 'SyntaxError');
      return error?.thrower === 'RegExp' ? error : undefined;
    },
    lines: (error) => [
      `The regular expression is invalid: ${oneLine(error.message)}`,
      'Escape special characters with a backslash; double the backslash in string literals',
    ],
  }),
  syntaxErrorRule({
    evidence: 'The code could not be parsed (SyntaxError).',
    match: (input) => engineError(input, 'SyntaxError'),
  }),
  rule({
    type: 'PathRestriction',
    evidence: 'A value is null because it was read from a path outside /app, /tmp and the mounts.',
    docs: [DOCS.security],
    match: restrictedPath,
    advise: (path, input) => {
      const shown = oneLine(path);
      return {
        message: `${errorText(input.error!)} (${shown})`,
        guidance: [...pathRestrictionLines(shown), failedAt(input)],
      };
    },
  }),
  rule({
    type: 'QuickJSTupleDestructuring',
    evidence: 'TypeError: the result of a function of `os` or `std` was destructured or used the wrong way.',
    docs: ['#quickjs-api-patterns'],
    match: tupleMistake,
    advise: ({ name }, input) => ({
      guidance: [
        'QuickJS functions return [result, error] tuples - use destructuring',
        "Incorrect: const files = os.readdir('/app')",
        "Correct: const [files, err] = os.readdir('/app')",
        'Check for errors: if (err) { console.error(err); }',
        returnTypeLine(name),
        failedAt(input),
      ],
      examples: [
        "const [files, err] = os.readdir('/app');",
        "if (err) { console.error('Failed to read directory:', err); }",
        "else { console.log('Files:', files); }",
      ],
    }),
  }),
  exceptionRule({
    type: 'UndefinedName',
    evidence: 'ReferenceError: a name is not declared, or is used before its declaration.',
    match: (input) => engineError(input, 'ReferenceError'),
    lines: (error, input) => {
      const name = oneLine(messageMatch(error, /^'?([^\s']+)'? is not/) ?? '', 80);
      if (/is not initialized$/.test(error.message))
        return [`'${name}' is used before its declaration with let, const or class`];
      const others = declaredNames(input.source).filter((other) => other !== name);
      const similar = similarNames(name, others, 1)[0];
      return [
        `The name '${name}' is not defined`,
        similar && `Did you mean '${oneLine(similar, 80)}'?`,
        earlierDefinitionAdvice(name, input),
      ];
    },
  }),
  exceptionRule({
    type: 'UndefinedValue',
    evidence: 'TypeError: a property of null or undefined is read, set or called.',
    match: (input) =>
      errorLike(
        input,
        'TypeError',
        /^cannot (read|set) property .* of (null|undefined)$|^cannot convert (undefined|null) /i,
      ),
    lines: (error, input) => {
      const call = originatingCall(input);
      const isNullable = call !== undefined && RETURNS[call.name] === 'nullable';
      return [
        `The value is null or undefined: ${oneLine(error.message)}`,
        isNullable ? `${call.name} returns null on failure: check the result before using it` : undefined,
        isNullable ? workspaceListing(input) : undefined,
        'Check the value first, or use optional chaining: value?.property',
      ];
    },
  }),
  exceptionRule({
    type: 'NotAFunction',
    evidence: 'TypeError: the called value is not a function, or a class is called without new.',
    match: (input) =>
      errorLike(
        input,
        'TypeError',
        /(^|\s)not a function$|^not a constructor$|^class constructors must be invoked/,
      ),
    lines: (error, input) => [
      `Invalid call: ${oneLine(error.message)}`,
      markdownFenceAdvice(input),
      'Check the spelling of the method and the type of the value (strings and objects have no array methods)',
    ],
  }),
  exceptionRule({
    type: 'ReadOnlyValue',
    evidence: 'TypeError: the program modifies a constant or a frozen object.',
    match: (input) =>
      errorLike(input, 'TypeError', /is read-only$|^object is not extensible$|^no setter for property/),
    lines: (error) => [
      `A constant or frozen object cannot be modified: ${oneLine(error.message)}`,
      'Declare the variable with let, or modify a copy',
    ],
  }),
  exceptionRule({
    type: 'UnsettledPromise',
    evidence: 'The program awaits a promise that can never settle.',
    match: (input) => {
      const error = engineError(input, 'Error');
      return error?.message === UNSETTLED ? error : undefined;
    },
    lines: () => [
      'The program awaits a promise that can never settle',
      'Call resolve or reject on every path, and do not wait for events that cannot occur (network, user input)',
    ],
  }),
  exceptionRule({
    type: 'InvalidValue',
    evidence: 'RangeError or InternalError: an argument has the right type but an invalid value.',
    match: (input) => engineError(input, 'RangeError', 'InternalError'),
    lines: (error) => [
      `A function rejected a value: ${oneLine(error.message)}`,
      error.message === 'Date value is NaN'
        ? 'The date is invalid: check its text, and use the form 2026-01-31T12:00:00Z'
        : undefined,
    ],
  }),
  exceptionRule({
    type: 'TypeMismatch',
    evidence: 'TypeError: an operation does not support the type of its operand.',
    match: (input) => engineError(input, 'TypeError'),
    lines: (error) => [
      `The operation does not support this type: ${oneLine(error.message)}`,
      NOT_ITERABLE.test(error.message)
        ? 'Only iterables (arrays, strings, Maps, Sets, generators) can be spread, destructured or used in for...of'
        : undefined,
      /BigInt/.test(error.message)
        ? 'BigInt and number cannot be mixed: convert with Number() or BigInt()'
        : undefined,
      /circular/.test(error.message) ? 'Remove the circular reference before JSON.stringify' : undefined,
    ],
  }),
];
