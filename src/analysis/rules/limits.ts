/** Rules for runs that a limit or the machine ended. They go by the trap's reason and by nothing the program wrote. */
import { formatBytes, formatFuel, formatLiteral } from '../../quantities.ts';
import type { TrapReason } from '../../schema.ts';
import { budgetToTry, heavyImports, hottestPlace, likelyCauses } from '../fuel-report.ts';
import type { RunFacts } from '../input.ts';
import { placeOf } from '../quote.ts';
import { DOCS, docOf, type Rule, rule } from '../rule.ts';

const trapped = (facts: RunFacts, reason: TrapReason) =>
  facts.trap?.reason === reason ? facts.trap : undefined;

const ENDLESS = /\b(while\s+True|while\s*\(\s*(true|1)\s*\)|for\s*\(\s*;\s*;\s*\)|while\s+1\s*:)/;

/** The cause that goes with the specification's line, from what ran. */
function likelyCause(facts: RunFacts, catalogue: Parameters<typeof heavyImports>[1]): string {
  const heavy = heavyImports(facts, catalogue).filter(({ cached }) => !cached);
  const imported = heavy.reduce((sum, { fuel }) => sum + fuel, 0);
  if (heavy.length > 0 && imported * 5 >= facts.limits.fuel_budget) {
    const list = heavy.map(({ entry, fuel }) => `${entry.name} ${formatFuel(fuel)}`).join(', ');
    return `Heavy package imports (${list})`;
  }
  return likelyCauses(facts, catalogue)[0] ?? 'Complex data processing or large dataset detected';
}

export const limitRules: readonly Rule[] = [
  rule({
    type: 'OutOfFuel',
    seen: 'The trap `out_of_fuel`: the run used up `fuel_budget`.',
    docs: [DOCS.pythonFuel, DOCS.javascriptFuel],
    example: {
      source: 'total = 0\nwhile True:\n    total += 1',
      trap: { reason: 'out_of_fuel', message: 'Execution trapped: OutOfFuel' },
      error: { type: 'OutOfFuel', message: '', line: 3 },
      fuel_consumed: 10_000_000_000,
    },
    match: (facts) => trapped(facts, 'out_of_fuel'),
    advise: (trap, facts, catalogue) => {
      const place = hottestPlace(facts);
      const cause = likelyCause(facts, catalogue);
      const endless = ENDLESS.test(facts.source.slice(0, 32_768));
      return {
        message: trap.message,
        guidance: [
          `Code exceeded ${formatFuel(facts.limits.fuel_budget)} instruction budget`,
          `Likely cause: ${cause}`,
          'Solution 1: Simplify code or use lighter alternatives',
          'Solution 2: Create session with higher fuel budget',
          `Example: create_session(language='${facts.runtime}', fuel_budget=${formatLiteral(budgetToTry(facts, catalogue))})`,
          place && !cause.includes(place) ? `When the fuel ran out the program was at ${place}` : undefined,
          endless
            ? 'The program has a loop without an end of its own: if it never leaves it, no budget is enough'
            : undefined,
        ],
        docs: [docOf(facts, 'Fuel')],
      };
    },
  }),
  rule({
    type: 'Timeout',
    seen: 'The trap `timeout`: the run took longer than `timeout_seconds`.',
    docs: [DOCS.limits],
    example: {
      source: 'import time\ntime.sleep(60)',
      trap: { reason: 'timeout', message: 'Execution trapped: Timeout' },
      error: { type: 'Timeout', message: '', line: 2 },
      fuel_consumed: 1_000_000,
    },
    match: (facts) => trapped(facts, 'timeout'),
    advise: (trap, facts) => {
      const place = placeOf(facts);
      const waited = facts.fuel_consumed < facts.limits.fuel_budget / 100;
      return {
        message: trap.message,
        guidance: [
          `Code ran longer than the time limit of ${facts.limits.timeout_seconds} s`,
          place && `When the time was up the program was at ${place}`,
          waited
            ? 'It used little fuel, so it was mostly waiting: shorten or remove sleeps'
            : 'It was computing all the time: use a better algorithm or less data',
          `Or allow more time: timeout_seconds=${Math.min(86_400, Math.ceil(facts.limits.timeout_seconds * 2))}`,
        ],
      };
    },
  }),
  rule({
    type: 'Cancelled',
    seen: 'The trap `cancelled`: the caller ended the run.',
    docs: [DOCS.limits],
    example: {
      source: 'while True: pass',
      trap: { reason: 'cancelled', message: 'Execution trapped: Cancelled' },
    },
    match: (facts) => trapped(facts, 'cancelled'),
    advise: (trap, facts) => {
      const place = placeOf(facts);
      return {
        message: trap.message,
        guidance: [
          'The run was cancelled by the caller: this is not an error of the code',
          place && `When it was cancelled the program was at ${place}`,
        ],
      };
    },
  }),
  rule({
    type: 'MemoryExhausted',
    seen: 'The trap `memory_limit`, or the exception a language raises when memory is refused: the run needed more than `memory_bytes`.',
    docs: [DOCS.limits],
    example: {
      source: "text = 'x' * 10**9",
      error: { type: 'MemoryError', module: 'builtins', kind: 'MemoryError', message: '', line: 1 },
    },
    match: (facts) => trapped(facts, 'memory_limit') ?? outOfMemory(facts),
    advise: (trap, facts) => {
      const place = placeOf(facts);
      const limit = facts.limits.memory_bytes;
      return {
        message: trap.message,
        guidance: [
          `Code needed more memory than the limit of ${formatBytes(limit)}`,
          place && `Memory was refused at ${place}`,
          'Solution 1: Process the data in pieces: read line by line, use generators, drop what is no longer needed',
          `Solution 2: Create session with more memory: create_session(language='${facts.runtime}', memory_bytes=${formatLiteral(Math.min(limit * 2, 2 ** 32))})`,
        ],
      };
    },
  }),
  rule({
    type: 'RecursionLimit',
    seen: 'The trap `stack_overflow`, RecursionError in Python, or a stack overflow reported by QuickJS.',
    docs: [DOCS.limits],
    example: {
      source: 'def f(n):\n    return f(n + 1)\nf(0)',
      error: {
        type: 'RecursionError',
        module: 'builtins',
        kind: 'RecursionError',
        message: 'maximum recursion depth exceeded',
        line: 2,
      },
    },
    match: (facts) => trapped(facts, 'stack_overflow') ?? tooDeep(facts),
    advise: (trap, facts) => {
      const place = placeOf(facts);
      return {
        message: trap.message,
        guidance: [
          'Functions called each other too deeply',
          place && `The stack was full at ${place}`,
          'Check that the recursion has a base case that is always reached',
          'For deep structures use a loop with a list as the stack instead of recursion',
        ],
      };
    },
  }),
  rule({
    type: 'WASMUnreachable',
    seen: 'The trap `unreachable`: the interpreter itself gave up, for example in abort().',
    docs: [DOCS.limits],
    example: {
      source: 'import os\nos.abort()',
      trap: { reason: 'unreachable', message: 'Execution trapped: Unreachable (abort() was called)' },
    },
    match: (facts) => trapped(facts, 'unreachable'),
    advise: (trap, facts) => {
      const place = placeOf(facts);
      return {
        message: trap.message,
        guidance: [
          `The ${facts.runtime === 'python' ? 'Python' : 'JavaScript'} interpreter reached a state it cannot go on from: ${trap.message}`,
          place && `It was at ${place}`,
          'Typical causes: os.abort(), corrupting the interpreter through ctypes or hand-made bytecode',
          'The next call starts with a fresh interpreter; remove the construct and run again',
        ],
      };
    },
  }),
  rule({
    type: 'DeniedCall',
    seen: 'The trap `denied_call`: the program reached for a host function that the sandbox does not have.',
    docs: [DOCS.security],
    example: {
      source: 'import _ctypes',
      trap: {
        reason: 'denied_call',
        message: 'Execution trapped: DeniedCall (The guest called env.x, which the sandbox does not provide)',
      },
    },
    match: (facts) => trapped(facts, 'denied_call'),
    advise: (trap) => ({
      message: trap.message,
      guidance: [
        'The program used something that needs the host, and the sandbox gives no access to it',
        'There are no processes, devices, sockets or native libraries: use the standard library and files in /app',
      ],
    }),
  }),
  rule({
    type: 'WorkerLost',
    seen: 'The trap `worker_lost`: the thread that ran the code ended, and nothing is known about the run.',
    docs: [DOCS.limits],
    example: {
      source: 'print(1)',
      trap: { reason: 'worker_lost', message: 'Execution trapped: WorkerLost (the worker thread ended)' },
    },
    match: (facts) => trapped(facts, 'worker_lost'),
    advise: (trap) => ({
      message: trap.message,
      guidance: [
        'The thread that ran the code was lost; nothing the run did was kept',
        'Run the code again; if it happens again, reduce what it does at once',
      ],
    }),
  }),
];

/** Exceptions of the languages themselves; with a trap the trap is what counts. */
function outOfMemory(facts: RunFacts): { message: string | undefined } | undefined {
  const error = facts.trap === null ? (facts.error ?? facts.exit_cause) : undefined;
  if (error === undefined || error.raised === true) return undefined;
  const python = facts.runtime === 'python' && error.module === 'builtins' && error.type === 'MemoryError';
  const script =
    facts.runtime === 'javascript' && error.type === 'InternalError' && error.message === 'out of memory';
  return python || script ? { message: undefined } : undefined;
}

const JAVASCRIPT_OVERFLOWS = new Set(['stack overflow', 'Maximum call stack size exceeded']);

function tooDeep(facts: RunFacts): { message: string | undefined } | undefined {
  const error = facts.trap === null ? (facts.error ?? facts.exit_cause) : undefined;
  if (error === undefined || error.raised === true) return undefined;
  const python = facts.runtime === 'python' && error.module === 'builtins' && error.type === 'RecursionError';
  const script =
    facts.runtime === 'javascript' &&
    (error.type === 'RangeError' || error.type === 'InternalError') &&
    JAVASCRIPT_OVERFLOWS.has(error.message);
  return python || script ? { message: undefined } : undefined;
}
