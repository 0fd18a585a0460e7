/** Rules for the exceptions of Python that mean a mistake in the program itself. */
import type { GuestError } from '../../schema.ts';
import { builtin, capture, fromModule, messageOf } from '../exception.ts';
import { definedEarlier, type RunFacts } from '../input.ts';
import { cut, fenceLine, placeOf } from '../quote.ts';
import { type Rule, rule } from '../rule.ts';

/** Standard modules that programs forget to import. */
const MODULES = new Set(
  'abc argparse array ast asyncio base64 bisect calendar collections contextlib copy csv dataclasses datetime decimal difflib enum fractions functools glob gzip hashlib heapq html inspect io itertools json logging math operator os pathlib pickle pprint random re shutil sqlite3 statistics string struct sys tempfile textwrap threading time traceback types typing unicodedata unittest urllib uuid warnings xml zipfile zlib'.split(
    ' ',
  ),
);

/** Text that only the other language would begin a line with. */
const LOOKS_LIKE_JAVASCRIPT =
  /^[ \t]*(const|let|var) [\w[{]|^[ \t]*function\b|^[ \t]*console\.log\(|=> ?\{|^[ \t]*\/\//m;

const ARGUMENTS =
  /(takes \d+ positional arguments? but|takes from \d+ to|missing \d+ required|got an unexpected keyword argument|got multiple values for|takes no arguments|takes exactly|expected (at least|at most|exactly)? ?\d+ arguments?)/;
const NONE = /'?NoneType'?/;
const BIG_INTEGER = /^Exceeds the limit \(\d+ digits\) for integer string conversion/;

/** A row for exceptions about which the class says nearly everything. */
interface SimpleRow {
  readonly type: string;
  readonly seen: string;
  readonly example: { source: string; error: GuestError };
  readonly match: (facts: RunFacts) => GuestError | undefined;
  readonly lines: (error: GuestError, facts: RunFacts) => readonly (string | undefined)[];
}

const python = (type: string, message: string, line = 1): GuestError => ({
  type,
  module: 'builtins',
  kind: type,
  message,
  line,
});

const SIMPLE: readonly SimpleRow[] = [
  {
    type: 'UndefinedName',
    seen: 'NameError: a name that was never assigned; says whether an earlier call of the session had it.',
    example: {
      source: 'total = 3\nprint(totl)',
      error: { ...python('NameError', "name 'totl' is not defined", 2), name: 'totl', suggestion: 'total' },
    },
    match: (facts) => builtin(facts, 'NameError', 'UnboundLocalError'),
    lines: (error, facts) => {
      const name = cut(error.name ?? capture(error, /^name '([^']+)'/) ?? '', 80);
      if (error.type === 'UnboundLocalError') {
        return [
          `A local variable is used before it gets a value: ${cut(error.message)}`,
          'A name that a function assigns is local to it: assign it first, pass it as an argument, or declare it global',
        ];
      }
      const earlier = definedEarlier(facts, name);
      return [
        `The name '${name}' is not defined`,
        error.suggestion && `Did you mean '${cut(error.suggestion, 80)}'?`,
        MODULES.has(name) ? `Add at start of code: import ${name}` : undefined,
        earlier && !facts.session.persistent
          ? `An earlier call defined '${name}', but variables do not survive here: use a session with auto_persist_globals=True, or define it again`
          : undefined,
        earlier && facts.session.persistent
          ? `An earlier call defined '${name}': it was deleted, or that call was rolled back`
          : undefined,
      ];
    },
  },
  {
    type: 'MissingAttribute',
    seen: 'AttributeError: the object has no such attribute or method.',
    example: {
      source: "'a b'.splt()",
      error: {
        ...python('AttributeError', "'str' object has no attribute 'splt'"),
        name: 'splt',
        container: 'str',
        suggestion: 'split',
      },
    },
    match: (facts) => builtin(facts, 'AttributeError') ?? fromModule(facts, 'dataclasses'),
    lines: (error) => [
      `${cut(error.message)}`,
      error.suggestion && `Did you mean '${cut(error.suggestion, 80)}'?`,
      error.container === 'NoneType'
        ? 'The value is None: a function returned nothing, or a search found nothing; check for None first'
        : undefined,
      error.module_name &&
        `print(dir(${cut(error.module_name, 60)})) shows what the module has in this version`,
    ],
  },
  {
    type: 'WrongArguments',
    seen: 'TypeError: a function was called with too many, too few or unknown arguments.',
    example: {
      source: 'def area(w, h): return w * h\narea(3)',
      error: python('TypeError', "area() missing 1 required positional argument: 'h'", 2),
    },
    match: (facts) => {
      const error = builtin(facts, 'TypeError');
      return error !== undefined && ARGUMENTS.test(error.message) ? error : undefined;
    },
    lines: (error) => [
      `The call does not fit the function: ${cut(error.message)}`,
      'Compare the call with the definition: number, order and names of the arguments',
    ],
  },
  {
    type: 'TypeMismatch',
    seen: 'TypeError: an operation does not exist for values of these types.',
    example: {
      source: "print('total: ' + 3)",
      error: python('TypeError', 'can only concatenate str (not "int") to str'),
    },
    match: (facts) => builtin(facts, 'TypeError'),
    lines: (error) => [
      `The operation does not work with these types: ${cut(error.message)}`,
      NONE.test(error.message)
        ? 'One value is None: a function returned nothing, or a search found nothing; check for None first'
        : 'Convert explicitly with str(), int(), float() or list(), or check the type first',
      /not JSON serializable/.test(error.message)
        ? 'Convert it before json.dumps, or pass default=str'
        : undefined,
    ],
  },
  {
    type: 'NumberTooLarge',
    seen: 'OverflowError, or an integer with too many digits to convert.',
    example: {
      source: 'import math\nmath.exp(1000)',
      error: python('OverflowError', 'math range error', 2),
    },
    match: (facts) => {
      const digits = builtin(facts, 'ValueError');
      return (
        builtin(facts, 'OverflowError') ??
        (digits !== undefined && BIG_INTEGER.test(digits.message) ? digits : undefined)
      );
    },
    lines: (error) => [
      `A number is too large for the operation: ${cut(error.message)}`,
      BIG_INTEGER.test(error.message)
        ? 'Allow it with sys.set_int_max_str_digits(0), or print a part or the length of the number'
        : 'Use integers, decimal.Decimal or logarithms instead of floats',
    ],
  },
  {
    type: 'DivisionByZero',
    seen: 'ZeroDivisionError, or a division by zero in decimal arithmetic.',
    example: { source: 'print(10 / len([]))', error: python('ZeroDivisionError', 'division by zero') },
    match: (facts) =>
      builtin(facts, 'ZeroDivisionError') ??
      (fromModule(facts, 'decimal')?.type === 'DivisionByZero' ? facts.error : undefined),
    lines: () => [
      'A number was divided by zero',
      'Check the divisor first; an average needs at least one value',
    ],
  },
  {
    type: 'AssertionFailed',
    seen: 'AssertionError: an assert statement of the program did not hold.',
    example: {
      source: 'assert 1 + 1 == 3, "math"',
      error: { ...python('AssertionError', 'math'), raised: true },
    },
    match: (facts) => {
      const { error } = facts;
      return facts.runtime === 'python' && error?.module === 'builtins' && error.type === 'AssertionError'
        ? error
        : undefined;
    },
    lines: (error) => [
      `An assertion of the program failed${error.message === '' ? '' : `: ${cut(error.message)}`}`,
      'Print both sides of the comparison; either the code or the expectation is wrong',
    ],
  },
  {
    type: 'RegexError',
    seen: 'An exception of the re module: the pattern is not valid.',
    example: {
      source: "import re\nre.compile('(a')",
      error: {
        type: 'PatternError',
        module: 're',
        kind: 'Exception',
        message: 'missing ), unterminated subpattern at position 0',
        line: 2,
      },
    },
    match: (facts) => fromModule(facts, 're', 're._constants', 'sre_constants'),
    lines: (error) => [
      `The regular expression is not valid: ${cut(error.message)}`,
      'Escape special characters with a backslash or re.escape(), and write patterns as raw strings: r"..."',
    ],
  },
  {
    type: 'MutationDuringIteration',
    seen: 'RuntimeError: a dict, set or deque changed while a loop went over it.',
    example: {
      source: 'd = {1: 2}\nfor k in d: d[k + 1] = 0',
      error: python('RuntimeError', 'dictionary changed size during iteration', 2),
    },
    match: (facts) => {
      const error = builtin(facts, 'RuntimeError');
      return error !== undefined &&
        /changed size during iteration|mutated during iteration|keys changed during iteration/.test(
          error.message,
        )
        ? error
        : undefined;
    },
    lines: (error) => [`${cut(error.message)}`, 'Go over a copy: for key in list(d)'],
  },
  {
    type: 'AsyncMisuse',
    seen: 'RuntimeError or an asyncio exception: event loops, coroutines or tasks used in a way that cannot work.',
    example: {
      source: 'import asyncio\nasync def f(): asyncio.run(g())\nawait f()',
      error: python('RuntimeError', 'asyncio.run() cannot be called from a running event loop', 2),
    },
    match: (facts) => {
      const error = builtin(facts, 'RuntimeError');
      const known = error !== undefined && /(event loop|await|coroutine|asyncio)/i.test(error.message);
      return known ? error : fromModule(facts, 'asyncio.exceptions', 'asyncio.queues');
    },
    lines: (error) => [
      `Asynchronous code is used the wrong way: ${messageOf(error)}`,
      'A program may use await at its top level, or asyncio.run(main()) once; inside async functions use await',
    ],
  },
  {
    type: 'InvalidValue',
    seen: 'ValueError and its relatives: the type is right, the value is not.',
    example: {
      source: "int('12a')",
      error: python('ValueError', "invalid literal for int() with base 10: '12a'"),
    },
    match: (facts) =>
      builtin(facts, 'ValueError', 'LookupError', 'ArithmeticError', 'FloatingPointError') ??
      fromModule(
        facts,
        'decimal',
        'statistics',
        'zoneinfo',
        'zoneinfo._common',
        'uuid',
        'ipaddress',
        'fractions',
        'locale',
        'getopt',
        'graphlib',
        'copy',
        'inspect',
        'string',
        'random',
      ),
    lines: (error) => [
      `A function refused a value: ${cut(error.message) || cut(error.type)}`,
      /^time data/.test(error.message)
        ? 'The format string must describe the text exactly: print(repr(text)) and compare'
        : undefined,
      /^invalid literal for int|^could not convert string to float/.test(error.message)
        ? 'Clean the text first: strip(), remove thousands separators and units, skip empty values'
        : undefined,
    ],
  },
];

export const syntaxRules: readonly Rule[] = [
  rule({
    type: 'SyntaxError',
    seen: 'The code could not be parsed (SyntaxError, IndentationError, TabError).',
    docs: [],
    example: {
      source: 'x = 1\ny = = 2',
      error: { ...python('SyntaxError', 'invalid syntax (main.py, line 2)', 2), column: 5 },
    },
    match: (facts) => {
      const { error } = facts;
      if (error === undefined || error.raised === true) return undefined;
      return facts.runtime === 'python'
        ? error.module === 'builtins' &&
          error.kind !== undefined &&
          ['SyntaxError', 'IndentationError', 'TabError'].includes(error.type)
          ? error
          : undefined
        : error.type === 'SyntaxError'
          ? error
          : undefined;
    },
    advise: (error, facts) => {
      const place = placeOf(facts);
      const other = facts.runtime === 'python' && LOOKS_LIKE_JAVASCRIPT.test(facts.source.slice(0, 20_000));
      const mistaken =
        facts.runtime === 'javascript' &&
        /^[ \t]*(def |import \w+$|from \w+ import|print\()/m.test(facts.source.slice(0, 20_000));
      return {
        guidance: [
          `The code could not be parsed: ${cut(error.message)}`,
          place && `See ${place}`,
          fenceLine(facts),
          other ? "The code looks like JavaScript: run it with language='javascript'" : undefined,
          mistaken ? "The code looks like Python: run it with language='python'" : undefined,
        ],
      };
    },
  }),
];

export const pythonRules: readonly Rule[] = SIMPLE.map(({ lines, ...row }) =>
  rule({
    ...row,
    docs: [],
    advise: (error, facts) => {
      const place = placeOf(facts);
      return { guidance: [...lines(error, facts), place && `It failed on ${place}`] };
    },
  }),
);
