/** Rules for runs that a limit or a fault ended. They rely on the trap and on exceptions that the interpreter raised. */
import { formatBytes, formatFuel, formatLiteral } from '../../quantities.ts';
import type { GuestError, TrapReason } from '../../schema.ts';
import { budgetToTry, likelyCauses, stoppedLocation } from '../fuel-analysis.ts';
import { heavyImports } from '../heavy-imports.ts';
import type { AnalysisInput } from '../input.ts';
import { failedAt } from '../quote-guest-text.ts';
import { DOCS, type Rule, rule } from '../rule.ts';
import { suggestedBytes, suggestedSeconds } from '../suggested-limits.ts';

/** Characters of the source that are searched for an endless loop. */
const SOURCE_MAX = 32_768;

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

/** The cause for the `Likely cause:` line of the specification. */
function likelyCause(input: AnalysisInput): string {
  const heavy = heavyImports(input).filter(({ cached }) => !cached);
  const importFuel = heavy.reduce((sum, { fuel }) => sum + fuel, 0);
  if (heavy.length > 0 && importFuel * 5 >= input.limits.fuel_budget) {
    const list = heavy.map((one) => `${one.package.name} ${formatFuel(one.fuel)}`).join(', ');
    return `Heavy package imports (${list})`;
  }
  return likelyCauses(input)[0] ?? 'Complex data processing or large dataset detected';
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
      const isEndless = language.guidance.endlessLoop.test(input.source.slice(0, SOURCE_MAX));
      return {
        message: trap.message,
        guidance: [
          `Code exceeded ${formatFuel(input.limits.fuel_budget)} instruction budget`,
          `Likely cause: ${cause}`,
          'Solution 1: Simplify code or use lighter alternatives',
          'Solution 2: Create session with higher fuel budget',
          `Example: create_session(language='${language.name}', fuel_budget=${formatLiteral(budgetToTry(input))})`,
          location && !cause.includes(location) ? `The fuel ran out at ${location}` : undefined,
          isEndless
            ? 'The program contains an endless loop: unless it breaks out, no budget is enough'
            : undefined,
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
      const { timeout_seconds: seconds, fuel_budget } = input.limits;
      const isWaiting = input.fuelConsumed < fuel_budget / 100;
      return {
        message: trap.message,
        guidance: [
          `Code exceeded the time limit of ${seconds} s`,
          failedAt(input, 'The time limit was reached at'),
          isWaiting
            ? 'The program was mostly waiting: shorten or remove sleeps'
            : 'The program was computing: use a faster algorithm or less data',
          `Or raise the limit: timeout_seconds=${suggestedSeconds(seconds)}`,
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
      const { memory_bytes: limit } = input.limits;
      return {
        message,
        guidance: [
          `Code exceeded the memory limit of ${formatBytes(limit)}`,
          failedAt(input, 'Memory ran out at'),
          'Solution 1: Process the data in chunks: read line by line, use generators, delete objects that are no longer needed',
          `Solution 2: Create session with more memory: create_session(language='${input.language.name}', memory_bytes=${formatLiteral(suggestedBytes(limit))})`,
        ],
      };
    },
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
        'Processes, devices, sockets and native libraries are not available: use the standard library and files in /app',
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
        'The worker thread ended during the run; the changes of the run are lost',
        'Run the code again; if it fails again, split the work into smaller steps',
      ],
    }),
  }),
];
