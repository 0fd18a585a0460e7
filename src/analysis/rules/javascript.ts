/**
 * Rules for what QuickJS throws. Its messages are short and name no value, so the statement on the line, and where the
 * variables on it come from, are part of the evidence.
 */
import type { GuestError } from '../../schema.ts';
import { absolute, capture, engineError, messageOf } from '../exception.ts';
import { definedEarlier, type RunFacts } from '../input.ts';
import { callBehind, failedIteration, RETURNS } from '../origin.ts';
import { cut, fenceLine, placeOf } from '../quote.ts';
import { DOCS, type Rule, rule } from '../rule.ts';
import { closest } from '../similar-names.ts';

const NOT_ITERABLE =
  /^value is not iterable$|^cannot read property 'Symbol\.iterator' of (?:null|undefined)$/;
const SOURCE_MAX = 50_000;

interface TupleMistake {
  /** The function whose result was taken apart the wrong way. */
  readonly name: string | undefined;
  readonly line: number | undefined;
}

function tupleMistake(facts: RunFacts): TupleMistake | undefined {
  const error = engineError(facts, 'TypeError');
  if (error === undefined) return undefined;
  if (NOT_ITERABLE.test(error.message)) {
    const culprit = failedIteration(facts);
    if (culprit === undefined || (culprit.call === undefined && !culprit.expectsPair)) return undefined;
    return { name: culprit.call?.name, line: culprit.line };
  }
  // The whole pair was taken for the result: whatever is then done with it fails sooner or later.
  const call = callBehind(facts);
  if (call?.variable === undefined || RETURNS[call.name] !== 'tuple') return undefined;
  return { name: call.name, line: undefined };
}

/** The facts with the line that failed, where the engine reports the one before. */
function onLine(facts: RunFacts, line: number | undefined): RunFacts {
  return line === undefined || facts.error === undefined
    ? facts
    : { ...facts, error: { ...facts.error, line } };
}

function returnLine(name: string | undefined): string | undefined {
  const kind = name === undefined ? undefined : RETURNS[name];
  if (kind === 'number')
    return `${name} returns a number, not a tuple; a negative one is an error: const result = ${name}(...)`;
  if (kind === 'nullable')
    return `${name} returns the value itself, or null when it fails, not a tuple: const value = ${name}(...)`;
  return undefined;
}

/** A file outside of /app that the value on the failing line should have come from. */
function restrictedFile(facts: RunFacts): string | undefined {
  const error = engineError(facts, 'TypeError');
  if (error === undefined || !/ of null$/.test(error.message)) return undefined;
  const call = callBehind(facts);
  if (call?.path === undefined || RETURNS[call.name] !== 'nullable') return undefined;
  const path = absolute(call.path);
  const open = ['/app', '/tmp', ...facts.mounts].some((root) => path === root || path.startsWith(`${root}/`));
  return open ? undefined : call.path;
}

const declared = (source: string) =>
  [
    ...source.slice(0, SOURCE_MAX).matchAll(/\b(?:const|let|var|function|class)\s+([A-Za-z_$][\w$]{0,60})/g),
  ].map(([, name]) => name!);

const withPlace = (facts: RunFacts, ...lines: (string | undefined)[]) => {
  const place = placeOf(facts);
  return { guidance: [...lines, place && `It failed on ${place}`] };
};

const thrown = (type: string, message: string, line = 1): GuestError => ({ type, message, line });

interface SimpleRow {
  readonly type: string;
  readonly seen: string;
  readonly example: { source: string; error: GuestError };
  readonly match: (facts: RunFacts) => GuestError | undefined;
  readonly lines: (error: GuestError, facts: RunFacts) => readonly (string | undefined)[];
}

const SIMPLE: readonly SimpleRow[] = [
  {
    type: 'UndefinedName',
    seen: 'ReferenceError: a name that was never declared, or is used before its declaration.',
    example: {
      source: 'const total = 3;\nconsole.log(totl);',
      error: thrown('ReferenceError', 'totl is not defined', 2),
    },
    match: (facts) => engineError(facts, 'ReferenceError'),
    lines: (error, facts) => {
      const name = cut(capture(error, /^'?([^\s']+)'? is not/) ?? '', 80);
      const near = closest(
        name,
        declared(facts.source).filter((other) => other !== name),
        1,
      )[0];
      const early = /is not initialized$/.test(error.message);
      const earlier = definedEarlier(facts, name);
      return [
        early
          ? `'${name}' is used before its let, const or class line has run`
          : `The name '${name}' is not defined`,
        near && !early ? `Did you mean '${cut(near, 80)}'?` : undefined,
        earlier && !facts.session.persistent
          ? `An earlier call defined '${name}', but variables do not survive here: use a session with auto_persist_globals=True, or define it again`
          : undefined,
      ];
    },
  },
  {
    type: 'UndefinedValue',
    seen: 'TypeError: a property of null or undefined was read, set or called.',
    example: {
      source: 'const user = {};\nconsole.log(user.address.city);',
      error: thrown('TypeError', "cannot read property 'city' of undefined", 2),
    },
    match: (facts) => {
      const error = engineError(facts, 'TypeError');
      return error !== undefined &&
        /^cannot (read|set) property .* of (null|undefined)$|^cannot convert (undefined|null) /i.test(
          error.message,
        )
        ? error
        : undefined;
    },
    lines: (error, facts) => {
      const call = callBehind(facts);
      const nullable = call !== undefined && RETURNS[call.name] === 'nullable';
      return [
        `A value is missing where an object was expected: ${cut(error.message)}`,
        nullable ? `${call.name} returns null when it fails: check the result before using it` : undefined,
        nullable ? filesLine(facts) : undefined,
        'Check the value first, or use optional chaining: value?.property',
      ];
    },
  },
  {
    type: 'NotAFunction',
    seen: 'TypeError: something that is not a function was called, or a class was called without new.',
    example: {
      source: "const text = 'a,b';\ntext.map(x => x);",
      error: thrown('TypeError', 'not a function', 2),
    },
    match: (facts) => {
      const error = engineError(facts, 'TypeError');
      return error !== undefined &&
        /(^|\s)not a function$|^not a constructor$|^class constructors must be invoked/.test(error.message)
        ? error
        : undefined;
    },
    lines: (error, facts) => [
      `Something was called that cannot be: ${cut(error.message)}`,
      fenceLine(facts),
      'Check the spelling of the method and the type of the value it is called on (strings and objects have no array methods)',
    ],
  },
  {
    type: 'ReadOnlyValue',
    seen: 'TypeError: a constant or a frozen object was changed.',
    example: { source: 'const n = 1;\nn = 2;', error: thrown('TypeError', "'n' is read-only", 2) },
    match: (facts) => {
      const error = engineError(facts, 'TypeError');
      return error !== undefined &&
        /is read-only$|^object is not extensible$|^no setter for property/.test(error.message)
        ? error
        : undefined;
    },
    lines: (error) => [
      `A constant or a frozen object cannot be changed: ${cut(error.message)}`,
      'Declare the variable with let, or change a copy',
    ],
  },
  {
    type: 'RegexError',
    seen: 'SyntaxError from the RegExp constructor.',
    example: {
      source: "new RegExp('(');",
      error: {
        ...thrown('SyntaxError', "expecting ')'"),
        thrower: 'RegExp',
      },
    },
    match: (facts) => {
      const error = engineError(facts, 'SyntaxError');
      return error !== undefined && error.thrower === 'RegExp' ? error : undefined;
    },
    lines: (error) => [
      `The regular expression is not valid: ${cut(error.message)}`,
      'Escape special characters with a backslash; in a string the backslash itself is doubled',
    ],
  },
  {
    type: 'UnsettledPromise',
    seen: 'The program waits for a promise that nothing will ever settle.',
    example: {
      source: 'await new Promise(() => {});',
      error: thrown('Error', 'the program waits for a promise that nothing will ever settle'),
    },
    match: (facts) => {
      const error = engineError(facts, 'Error');
      return error?.message === 'the program waits for a promise that nothing will ever settle'
        ? error
        : undefined;
    },
    lines: () => [
      'An await waits for a promise that nothing will ever settle',
      'Call resolve or reject on every path, and do not wait for events that cannot come (network, user)',
    ],
  },
  {
    type: 'InvalidValue',
    seen: 'RangeError, or a value too large for the engine: the type is right, the value is not.',
    example: { source: "new Date('x').toISOString();", error: thrown('RangeError', 'Date value is NaN') },
    match: (facts) => engineError(facts, 'RangeError', 'InternalError'),
    lines: (error) => [
      `A function refused a value: ${cut(error.message)}`,
      error.message === 'Date value is NaN'
        ? 'The date could not be read: check its text, and use the form 2026-01-31T12:00:00Z'
        : undefined,
    ],
  },
  {
    type: 'TypeMismatch',
    seen: 'TypeError: an operation does not exist for a value of this type.',
    example: { source: 'const [a, b] = 5;', error: thrown('TypeError', 'value is not iterable') },
    match: (facts) => engineError(facts, 'TypeError'),
    lines: (error) => [
      `The operation does not work with this type: ${cut(error.message)}`,
      NOT_ITERABLE.test(error.message)
        ? 'Only arrays, strings, Maps, Sets and generators can be spread, destructured or looped over with of'
        : undefined,
      /BigInt/.test(error.message)
        ? 'BigInt and number do not mix: convert with Number() or BigInt()'
        : undefined,
      /circular/.test(error.message) ? 'Remove the circular reference before JSON.stringify' : undefined,
    ],
  },
];

function filesLine(facts: RunFacts): string | undefined {
  const files = facts
    .files()
    .slice(0, 10)
    .map((name) => cut(name, 60));
  return files.length > 0 ? `/app has: ${files.join(', ')}` : '/app is empty';
}

const simpleRules = SIMPLE.map(({ lines, example, ...row }) =>
  rule({
    ...row,
    example: { runtime: 'javascript', ...example },
    docs: [],
    advise: (error, facts) => {
      const line = NOT_ITERABLE.test(error.message) ? failedIteration(facts)?.line : undefined;
      return withPlace(onLine(facts, line), ...lines(error, facts));
    },
  }),
);

export const javascriptRules: readonly Rule[] = [
  rule({
    type: 'PathRestriction',
    seen: 'A JavaScript value is null because the file it should have come from lies outside /app, /tmp and the mounts.',
    docs: [DOCS.security],
    example: {
      runtime: 'javascript',
      source: "const text = std.loadFile('/etc/passwd');\ntext.split('\\n');",
      error: thrown('TypeError', "cannot read property 'split' of null", 2),
    },
    match: restrictedFile,
    advise: (path, facts) => {
      const shown = cut(path);
      return {
        message: `${messageOf(facts.error!)} (${shown})`,
        ...withPlace(
          facts,
          `Security error: Cannot access '${shown}' - all file operations restricted to /app directory`,
          "Use absolute paths like '/app/data.txt' or relative paths 'data.txt' (auto-prefixed with /app)",
          'WASI capability isolation prevents access outside preopened directories',
        ),
      };
    },
  }),
  rule({
    type: 'QuickJSTupleDestructuring',
    seen: 'TypeError on a value that came from a function of `os` or `std` whose result was taken apart the wrong way.',
    docs: [DOCS.javascriptApi],
    example: {
      runtime: 'javascript',
      source: "const files = os.readdir('/app');\nfor (const [name] of files) console.log(name);",
      error: thrown('TypeError', 'value is not iterable', 2),
    },
    match: tupleMistake,
    advise: ({ name, line }, facts) => ({
      ...withPlace(
        onLine(facts, line),
        'QuickJS functions return [result, error] tuples - use destructuring',
        "Incorrect: const files = os.readdir('/app')",
        "Correct: const [files, err] = os.readdir('/app')",
        'Check for errors: if (err) { console.error(err); }',
        returnLine(name),
      ),
      examples: [
        "const [files, err] = os.readdir('/app');",
        "if (err) { console.error('Failed to read directory:', err); }",
        "else { console.log('Files:', files); }",
      ],
    }),
  }),
  ...simpleRules,
];
