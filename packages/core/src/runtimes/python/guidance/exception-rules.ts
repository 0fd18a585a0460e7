/** Rules for exceptions that mean a mistake in the program itself. */
import type { AnalysisInput } from '../../../analysis/input.ts';
import { errorText, failedStatement, messageMatch, oneLine } from '../../../analysis/quote-guest-text.ts';
import { exceptionRule, type Rule } from '../../../analysis/rule.ts';
import {
  earlierDefinitionAdvice,
  groupedErrorLines,
  syntaxErrorRule,
} from '../../../analysis/rules/rule-factories.ts';
import type { GuestError } from '../../../schema.ts';
import { valueErrorAdvice } from './advice.ts';
import { installationAdvice } from './import-rules.ts';
import { builtinException, moduleException } from './match-exception.ts';
import { INSTALLERS, shellCommands } from './shell-commands.ts';
import {
  awaitLine,
  enumValuesLine,
  missingSelf,
  noneLine,
  otherName,
  ownAttribute,
  typeAdvice,
} from './value-advice.ts';

/** Standard modules that programs often use without importing them. */
const MODULES = new Set(
  'abc argparse array ast asyncio base64 bisect calendar collections contextlib copy csv dataclasses datetime decimal difflib enum fractions functools glob gzip hashlib heapq html inspect io itertools json logging math operator os pathlib pickle pprint random re shutil sqlite3 statistics string struct sys tempfile textwrap threading time traceback types typing unicodedata unittest urllib uuid warnings xml zipfile zlib'.split(
    ' ',
  ),
);
const SYNTAX_ERRORS = ['SyntaxError', 'IndentationError', 'TabError'];
const ARGUMENTS =
  /(takes \d+ positional arguments? but|takes from \d+ to|missing \d+ required|got an unexpected keyword argument|got multiple values for|takes no arguments|takes exactly|expected (at least|at most|exactly)? ?\d+ arguments?)/;
const NONE = /'?NoneType'?/;
const COMPARED = /^'[<>]=?' not supported/;
/** Modules whose exceptions mean an invalid argument. */
const VALUE_ERROR_MODULES =
  'decimal statistics zoneinfo zoneinfo._common uuid ipaddress fractions locale getopt graphlib copy inspect string random'.split(
    ' ',
  );
const TYPING_NAMES = new Set(
  'Any Callable Dict Iterable Iterator List Literal NamedTuple Optional Set Tuple TypedDict Union'.split(' '),
);
const BIG_INTEGER = /^Exceeds the limit \(\d+ digits\) for integer string conversion/;

/** A line of a notebook that does not run: `%conda install x`, `%%js`; or an installer as in a shell. */
const NOTEBOOK_LINE = /^(?:!|%%?)\s{0,9}(\w[^\n]{0,300})/;
const INSTALLER_LINE = /^(?:pip3?|conda|npm|apt(?:-get)?)\s{1,9}install\s[^\n]{0,300}/;

/** Advice for a line that is a notebook or shell command. */
function commandLines(input: AnalysisInput): string[] {
  const statement = failedStatement(input).trim();
  const text = NOTEBOOK_LINE.exec(statement)?.[1] ?? INSTALLER_LINE.exec(statement)?.[0];
  const command = text === undefined ? undefined : shellCommands(text)[0];
  if (command === undefined) return [];
  const { name, words } = command;
  if (INSTALLERS.has(name))
    return [
      `Remove the line: ${input.capabilities.addsPackages ? 'the import of a known package adds it' : 'programs cannot install packages'}`,
      ...installationAdvice(words, input).map((line) => `Instead: ${line}`),
    ];
  return ['Remove the line: it is a notebook command, not Python'];
}

function failedProcess(input: AnalysisInput): GuestError | undefined {
  const error = moduleException(input, 'subprocess');
  return error?.type === 'CalledProcessError' ? error : undefined;
}

export const exceptionRules: readonly Rule[] = [
  exceptionRule({
    type: 'CommandFailed',
    evidence:
      'subprocess raised CalledProcessError: with check=True, a command ended with another exit code than 0.',
    match: failedProcess,
    lines: (error) => [
      `A command failed: ${oneLine(error.message)}`,
      / exit status 12[67]\.$/.test(error.message)
        ? 'There is no such command or it is not a program: ls /usr/bin lists the commands'
        : undefined,
      'Its messages say why. If the program captures them, catch the exception and print error.stderr',
      'Without check=True, returncode has the exit code; grep without a match returns 1',
    ],
  }),
  exceptionRule({
    type: 'CommandNotFound',
    evidence: 'UsageError: a magic command of IPython does not exist here, or not with these arguments.',
    match: (input) => builtinException(input, 'UsageError'),
    lines: (error, input) => [
      oneLine(error.message),
      ...(error.message.endsWith(' not found.')
        ? [...commandLines(input), '%lsmagic lists the commands that exist']
        : ['Correct what follows the command, or do the same in Python']),
    ],
  }),
  syntaxErrorRule({
    evidence: 'The code could not be parsed (SyntaxError, IndentationError, TabError).',
    match: (input) => {
      const error = builtinException(input, ...SYNTAX_ERRORS);
      return error?.kind === undefined ? undefined : error;
    },
    hints: (error, input) => [
      ...commandLines(input),
      /\b[rb]?f[rb]?["']/i.test(failedStatement(input))
        ? 'Check the f-string: every { needs a matching }, with an expression between them (a format such as :.2f may follow it)'
        : undefined,
      error.type === 'SyntaxError' || error.type === undefined
        ? undefined
        : 'Indent the lines of a block by the same number of spaces, and do not mix tabs and spaces',
    ],
  }),
  exceptionRule({
    type: 'UndefinedName',
    evidence: 'NameError: a name is not defined. The guidance says whether an earlier call defined it.',
    match: (input) => builtinException(input, 'NameError', 'UnboundLocalError'),
    lines: (error, input) => {
      const name = oneLine(error.name ?? messageMatch(error, /^name '([^']+)'/) ?? '', 80);
      if (error.type === 'UnboundLocalError') {
        return [
          `A local variable is used before it is assigned: ${oneLine(error.message)}`,
          'A name assigned in a function is local to it: assign it first, pass it as an argument, or declare it global',
        ];
      }
      return [
        `The name '${name}' is not defined`,
        error.suggestion && `Did you mean '${oneLine(error.suggestion, 80)}'?`,
        MODULES.has(name) ? `Add at start of code: import ${name}` : undefined,
        TYPING_NAMES.has(name) ? `Add at start of code: from typing import ${name}` : undefined,
        earlierDefinitionAdvice(name, input),
      ];
    },
  }),
  exceptionRule({
    type: 'MissingAttribute',
    evidence: 'AttributeError: an object has no such attribute or method.',
    match: (input) => builtinException(input, 'AttributeError') ?? moduleException(input, 'dataclasses'),
    lines: (error, input) => [
      oneLine(error.message),
      error.type === 'FrozenInstanceError'
        ? 'The dataclass is frozen: create a changed copy with dataclasses.replace(value, field=...), or remove frozen=True'
        : undefined,
      error.suggestion && `Did you mean '${oneLine(error.suggestion, 80)}'?`,
      error.container === 'NoneType' ? noneLine(input) : undefined,
      error.container === 'coroutine' ? awaitLine(input) : undefined,
      /^can't set attribute|has no setter$|object attribute '\w+' is read-only$/.test(error.message)
        ? 'The attribute cannot be set: create a changed copy (value._replace(name=...) of a named tuple), or define a setter for the property'
        : undefined,
      otherName(error),
      ownAttribute(error, input),
      error.module_name && `print(dir(${oneLine(error.module_name, 60)})) lists the attributes of the module`,
    ],
  }),
  exceptionRule({
    type: 'WrongArguments',
    evidence: 'TypeError: a function was called with too many, too few or unknown arguments.',
    match: (input) => {
      const error = builtinException(input, 'TypeError');
      return error !== undefined && ARGUMENTS.test(error.message) ? error : undefined;
    },
    lines: (error, input) => [
      `The arguments do not match the function: ${oneLine(error.message)}`,
      missingSelf(error, input) ??
        'Compare the call with the definition: number, order and names of the arguments',
    ],
  }),
  exceptionRule({
    type: 'WrongArguments',
    evidence: 'argparse ended the program because an argument is missing or unknown.',
    match: (input) => moduleException(input, 'argparse'),
    lines: (error) => [
      `argparse rejected the command line: ${oneLine(error.message)}`,
      "Pass the arguments with the args option of the call, or in the code: parser.parse_args(['--name', 'value']); or give the argument a default",
    ],
  }),
  exceptionRule({
    type: 'TypeMismatch',
    evidence: 'A PicklingError: the object cannot be pickled.',
    match: (input) => {
      const error = moduleException(input, 'pickle', '_pickle');
      return error?.type === 'PicklingError' ? error : undefined;
    },
    lines: (error) => [
      `The object cannot be pickled: ${oneLine(error.message)}`,
      'Functions and classes are pickled by name: define them with def or class at the top level, not as a lambda or inside a function',
    ],
  }),
  exceptionRule({
    type: 'TypeMismatch',
    evidence: 'TypeError: an operation does not support the types of its operands.',
    match: (input) => builtinException(input, 'TypeError'),
    lines: (error, input) => [
      `The operation does not support these types: ${oneLine(error.message)}`,
      NONE.test(error.message) && !COMPARED.test(error.message) ? noneLine(input) : typeAdvice(error, input),
    ],
  }),
  exceptionRule({
    type: 'NumberTooLarge',
    evidence: 'OverflowError, or an integer with too many digits to convert.',
    match: (input) => {
      const digits = builtinException(input, 'ValueError');
      return (
        builtinException(input, 'OverflowError') ??
        (digits !== undefined && BIG_INTEGER.test(digits.message) ? digits : undefined)
      );
    },
    lines: (error) => [
      `A number is too large for the operation: ${oneLine(error.message)}`,
      BIG_INTEGER.test(error.message)
        ? 'Remove the limit with sys.set_int_max_str_digits(0), or print only part of the number'
        : 'Use integers, decimal.Decimal or logarithms instead of floats',
    ],
  }),
  exceptionRule({
    type: 'DivisionByZero',
    evidence: 'ZeroDivisionError, or a division by zero in decimal arithmetic.',
    match: (input) =>
      builtinException(input, 'ZeroDivisionError') ??
      (moduleException(input, 'decimal')?.type === 'DivisionByZero' ? input.error : undefined),
    lines: () => [
      'A number was divided by zero',
      'Check the divisor first; an average needs at least one value',
    ],
  }),
  exceptionRule({
    type: 'AssertionFailed',
    evidence: 'AssertionError: an assert statement in the program failed.',
    // An assert statement raises its exception in the program, so `raised` is set.
    match: ({ error }) =>
      error?.module === 'builtins' && error.type === 'AssertionError' ? error : undefined,
    lines: (error) => [
      `An assertion failed${error.message === '' ? '' : `: ${oneLine(error.message)}`}`,
      'Print both sides of the comparison: either the code or the expectation is wrong',
    ],
  }),
  exceptionRule({
    type: 'RegexError',
    evidence: 'An exception from the re module: a pattern is invalid.',
    match: (input) => moduleException(input, 're', 're._constants', 'sre_constants'),
    lines: (error) => [
      `The regular expression is invalid: ${oneLine(error.message)}`,
      'Escape special characters with a backslash or re.escape(), and write patterns as raw strings: r"..."',
    ],
  }),
  exceptionRule({
    type: 'MutationDuringIteration',
    evidence: 'RuntimeError: a dict, set or deque was modified during iteration.',
    match: (input) => {
      const error = builtinException(input, 'RuntimeError');
      return error !== undefined &&
        /changed size during iteration|mutated during iteration|keys changed during iteration/.test(
          error.message,
        )
        ? error
        : undefined;
    },
    lines: (error) => [oneLine(error.message), 'Iterate over a copy: for key in list(d)'],
  }),
  exceptionRule({
    type: 'AsyncMisuse',
    evidence: 'RuntimeError or an asyncio exception: invalid use of event loops, coroutines or tasks.',
    match: (input) => {
      const error = builtinException(input, 'RuntimeError');
      const known = error !== undefined && /(event loop|await|coroutine|asyncio)/i.test(error.message);
      return known ? error : moduleException(input, 'asyncio.exceptions', 'asyncio.queues');
    },
    lines: (error) =>
      error.message.startsWith('the event loop would wait forever')
        ? [
            `Every task is waiting for something that cannot happen: ${oneLine(error.message)}`,
            'Set the event or the result; or put a final item such as None into the queue, and leave the loop when that item arrives; or cancel the waiting tasks: task.cancel()',
          ]
        : [
            `Invalid use of asynchronous code: ${errorText(error)}`,
            'Use await at the top level, or call asyncio.run(main()) once; inside async functions use await',
          ],
  }),
  exceptionRule({
    type: 'GroupedErrors',
    evidence: 'ExceptionGroup: tasks of an asyncio.TaskGroup failed.',
    match: (input) => builtinException(input, 'ExceptionGroup', 'BaseExceptionGroup'),
    lines: (error) => groupedErrorLines(error, 'Tasks failed'),
  }),
  exceptionRule({
    type: 'AwaitTimeout',
    evidence: 'TimeoutError from asyncio: an awaited operation took longer than the timeout in the program.',
    match: (input) => {
      const error = builtinException(input, 'TimeoutError');
      return error !== undefined && (error.errno ?? undefined) === undefined ? error : undefined;
    },
    lines: () => [
      'asyncio.wait_for or asyncio.timeout ended the wait: the operation took longer than the timeout in the program',
      'Pass a larger timeout, shorten the operation, or catch TimeoutError',
    ],
  }),
  exceptionRule({
    type: 'InvalidValue',
    evidence: 'ValueError and similar exceptions: an argument has the right type but an invalid value.',
    match: (input) =>
      builtinException(input, 'ValueError', 'LookupError', 'ArithmeticError', 'FloatingPointError') ??
      moduleException(input, ...VALUE_ERROR_MODULES),
    lines: (error, input) => [
      `A function rejected a value: ${oneLine(error.message) || oneLine(error.type)}`,
      enumValuesLine(error, input),
      valueErrorAdvice(error.message),
    ],
  }),
];
