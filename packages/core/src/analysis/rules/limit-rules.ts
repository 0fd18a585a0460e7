/** Rules for runs that a limit or a fault ended. They rely on the trap and on exceptions that the interpreter raised. */
import { formatBytes, formatFuel, formatLiteral } from '../../quantities.ts';
import { DEFAULT_LIMITS } from '../../schema/default-limits.ts';
import type { GuestError, TrapReason } from '../../schema.ts';
import {
  budgetToTry,
  GUESSED_CAUSE,
  likelyCauses,
  needsTooMuchFuel,
  progressText,
  stoppedLocation,
} from '../fuel-analysis.ts';
import { heavyImports } from '../heavy-imports.ts';
import { type AnalysisInput, availablePackage } from '../input.ts';
import { backtrackingText, causeToFix, hottestFunction, stuckRegex } from '../limit-cause.ts';
import { failedAt, failedStatement, oneLine } from '../quote-guest-text.ts';
import type { AdviceLine, RaisableLimit } from '../reader.ts';
import { DOCS, type Rule, rule } from '../rule.ts';
import { suggestedBytes, suggestedSeconds } from '../suggested-limits.ts';

const trapped = ({ trap }: AnalysisInput, reason: TrapReason) => (trap?.reason === reason ? trap : undefined);

/** The exception of the interpreter that takes the place of a trap. */
function raisedInstead(
  { trap, error, exitCause }: AnalysisInput,
  isExpected: (error: GuestError) => boolean,
): { message: undefined } | undefined {
  const found = trap === null ? (error ?? exitCause) : undefined;
  if (found === undefined || found.raised === true) return undefined;
  return isExpected(found) ? { message: undefined } : undefined;
}

/** A line that names what the reader can do to raise a limit. */
const raise =
  (
    { language }: AnalysisInput,
    limit: RaisableLimit,
    value: number,
    line: (how: string | undefined) => string | undefined,
  ): AdviceLine =>
  (reader) =>
    line(reader.raise(limit, value, language.name));

/** A line of docs/specification.md for readers that have sessions. */
const fixed =
  (line: string): AdviceLine =>
  ({ hasSessions }) =>
    hasSessions ? line : undefined;

/** What to change in a program for which no budget is enough; undefined for other programs. */
function fixOf(input: AnalysisInput): readonly string[] | undefined {
  const cause = causeToFix(input);
  if (cause === undefined && backtrackingText(input) !== undefined)
    return [
      'Solution: Rewrite the pattern without nested quantifiers such as (a+)+ or (a|ab)*, or check the text with plain string operations',
      'More fuel or time does not help: the number of steps can double with each character',
    ];
  if (cause === undefined)
    return needsTooMuchFuel(input)
      ? ['Solution: Use a faster algorithm or less data', progressText(input)!]
      : undefined;
  const noBudget = 'More fuel or time does not help';
  if (cause.kind === 'probably_endless')
    return [
      `Solution: ${oneLine(cause.fix ?? 'Change the loop so that its condition becomes false, or leave it with break or return', 200)}`,
      `${noBudget}: the loop looks endless`,
    ];
  if (cause.kind === 'deep_recursion')
    return ['Solution: Make sure that the recursion reaches a base case, or use a loop', noBudget];
  const { memoization } = input.language.guidance;
  return [
    `Solution: Memoize ${cause.function} with ${memoization}, or compute its results in a loop`,
    `${noBudget}: the number of calls grows exponentially`,
  ];
}

/** Advice for a line that runs as often as several loops multiply. */
function nestedLoops({ program, stoppedAt }: AnalysisInput): string | undefined {
  const line = stoppedAt?.line;
  if (line === undefined) return undefined;
  const around = (program?.loops ?? []).filter((loop) => loop.line <= line && line <= loop.lastLine);
  return around.length < 2
    ? undefined
    : `Line ${line} is in ${around.length} nested loops, whose iterations multiply: leave the inner loops early, or replace the innermost one by a lookup in a set or map`;
}

/** What the samples show beyond the cause. */
function samplesText(input: AnalysisInput): (string | undefined)[] {
  const hot = hottestFunction(input);
  const regexLine = backtrackingText(input) === undefined ? stuckRegex(input) : undefined;
  return [
    hot && !hot.name.startsWith('<')
      ? `${Math.round(hot.share * 100)}% of the fuel was used in ${oneLine(hot.name, 80)}`
      : undefined,
    regexLine === undefined
      ? undefined
      : `The regular expression on line ${regexLine} probably backtracks: avoid nested quantifiers such as (a+)+`,
  ];
}

/** The cause for the `Likely cause:` line (docs/specification.md); undefined if nothing was found. */
function likelyCause(input: AnalysisInput): string | undefined {
  const toFix = causeToFix(input);
  if (toFix !== undefined) return toFix.text;
  const regex = backtrackingText(input);
  if (regex !== undefined) return regex;
  const heavy = heavyImports(input).filter(({ cached }) => !cached);
  const importFuel = heavy.reduce((sum, { fuel }) => sum + fuel, 0);
  if (heavy.length > 0 && importFuel * 5 >= input.capabilities.limits.fuel_budget) {
    const list = heavy.map((one) => `${one.package.name} ${formatFuel(one.fuel)}`).join(', ');
    return `Heavy package imports (${list})`;
  }
  return likelyCauses(input).find((cause) => cause !== GUESSED_CAUSE);
}

/** The modules that the program was importing when the limit was reached, with the measured cost; undefined if none. */
function importing(input: AnalysisInput): string | undefined {
  if (!input.isImportInterrupted) return undefined;
  const { guidance } = input.language;
  const modules = guidance.importedModules(failedStatement(input)).filter((module) => module !== '');
  if (modules.length === 0) return 'a module';
  return modules
    .map((module) => {
      const found = availablePackage(input, module);
      return found === undefined
        ? oneLine(module, 60)
        : `${found.name} (about ${formatFuel(found.fuel_first_import)} fuel)`;
    })
    .join(', ');
}

function recursiveFunction({ stoppedAt }: AnalysisInput): string | undefined {
  const name = stoppedAt?.function ?? '<';
  return name.startsWith('<') ? undefined : `The recursion is in ${oneLine(name, 80)}`;
}

function processAdvice(message: string, input: AnalysisInput): AdviceLine[] {
  if (message.includes('memory')) {
    const { memory_bytes: limit } = input.capabilities.limits;
    return [raise(input, 'memory_bytes', suggestedBytes(limit), (how) => how && `Allow more memory: ${how}`)];
  }
  if (message.includes('wait for each other') || message.includes('pipe'))
    return ['Write all input and close it before you read the output, or use a file instead of the pipe'];
  const { max_processes, max_process_depth } = DEFAULT_LIMITS;
  return [
    'Make sure that the recursion ends, or use shell functions and builtins, or one awk program, instead of a process for each step',
    `The policy sets the limits: max_processes (default ${max_processes}) and max_process_depth (default ${max_process_depth})`,
  ];
}

export const limitRules: readonly Rule[] = [
  rule({
    type: 'OutOfFuel',
    evidence: 'The trap `out_of_fuel`: the run used up `fuel_budget`.',
    docs: [DOCS.fuel],
    match: (input) => trapped(input, 'out_of_fuel'),
    advise: (trap, input) => {
      const { language } = input;
      const location = stoppedLocation(input);
      const cause = likelyCause(input);
      const budget = budgetToTry(input);
      return {
        message: trap.message,
        guidance: [
          `Code exceeded ${formatFuel(input.capabilities.limits.fuel_budget)} instruction budget`,
          cause && `Likely cause: ${cause}`,
          importing(input) === undefined
            ? undefined
            : `The program was importing ${importing(input)}: give the import more fuel, or do without it`,
          ...(fixOf(input) ?? [
            raise(input, 'fuel_budget', budget, (how) =>
              how === undefined
                ? 'Reduce the work of the program: a higher budget cannot be chosen here'
                : `To give this call more fuel, run it again with ${how}`,
            ),
            'Solution 1: Simplify code or use lighter alternatives',
            fixed('Solution 2: Create session with higher fuel budget'),
            fixed(
              `Example: create_session(language='${language.name}', fuel_budget=${formatLiteral(budget)})`,
            ),
            progressText(input),
            nestedLoops(input),
          ]),
          location && !cause?.includes(location) ? `The fuel ran out at ${location}` : undefined,
          ...samplesText(input),
        ],
      };
    },
  }),
  rule({
    type: 'Timeout',
    evidence: 'The trap `timeout`: the run took longer than `timeout_seconds`.',
    docs: [DOCS.limits],
    match: (input) => trapped(input, 'timeout'),
    advise: (trap, input) => {
      const { timeout_seconds: seconds, fuel_budget } = input.capabilities.limits;
      const isWaiting = input.fuelConsumed < fuel_budget / 100;
      const cause = causeToFix(input)?.text ?? backtrackingText(input);
      const timers = isWaiting ? input.language.guidance.endlessTimer?.(input.source) : undefined;
      const imported = importing(input);
      return {
        message: trap.message,
        guidance: [
          `Code exceeded the time limit of ${seconds} s`,
          failedAt(input, 'The time limit was reached at'),
          ...(cause === undefined
            ? [
                timers ??
                  (imported !== undefined
                    ? `The program was importing ${imported}: the import needs more time`
                    : isWaiting
                      ? 'The program was mostly waiting: shorten or remove sleeps'
                      : 'The program was computing: use a faster algorithm or less data'),
                timers
                  ? undefined
                  : raise(
                      input,
                      'timeout_seconds',
                      suggestedSeconds(seconds),
                      (how) => how && `${imported === undefined ? 'Or raise' : 'Raise'} the limit: ${how}`,
                    ),
              ]
            : [`Likely cause: ${cause}`, ...fixOf(input)!]),
          ...(isWaiting ? [] : samplesText(input)),
        ],
      };
    },
  }),
  rule({
    type: 'Cancelled',
    evidence: 'The trap `cancelled`: the caller ended the run.',
    docs: [DOCS.limits],
    match: (input) => trapped(input, 'cancelled'),
    advise: (trap, input) => ({
      message: trap.message,
      guidance: [
        'The caller cancelled the run; the code is not at fault',
        failedAt(input, 'It was cancelled at'),
      ],
    }),
  }),
  rule({
    type: 'MemoryExhausted',
    evidence:
      'The trap `memory_limit`, or the exception with which the language reports that memory ran out: the run needed more than `memory_bytes`.',
    docs: [DOCS.limits],
    match: (input) =>
      trapped(input, 'memory_limit') ?? raisedInstead(input, input.language.guidance.isOutOfMemory),
    advise: ({ message }, input) => {
      const { memory_bytes: limit } = input.capabilities.limits;
      return {
        message,
        guidance: [
          `Code exceeded the memory limit of ${formatBytes(limit)}`,
          failedAt(input, 'Memory ran out at'),
          'Process the data in chunks: read line by line, use generators, delete objects that are no longer needed',
          raise(input, 'memory_bytes', suggestedBytes(limit), (how) => how && `Or allow more memory: ${how}`),
        ],
      };
    },
  }),
  rule({
    type: 'ProcessLimit',
    evidence: 'The trap `process_limit`: a shell could not start a process or fill a pipe.',
    docs: [DOCS.limits],
    match: (input) => trapped(input, 'process_limit'),
    advise: ({ message }, input) => ({
      message,
      guidance: [
        'The call was ended, because a shell goes on after such a failure, with wrong results',
        failedAt(input, 'It happened at'),
        ...processAdvice(message, input),
      ],
    }),
  }),
  rule({
    type: 'RecursionLimit',
    evidence: 'The trap `stack_overflow`, or the exception with which the language reports a stack overflow.',
    docs: [DOCS.limits],
    match: (input) =>
      trapped(input, 'stack_overflow') ?? raisedInstead(input, input.language.guidance.isStackOverflow),
    advise: ({ message }, input) => ({
      message,
      guidance: [
        'The recursion is too deep: the call stack is full',
        failedAt(input, 'The stack overflowed at'),
        recursiveFunction(input),
        'Make sure that the recursion always reaches a base case',
        'For deeply nested data use a loop with an explicit stack instead of recursion',
      ],
    }),
  }),
  rule({
    type: 'WASMUnreachable',
    evidence: 'The trap `unreachable`: the interpreter aborted.',
    docs: [DOCS.limits],
    match: (input) => trapped(input, 'unreachable'),
    advise: (trap, input) => {
      const { title, guidance } = input.language;
      return {
        message: trap.message,
        guidance: [
          `The ${title} interpreter aborted`,
          failedAt(input, 'It aborted at'),
          guidance.abortCauses && `Typical causes: ${guidance.abortCauses}`,
          'The next call is not affected: remove the cause and run again',
        ],
      };
    },
  }),
  rule({
    type: 'DeniedCall',
    evidence: 'The trap `denied_call`: the program called a host function that the sandbox does not provide.',
    docs: [DOCS.security],
    match: (input) => trapped(input, 'denied_call'),
    advise: ({ message }) => ({
      message,
      guidance: [
        'The program called a host function that the sandbox does not provide',
        'Use the standard library of the language and files in /app instead',
      ],
    }),
  }),
  rule({
    type: 'WorkerLost',
    evidence: 'The trap `worker_lost`: the worker thread ended during the run.',
    docs: [DOCS.limits],
    match: (input) => trapped(input, 'worker_lost'),
    advise: ({ message }) => ({
      message,
      guidance: [
        'The worker thread ended during the run; the changes that the run made are lost',
        'Run the code again; if it fails again, split the work into smaller steps',
      ],
    }),
  }),
];
