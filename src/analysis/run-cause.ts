/**
 * Why a run reached a limit, as far as its samples show it. A cause is reported only with evidence from the run: the lines
 * and variables of the late samples, the depth of the stack, the size of its data.
 */
import { formatBytes, formatCount, formatPercent } from '../quantities.ts';
import { HELPED_BY_HIGHER_LIMITS, type RUN_CAUSES } from '../schema.ts';
import type { AnalysisInput } from './input.ts';
import { examineLoop, INCOMPLETE, type LoopProgress, type LoopSample, sizeOf } from './loop-progress.ts';
import type { SourceLoop } from './loops.ts';
import { oneLine, sourceLine } from './quote-guest-text.ts';
import type { ProgramState, RunProfile, StackFrame, Variables } from './run-profile.ts';
import { MAX_STATE_DEPTH } from './state-depth.ts';

interface RunCause {
  readonly kind: (typeof RUN_CAUSES)[number];
  /** One line with the evidence. */
  readonly text: string;
  /** The function that calls itself; only for recursion. */
  readonly function?: string;
}

interface RunFindings {
  readonly cause: RunCause | undefined;
  /** The progress of a loop of the program; undefined if there is a cause for which more fuel does not help. */
  readonly progress: LoopProgress | undefined;
}

const NONE: RunFindings = { cause: undefined, progress: undefined };
/** States that are needed to infer a cause from repetition. */
const MIN_STATES = 6;
/** Share of the late states in which a function must be recursive. */
const RECURSIVE_SHARE = 0.75;
/** Activations of a function on the stack from which it counts as recursive. */
const MIN_ACTIVATIONS = 3;
const DEEP = 100;
const IMPORT_SHARE = 0.5;
const HOT_SHARE = 0.5;
const LARGE_ITEMS = 100_000;
const LARGE_GROWTH_BYTES = 32 * 1024 * 1024;

const cache = new WeakMap<AnalysisInput, RunFindings>();

/** The findings about a run that reached its limit on fuel or time; none for other runs. */
export function runFindings(input: AnalysisInput): RunFindings {
  let findings = cache.get(input);
  if (findings === undefined) {
    findings = examine(input);
    cache.set(input, findings);
  }
  return findings;
}

/** The cause if more fuel or time does not help. */
export function hopelessCause(input: AnalysisInput): RunCause | undefined {
  const { cause } = runFindings(input);
  return cause !== undefined && !HELPED_BY_HIGHER_LIMITS.has(cause.kind) ? cause : undefined;
}

function examine(input: AnalysisInput): RunFindings {
  const { profile, trap } = input;
  if (profile === undefined || (trap?.reason !== 'out_of_fuel' && trap?.reason !== 'timeout')) return NONE;
  const heavyImport = findHeavyImport(input, profile);
  if (heavyImport !== undefined) return { cause: heavyImport, progress: undefined };
  if (profile.states.length >= MIN_STATES) {
    const late = profile.states.slice(-Math.ceil(profile.states.length / 2));
    const recursion = findRecursion(input, late);
    if (recursion !== undefined) return { cause: recursion, progress: undefined };
    const { endless, progress } = examineLoops(input, profile, late);
    if (endless !== undefined) return { cause: endless, progress: undefined };
    return { cause: findLargeData(profile), progress };
  }
  return { cause: findLargeData(profile), progress: undefined };
}

// ---- imports and data ----

function findHeavyImport(input: AnalysisInput, profile: RunProfile): RunCause | undefined {
  for (const { frame, fuel } of profile.lines) {
    if (frame.file !== profile.programFile || fuel < profile.fuel * IMPORT_SHARE) continue;
    const statement = sourceLine(input.source, frame.line);
    if (!input.language.guidance.importedModules(statement).some((module) => module !== '')) continue;
    const share = formatPercent(Math.round((fuel / profile.fuel) * 100));
    return {
      kind: 'heavy_import',
      text: `Heavy import at line ${frame.line}: ${statement} used ${share} of the sampled fuel`,
    };
  }
  return undefined;
}

function findLargeData({ states, firstMemoryBytes }: RunProfile): RunCause | undefined {
  const last = states.at(-1);
  if (last === undefined) return undefined;
  const sizes = last.variables
    .flatMap((variables) => Object.entries(variables))
    .map(([name, text]) => ({ name, size: sizeOf(text) ?? 0 }))
    .sort((a, b) => b.size - a.size);
  const largest = sizes[0];
  if (largest !== undefined && largest.size >= LARGE_ITEMS)
    return {
      kind: 'large_data',
      text: `Large data: \`${oneLine(largest.name, 60)}\` has ${formatCount(largest.size)} items or characters`,
    };
  const grown = last.memoryBytes - firstMemoryBytes;
  if (grown < LARGE_GROWTH_BYTES) return undefined;
  const growth = `from ${formatBytes(firstMemoryBytes)} to ${formatBytes(last.memoryBytes)}`;
  return { kind: 'large_data', text: `Large data: memory grew ${growth} during the run` };
}

/** The function of the program that used most of the fuel, if one used more than half. */
export function hottestFunction({ profile }: AnalysisInput): { name: string; share: number } | undefined {
  const fuel = new Map<string, number>();
  for (const { frame, fuel: used } of profile?.lines ?? []) {
    // Functions and expressions inside a function count as part of it.
    const name = frame.function.split('.<locals>.', 1)[0]!;
    fuel.set(name, (fuel.get(name) ?? 0) + used);
  }
  const [name, used] = [...fuel].sort((a, b) => b[1] - a[1])[0] ?? ['', 0];
  const share = used / Math.max(1, profile?.fuel ?? 1);
  return share > HOT_SHARE ? { name, share } : undefined;
}

/** A quantified group that contains a quantifier or alternatives, as in (a+)+ or (a|ab)*. */
const NESTED_QUANTIFIER = /\((?:[^()\\\n]|\\.){0,80}(?:[+*|]|\{\d+,)(?:[^()\\\n]|\\.){0,80}\)(?:[+*]|\{\d+,)/;
const PATTERN_SOURCE_MAX = 32_768;

/** The line of a regular expression that backtracks without end: it is stuck, and the program has a pattern that can do so. */
export function backtrackingRegex(input: AnalysisInput): number | undefined {
  const line = stuckRegex(input);
  return line !== undefined && NESTED_QUANTIFIER.test(input.source.slice(0, PATTERN_SOURCE_MAX))
    ? line
    : undefined;
}

/** The line of a regular expression that was running, with unchanged variables, in every late sample. */
export function stuckRegex({ profile, source, language }: AnalysisInput): number | undefined {
  const late = profile?.states.slice(-Math.ceil(profile.states.length / 2)) ?? [];
  const line = late[0]?.stack[0]?.line ?? 0;
  if (late.length < MIN_STATES / 2 || line < 1) return undefined;
  const isStuck = late.every(
    ({ stack, variables }) =>
      stack[0]!.file === profile!.programFile &&
      stack[0]!.line === line &&
      JSON.stringify(variables) === JSON.stringify(late[0]!.variables),
  );
  return isStuck && language.guidance.regexCall.test(sourceLine(source, line)) ? line : undefined;
}

// ---- recursion ----

const keyOf = ({ file, function: name }: StackFrame) => JSON.stringify([file, name]);

/** Functions without a name that run inside the function that calls them: comprehensions and callbacks. */
const isNested = ({ function: name }: StackFrame) => /(?:^|\.)<(?!module|eval|lambda)\w+>$/.test(name);

function findRecursion(input: AnalysisInput, late: readonly ProgramState[]): RunCause | undefined {
  const recursive = new Map<string, { frame: StackFrame; states: number }>();
  for (const { stack } of late) {
    const counts = new Map<string, number>();
    for (const frame of stack) {
      if (isNested(frame)) continue;
      const key = keyOf(frame);
      const count = (counts.get(key) ?? 0) + 1;
      counts.set(key, count);
      if (count === MIN_ACTIVATIONS)
        recursive.set(key, { frame, states: (recursive.get(key)?.states ?? 0) + 1 });
    }
  }
  const found = [...recursive.values()].find(({ states }) => states >= late.length * RECURSIVE_SHARE);
  if (found === undefined) return undefined;
  const key = keyOf(found.frame);
  const name = oneLine(found.frame.function.replace(/^.*\./, ''), 60);
  const depths = late.map(({ depth }) => depth);
  const isGrowing = depths.every((depth, i) => i === 0 || depth >= depths[i - 1]!);
  const depth = depths.at(-1)!;
  const isAtMaximum = depth >= MAX_STATE_DEPTH;
  if (isGrowing && depth >= DEEP && (depth > depths[0]! || isAtMaximum)) {
    return {
      kind: 'deep_recursion',
      text: `Deep recursion: ${name} calls itself and is ${isAtMaximum ? 'at least ' : ''}${depth} calls deep`,
      function: name,
    };
  }
  const calls = selfCalls(input, name, key, late);
  const isExponential =
    (calls.count > 1 || calls.isRepeated) && repeatsWork(key, late, calls.isRepeated ? 0 : 1);
  if (!isExponential) return undefined;
  const depthText = `up to ${Math.max(...depths)} calls deep`;
  const times = calls.count < 2 ? 'several' : calls.count;
  return {
    kind: 'exponential_recursion',
    text: `Exponential recursion: ${name} calls itself ${times} times per call, on ${calls.lines.length > 1 ? 'lines' : 'line'} ${calls.lines.join(', ')}, ${depthText}, repeatedly with the same arguments`,
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
  { source, language }: AnalysisInput,
  name: string,
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
      if (callee === key && keyOf(frame) === key) {
        if (isInner) isRepeated = true;
        else lines.add(frame.line);
      }
      callee = keyOf(frame);
      isInner = false;
    }
  }
  // The line of a call can also contain the definition.
  const call = `(?<!\\bdef |\\bfunction |\\bfunction\\* |\\bfunction \\*|[\\w$])${name.replace(/[^\w]/g, '\\$&')}\\s*\\(`;
  const definition = definitionLine(source, name);
  const loops = language.guidance.loops(source).filter((loop) => loop.line > definition);
  let count = 0;
  for (const line of lines) {
    count += sourceLine(source, line).split(new RegExp(call)).length - 1;
    isRepeated ||= loops.some((loop) => loop.line <= line && line <= loop.lastLine);
  }
  return { count, lines: [...lines].sort((a, b) => a - b).slice(0, 3), isRepeated };
}

/** The line that defines a function; 0 if there is none. */
function definitionLine(source: string, name: string): number {
  const escaped = name.replace(/[^\w]/g, '\\$&');
  const at = source.search(new RegExp(`\\b(?:def|function\\*?|const|let|var)\\s{1,9}${escaped}(?![\\w$])`));
  return at < 0 ? 0 : source.slice(0, at).split('\n').length;
}

/** Share of the samples in which a call of the function must repeat an earlier one. */
const REPEATED_SHARE = 0.1;

/**
 * Whether calls of the function with the same variables have callers with different variables: the work is done again.
 * Frames that stay on the stack keep their callers. Calls with values that are not completely known are no evidence, and
 * neither are the `skipped` innermost calls: small calls repeat in divide and conquer too.
 */
function repeatsWork(key: string, late: readonly ProgramState[], skipped: number): boolean {
  const callers = new Map<string, Variables[]>();
  let repeated = 0;
  for (const { stack, variables } of late) {
    const calls = variables
      .filter((_, i) => stack[i] !== undefined && keyOf(stack[i]!) === key)
      .map(({ self: _, ...others }) => others);
    let isRepeated = false;
    for (let i = skipped; i < calls.length - 1; i++) {
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

// ---- loops ----

interface Candidate {
  readonly loop: SourceLoop;
  /** Position of the loop's frame, counted from the outermost frame. */
  readonly position: number;
}

/** Examines the loops that contain all late samples, from the innermost to the outermost. */
function examineLoops(
  input: AnalysisInput,
  profile: RunProfile,
  late: readonly ProgramState[],
): { endless: RunCause | undefined; progress: LoopProgress | undefined } {
  let progress: LoopProgress | undefined;
  let isInnerKnown = true;
  const lines = input.source.split('\n');
  for (const { loop, position } of candidates(input, profile, late)) {
    const body = lines.slice(loop.line, loop.lastLine).join('\n');
    const finding = examineLoop(loop, body, samplesAt(late, position));
    if (finding.kind === 'endless' && (isInnerKnown || loop.isInfinite)) {
      const head = oneLine(loop.head, 100);
      const text = `Probable endless loop at line ${loop.line}: ${head} (${oneLine(finding.evidence, 200)})`;
      return { endless: { kind: 'probably_endless', text }, progress: undefined };
    }
    // The progress of an inner loop says nothing about the rest of the loops around it.
    progress = finding.kind === 'progressing' ? finding.progress : undefined;
    // While an inner loop makes progress, unchanged variables of an outer loop prove nothing.
    if (finding.kind !== 'restarting') isInnerKnown = false;
  }
  return { endless: undefined, progress };
}

function samplesAt(late: readonly ProgramState[], position: number): LoopSample[] {
  return late.flatMap(({ fuel, stack, variables }) => {
    const found = variables[stack.length - 1 - position];
    return found === undefined ? [] : [{ fuel, variables: found }];
  });
}

/** The loops in which the program was at every late sample, innermost first. */
function candidates(
  { source, language }: AnalysisInput,
  { programFile }: RunProfile,
  late: readonly ProgramState[],
): Candidate[] {
  const paths = late.map(({ stack }) => [...stack].reverse());
  const found: Candidate[] = [];
  const loops = language.guidance.loops(source);
  for (let position = 0; position < 20; position++) {
    const frames = paths.map((path) => path[position]);
    const [first] = frames;
    if (first === undefined || first.file !== programFile) break;
    if (frames.some((frame) => frame === undefined || keyOf(frame) !== keyOf(first))) break;
    for (const loop of loops) {
      const isInside = frames.every((frame) => frame!.line >= loop.line && frame!.line <= loop.lastLine);
      if (isInside && !found.some((other) => other.loop === loop)) found.push({ loop, position });
    }
  }
  return found.reverse();
}
