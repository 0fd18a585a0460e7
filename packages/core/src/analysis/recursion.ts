/**
 * Recursion in the late samples of a run: a function that only recurses deeper, or one that calls itself several times and
 * repeats its work. The evidence is in the stacks, in the variables of their frames and in the source of the function.
 */
import { functionKey, isNested, MAX_STACK_DEPTH } from './function-identity.ts';
import type { AnalysisInput } from './input.ts';
import { INCOMPLETE } from './loop-progress.ts';
import type { SourceFunction, SourceLoop } from './program-facts.ts';
import { oneLine } from './quote-guest-text.ts';
import type { ProgramState, StackFrame, Variables } from './run-profile-schema.ts';

interface Recursion {
  readonly kind: 'deep_recursion' | 'exponential_recursion';
  readonly text: string;
  /** The function that calls itself. */
  readonly function: string;
}

/** Share of the late states in which a function must be recursive. */
const RECURSIVE_SHARE = 0.75;
/** Activations of a function on the stack from which it counts as recursive. */
const MIN_ACTIVATIONS = 3;
const DEEP = 100;

export function findRecursion(
  input: AnalysisInput,
  late: readonly ProgramState[],
  loops: readonly SourceLoop[],
): Recursion | undefined {
  const recursive = new Map<string, { frame: StackFrame; states: number }>();
  for (const { stack } of late) {
    const counts = new Map<string, number>();
    for (const frame of stack) {
      if (isNested(frame)) continue;
      const key = functionKey(frame);
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      if (count === MIN_ACTIVATIONS)
        recursive.set(key, { frame, states: (recursive.get(key)?.states ?? 0) + 1 });
    }
  }
  const found = [...recursive.values()].find(({ states }) => states >= late.length * RECURSIVE_SHARE);
  if (found === undefined) return undefined;
  const key = functionKey(found.frame);
  const name = oneLine(found.frame.function.replace(/^.*\./, ''), 60);
  const depths = late.map(({ depth }) => depth);
  const isGrowing = depths.every((depth, i) => i === 0 || depth >= depths[i - 1]!);
  const depth = depths.at(-1)!;
  const isAtMaximum = depth >= MAX_STACK_DEPTH;
  if (isGrowing && depth >= DEEP && (depth > depths[0]! || isAtMaximum)) {
    return {
      kind: 'deep_recursion',
      text: `Deep recursion: ${name} calls itself and is ${isAtMaximum ? 'at least ' : ''}${depth} calls deep`,
      function: name,
    };
  }
  const { line } = found.frame;
  const source = input.program?.functions.find(
    (one) => one.name === name && one.line <= line && line <= one.lastLine,
  );
  const calls = source && selfCalls(source, loops, key, late);
  if (calls === undefined || (calls.count < 2 && !calls.isRepeated)) return undefined;
  if (!repeatsWork(source!, key, late)) return undefined;
  const depthText = `up to ${Math.max(...depths)} calls deep`;
  const times = calls.count < 2 ? 'several' : calls.count;
  return {
    kind: 'exponential_recursion',
    text: `Exponential recursion: ${name} calls itself ${times} times per call (${calls.lines.length > 1 ? 'lines' : 'line'} ${calls.lines.join(', ')}), ${depthText}, and repeats calls with the same arguments`,
    function: name,
  };
}

interface SelfCalls {
  readonly count: number;
  readonly lines: readonly number[];
  /** A call is in a loop, a comprehension or a callback. */
  readonly isRepeated: boolean;
}

/** The lines on which the function calls itself in the samples, and the number of calls on them. */
function selfCalls(
  source: SourceFunction,
  loops: readonly SourceLoop[],
  key: string,
  late: readonly ProgramState[],
): SelfCalls {
  const lines = new Set<number>();
  let isRepeated = false;
  for (const { stack } of late) {
    let callee: string | undefined;
    let isInner = false;
    for (const frame of stack) {
      // A nested function is a part of the function that it was called by.
      if (isNested(frame)) {
        if (callee === key) lines.add(frame.line);
        isInner ||= callee === key;
        continue;
      }
      if (callee === key && functionKey(frame) === key) {
        if (isInner) isRepeated = true;
        else lines.add(frame.line);
      }
      callee = functionKey(frame);
      isInner = false;
    }
  }
  const count = source.selfCalls.filter((line) => lines.has(line)).length;
  for (const line of lines)
    isRepeated ||= loops.some(
      (loop) => loop.line > source.line && loop.line <= line && line <= loop.lastLine,
    );
  return { count, lines: [...lines].sort((a, b) => a - b).slice(0, 3), isRepeated };
}

/** Share of the samples in which a call of the function must repeat an earlier one. */
const REPEATED_SHARE = 0.1;
/** Innermost calls that are not evidence: small calls repeat in divide and conquer too. */
const SMALL_CALLS = 2;

/**
 * Whether calls of the function with the same arguments have callers with different arguments: the work is done again.
 * Frames that stay on the stack keep their callers. Values that are not completely known are not evidence, unless the
 * function passes the same object on in every call and does not change it.
 */
function repeatsWork(source: SourceFunction, key: string, late: readonly ProgramState[]): boolean {
  const stacks = late.map(({ stack, variables }) =>
    variables.filter((_, i) => stack[i] !== undefined && functionKey(stack[i]!) === key),
  );
  const texts = new Map<string, Set<string>>();
  for (const [variable, text] of stacks.flat().flatMap((one) => Object.entries(one)))
    texts.set(variable, (texts.get(variable) ?? new Set()).add(text));
  const isIncomplete = (variable: string) => [...texts.get(variable)!].some((text) => INCOMPLETE.test(text));
  const isHidden = (variable: string) =>
    variable === 'self' || variable === 'this' || !texts.has(variable) || isIncomplete(variable);
  // Calls of a function that works through effects can do different work with the same arguments.
  if (source.callsItselfForEffect || source.changed.some(isHidden)) return false;
  const isConstant = (variable: string) => texts.get(variable)!.size === 1 && isIncomplete(variable);
  const isArgument = (variable: string) =>
    (source.parameters === undefined || source.parameters.includes(variable)) &&
    variable !== 'self' &&
    !isConstant(variable);
  const argumentsOf = (variables: Variables) =>
    Object.fromEntries(Object.entries(variables).filter(([variable]) => isArgument(variable)));
  const callers = new Map<string, Variables[]>();
  let repeated = 0;
  for (const calls of stacks.map((stack) => stack.map(argumentsOf))) {
    let isRepeated = false;
    for (let i = SMALL_CALLS; i < calls.length - 1; i++) {
      const [call, caller] = [calls[i]!, calls[i + 1]!];
      if (!isKnown(call)) continue;
      const text = JSON.stringify(call);
      const known = callers.get(text) ?? [];
      if (known.some((other) => differ(other, caller))) isRepeated = true;
      callers.set(text, [...known, caller]);
    }
    if (isRepeated) repeated++;
  }
  return repeated >= Math.max(2, late.length * REPEATED_SHARE);
}

/** Whether a variable that both have differs. A variable that only one has was set between two calls. */
const differ = (a: Variables, b: Variables) =>
  Object.entries(a).some(
    ([name, value]) => name in b && b[name] !== value && !INCOMPLETE.test(value + b[name]),
  );

function isKnown(variables: Variables): boolean {
  const values = Object.values(variables);
  return values.length > 0 && !values.some((value) => INCOMPLETE.test(value));
}
