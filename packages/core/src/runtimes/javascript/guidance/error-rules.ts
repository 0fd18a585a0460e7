/**
 * Rules for errors of QuickJS. Its messages are short and name no values, so the statement on the failed line and the
 * origin of its variables are part of the evidence.
 */
import type { AnalysisInput } from '../../../analysis/input.ts';
import { pathRegion } from '../../../analysis/path-region.ts';
import {
  errorText,
  failedAt,
  failedStatement,
  markdownFenceAdvice,
  messageMatch,
  oneLine,
} from '../../../analysis/quote-guest-text.ts';
import { DOCS, exceptionRule, type Rule, rule } from '../../../analysis/rule.ts';
import {
  existingFileLine,
  restrictedPathLines,
  workspaceListing,
} from '../../../analysis/rules/file-rules.ts';
import {
  earlierDefinitionAdvice,
  groupedErrorLines,
  invalidJsonLines,
  syntaxErrorRule,
} from '../../../analysis/rules/rule-factories.ts';
import { similarNames } from '../../../schema/similar-names.ts';
import type { GuestError } from '../../../schema.ts';
import {
  jsonErrorAdvice,
  jsonValueAdvice,
  RETURNS,
  syntaxErrorAdvice,
  typeErrorAdvice,
  valueErrorAdvice,
} from './advice.ts';
import { CLASS_CALLED, engineError, NOT_ITERABLE } from './engine-error.ts';
import { notCallableLines, promiseListLine, undefinedValueLines } from './failed-expression-advice.ts';
import { failedIteration, originatingCall, unawaitedFunction } from './value-origin.ts';

const COMMAND_FAILED = 'Command failed: ';
const DECLARATION = /\b(?:const|let|var|function|class)\s+([A-Za-z_$][\w$]{0,60})/g;
const UNSETTLED = 'the program awaits a promise that can never settle';

/** The error, if it is a TypeError whose message matches. */
function typeErrorLike(input: AnalysisInput, message: RegExp): GuestError | undefined {
  const error = engineError(input, 'TypeError');
  return error !== undefined && message.test(error.message) ? error : undefined;
}

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
  return call?.variable !== undefined && RETURNS.get(call.name) === 'tuple' ? { name: call.name } : undefined;
}

function returnTypeLine(name: string | undefined): string | undefined {
  const kind = name === undefined ? undefined : RETURNS.get(name);
  if (kind === 'number')
    return `${name} returns a number, not a tuple; a negative number is an error code: const result = ${name}(...)`;
  if (kind === 'nullable')
    return `${name} returns the value, or null on failure, not a tuple: const value = ${name}(...)`;
  return undefined;
}

/** The path outside /app from which the null value on the failed line was read. */
function restrictedPath(input: AnalysisInput): string | undefined {
  if (typeErrorLike(input, / of null$/) === undefined) return undefined;
  const call = originatingCall(input);
  if (call?.path === undefined || RETURNS.get(call.name) !== 'nullable') return undefined;
  return pathRegion(call.path, input) === 'outside' ? call.path : undefined;
}

/** The call on standard input whose result is null on the failed line. */
function inputCall(input: AnalysisInput): string | undefined {
  if (typeErrorLike(input, / of null$/) === undefined) return undefined;
  const call = originatingCall(input);
  return call?.name.startsWith('std.in.') ? call.name : undefined;
}

const VALUE_ERROR = /(^|\s)not a function$|is not iterable$|^cannot read property .* of undefined$/;

/** The async function whose promise the failed statement uses as its result. */
const unawaitedCall = (input: AnalysisInput) => typeErrorLike(input, VALUE_ERROR) && unawaitedFunction(input);

const declaredNames = (source: string) => [...source.matchAll(DECLARATION)].map(([, name]) => name!);

/** Modules that programs use under their own names, and functions of `node:fs`. */
const MODULES: ReadonlySet<string> = new Set(
  'assert buffer events fs path querystring readline stream url util zlib'.split(' '),
);
const FS_FUNCTION =
  /^(?:append|copy|exists|lstat|mkdir|read|readdir|rename|rm|stat|unlink|write)\w{0,20}Sync$/;

/** Advice for a name that a program has to import. */
function importAdvice(name: string): string | undefined {
  if (MODULES.has(name)) return `'${name}' is a module: import ${name} from 'node:${name}'`;
  return FS_FUNCTION.test(name) ? `Import the function: import { ${name} } from 'node:fs'` : undefined;
}

/** The text that the program passed to RegExp, if it is the value of a variable. */
function patternLine(input: AnalysisInput): string | undefined {
  const [, name] = /\bRegExp\(\s*([A-Za-z_$][\w$]{0,60})\s*[,)]/.exec(failedStatement(input)) ?? [];
  const value = name === undefined ? undefined : input.stoppedAt?.variables[name];
  return value === undefined ? undefined : `${name} is ${oneLine(value, 80)}`;
}

const isJsonError = ({ thrower, stack }: GuestError) =>
  thrower === 'parse' || /^\s*at <input>:/.test(stack ?? '');

/** Text that JSON.parse rejects. The report of the guest quotes the text near the error. */
const jsonRule = exceptionRule({
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

export const errorRules: readonly Rule[] = [
  jsonRule,
  exceptionRule({
    type: 'GroupedErrors',
    evidence: 'AggregateError from Promise.any: all promises were rejected.',
    match: (input) => engineError(input, 'AggregateError'),
    lines: (error) => groupedErrorLines(error, 'All promises passed to Promise.any were rejected'),
  }),
  exceptionRule({
    type: 'EncodingError',
    evidence: 'URIError or InvalidCharacterError: text cannot be decoded or encoded.',
    docs: [DOCS.files],
    match: (input) => engineError(input, 'URIError', 'InvalidCharacterError'),
    lines: (error) => [
      `The text cannot be decoded or encoded: ${oneLine(error.message)}`,
      error.type === 'URIError'
        ? 'Each % must be followed by two hex digits that form valid UTF-8: encode text with encodeURIComponent first'
        : 'Base64 consists of A-Z, a-z, 0-9, + and /, and btoa accepts Latin-1 only: for other text use Buffer.from(text).toString("base64")',
    ],
  }),
  exceptionRule({
    type: 'RegexError',
    evidence: 'SyntaxError from the RegExp constructor.',
    match: (input) => {
      const error = engineError(input, 'SyntaxError');
      return error?.thrower === 'RegExp' ? error : undefined;
    },
    lines: (error, input) => [
      `The regular expression is invalid: ${oneLine(error.message)}`,
      patternLine(input),
      'Escape special characters with a backslash; double the backslash in string literals',
    ],
  }),
  syntaxErrorRule({
    evidence: 'The code could not be parsed (SyntaxError).',
    match: (input) => engineError(input, 'SyntaxError'),
    hints: syntaxHints,
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
        guidance: [...restrictedPathLines(path, input), failedAt(input)],
      };
    },
  }),
  rule({
    type: 'QuickJSTupleDestructuring',
    evidence: 'TypeError: the result of an `os` or `std` function was destructured or used in the wrong way.',
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
    type: 'InputExhausted',
    evidence: 'A value is null because standard input has ended.',
    docs: [DOCS.unsupported],
    match: (input) => (inputCall(input) === undefined ? undefined : input.error),
    lines: (_, input) => [
      `Standard input has ended, so ${inputCall(input)} returned null: programs run without interactive input`,
      'Put the values into the code, read them from a file in /app, or pass the stdin option',
    ],
  }),
  exceptionRule({
    type: 'AsyncMisuse',
    evidence: 'TypeError: the value is a promise, because a call to an async function is not awaited.',
    match: (input) => (unawaitedCall(input) === undefined ? undefined : input.error),
    lines: (error, input) => {
      const name = unawaitedCall(input);
      return [
        `The value is a promise: ${name} is an async function and the call to it is not awaited (${oneLine(error.message)})`,
        `Use await: const value = await ${name}(...); the enclosing function must be async`,
      ];
    },
  }),
  exceptionRule({
    type: 'UndefinedName',
    evidence: 'ReferenceError: a name is not declared, or is used before its declaration.',
    match: (input) => engineError(input, 'ReferenceError'),
    lines: (error, input) => {
      const name = oneLine(messageMatch(error, /^'?([^\s']+)'? is not/) ?? '', 80);
      if (name === 'this')
        return ['The constructor of a subclass uses this before super(): call super(...) first'];
      if (/is not initialized$/.test(error.message))
        return [`'${name}' is used before its declaration with let, const or class`];
      const others = declaredNames(input.source).filter((other) => other !== name);
      const similar = similarNames(name, others, 1)[0];
      return [
        `The name '${name}' is not defined`,
        similar && `Did you mean '${oneLine(similar, 80)}'?`,
        earlierDefinitionAdvice(name, input) ?? importAdvice(name),
      ];
    },
  }),
  exceptionRule({
    type: 'UndefinedValue',
    evidence: 'TypeError: a property of null or undefined is read, set or called.',
    match: (input) =>
      typeErrorLike(
        input,
        /^cannot (read|set) property .* of (null|undefined)$|^cannot convert (undefined|null) /i,
      ),
    lines: (error, input) => {
      const call = originatingCall(input);
      const isNullable = call !== undefined && RETURNS.get(call.name) === 'nullable';
      const path = isNullable && call.path !== undefined ? call.path : undefined;
      return [
        `The value is null or undefined: ${oneLine(error.message)}`,
        ...(isNullable ? [] : undefinedValueLines(error, input)),
        isNullable
          ? `${call.name}${path === undefined ? '' : `('${oneLine(path, 80)}')`} returns null on failure: check the result before using it`
          : undefined,
        isNullable ? ((path && existingFileLine(path, input)) ?? workspaceListing(input)) : undefined,
      ];
    },
  }),
  exceptionRule({
    type: 'NotAFunction',
    evidence: 'TypeError: the called value is not a function, or a class is called without new.',
    match: (input) =>
      typeErrorLike(input, /(^|\s)not a function$|^not a constructor$|^class constructors must be invoked/),
    lines: (error, input) => [
      `Invalid call: ${oneLine(error.message)}`,
      markdownFenceAdvice(input),
      ...(CLASS_CALLED.test(error.message)
        ? ['Create the object with new, as in new Name(...)']
        : [...notCallableLines(error, input)]),
    ],
  }),
  exceptionRule({
    type: 'ReadOnlyValue',
    evidence: 'TypeError: the program modifies a constant or a frozen object.',
    match: (input) =>
      typeErrorLike(input, /is read-only$|^object is not extensible$|^no setter for property/),
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
      valueErrorAdvice(error.message),
    ],
  }),
  exceptionRule({
    type: 'TypeMismatch',
    evidence: 'TypeError: an operation does not support the type of its operand.',
    match: (input) => engineError(input, 'TypeError', 'DataCloneError'),
    lines: (error, input) => [
      `The operation does not support this type: ${oneLine(error.message)}`,
      NOT_ITERABLE.test(error.message) ? promiseListLine(failedStatement(input)) : undefined,
      typeErrorAdvice(error.message),
    ],
  }),
  exceptionRule({
    type: 'AssertionFailed',
    evidence: 'AssertionError: an assertion from node:assert failed in the program.',
    match: ({ error }) => (error?.type === 'AssertionError' ? error : undefined),
    lines: (error) => [
      `An assertion failed${error.message === '' ? '' : `: ${oneLine(error.message, 300)}`}`,
      'Print both sides of the comparison: either the code or the expectation is wrong',
    ],
  }),
  exceptionRule({
    type: 'CommandFailed',
    evidence: 'An Error of child_process: a command ended with another exit code than 0.',
    match: (input) => {
      const error = engineError(input, 'Error');
      return error?.message.startsWith(COMMAND_FAILED) === true ? error : undefined;
    },
    lines: ({ message }) => [
      `A command failed: ${oneLine(message.slice(COMMAND_FAILED.length))}`,
      'status of the error has the exit code (127: there is no such command), and stderr what the command wrote; grep without a match returns 1',
      'Catch the error if the program can continue, or use spawnSync, which does not throw',
    ],
  }),
  exceptionRule({
    type: 'InvalidValue',
    evidence: 'An Error from a Node.js function: an argument was rejected or caused the failure.',
    match: (input) => engineError(input, 'Error'),
    lines: (error) => [
      `A function rejected a value: ${oneLine(error.message)}`,
      valueErrorAdvice(error.message),
    ],
  }),
];

const JSX = /(?:[=(?:]|=>|\breturn)\s{0,4}\(?\s{0,9}<(?:[A-Za-z][\w.]{0,40})?(?:\s+[\w-]+=|\s*\/?>)/;

/** Lines about a statement that could not be parsed. */
function syntaxHints({ message }: GuestError, input: AnalysisInput): readonly (string | undefined)[] {
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
