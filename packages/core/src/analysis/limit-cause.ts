/**
 * Why a run reached a limit, as far as its samples show it. A cause is reported only with evidence from the run: the lines
 * and variables of the late samples, the depth of the stack, the size of its data.
 */
import { formatBytes, formatCount, formatPercent } from '../quantities.ts';
import { HELPED_BY_HIGHER_LIMITS, type RUN_CAUSES } from '../schema.ts';
import { functionKey, isMain, isNested } from './function-identity.ts';
import type { AnalysisInput } from './input.ts';
import { examineLoop, type LoopProgress, type LoopSample, nestedProgress, sizeOf } from './loop-progress.ts';
import type { SourceLoop } from './program-facts.ts';
import { oneLine, sourceLine } from './quote-guest-text.ts';
import { findRecursion } from './recursion.ts';
import type { ProgramState, RunProfile } from './run-profile-schema.ts';

interface RunCause {
  readonly kind: (typeof RUN_CAUSES)[number];
  /** One line with the evidence. */
  readonly text: string;
  /** The function that calls itself; only for recursion. */
  readonly function?: string;
  /** What to change, if the evidence shows it. */
  readonly fix?: string | undefined;
}

interface RunFindings {
  readonly cause: RunCause | undefined;
  /** The progress of a loop of the program; undefined if there is a cause for which more fuel does not help. */
  readonly progress: LoopProgress | undefined;
}

const NONE: RunFindings = { cause: undefined, progress: undefined };
/** States that are needed to infer a cause from repetition. */
const MIN_STATES = 6;
/** The late states are those after this share of the fuel. */
const LATE_SHARE = 5 / 8;
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
export function causeToFix(input: AnalysisInput): RunCause | undefined {
  const { cause } = runFindings(input);
  return cause !== undefined && !HELPED_BY_HIGHER_LIMITS.has(cause.kind) ? cause : undefined;
}

/** Whether the limit on fuel or time ended the run. */
export function isStoppedByLimit({ trap }: AnalysisInput): boolean {
  return trap?.reason === 'out_of_fuel' || trap?.reason === 'timeout';
}

function examine(input: AnalysisInput): RunFindings {
  const { profile } = input;
  if (profile === undefined || !isStoppedByLimit(input)) return NONE;
  const heavyImport = findHeavyImport(input, profile);
  if (heavyImport !== undefined) return { cause: heavyImport, progress: undefined };
  const isRepeated = profile.states.length >= MIN_STATES;
  const late = isRepeated ? lateStates(profile) : profile.states;
  const loops = input.program?.loops ?? [];
  const recursion = isRepeated ? findRecursion(input, late, loops) : undefined;
  if (recursion !== undefined) return { cause: recursion, progress: undefined };
  // That a loop never ends can be clear from its source alone.
  const examined = isRepeated ? loops : loops.filter(({ isInfinite }) => isInfinite);
  const { endless, progress } = examineLoops(profile, late, examined);
  return endless === undefined
    ? { cause: findLargeData(profile), progress }
    : { cause: endless, progress: undefined };
}

function lateStates({ states }: RunProfile): ProgramState[] {
  const from = LATE_SHARE * (states.at(-1)?.fuel ?? 0);
  return states.filter(({ fuel }) => fuel > from);
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

/** A regular expression backtracks without end: it is stuck, and the program has a pattern that can do so. */
export function backtrackingText(input: AnalysisInput): string | undefined {
  const line = stuckRegex(input);
  return line !== undefined && NESTED_QUANTIFIER.test(input.source)
    ? `The regular expression on line ${line} probably backtracks: its pattern has nested quantifiers`
    : undefined;
}

/**
 * The line of a regular expression that was running, with unchanged variables, in every late sample of a run that a limit
 * ended.
 */
export function stuckRegex(input: AnalysisInput): number | undefined {
  const { profile, source, language } = input;
  const late = profile === undefined || !isStoppedByLimit(input) ? [] : lateStates(profile);
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

// ---- loops ----

interface Candidate {
  readonly loop: SourceLoop;
  /** Position of the loop's frame, counted from the outermost frame. */
  readonly position: number;
}

/** Nested loops that are examined, with all samples of their variables. */
const MAX_NESTED = 50;

/** Examines the loops that contain all late samples, from the innermost to the outermost. */
function examineLoops(
  profile: RunProfile,
  late: readonly ProgramState[],
  loops: readonly SourceLoop[],
): { endless: RunCause | undefined; progress: LoopProgress | undefined } {
  let progress: LoopProgress | undefined;
  let isInnerKnown = true;
  let isRepeated = false;
  const found = candidates(loops, profile, late).slice(0, MAX_NESTED);
  for (const { loop, position } of found) {
    const finding = examineLoop(loop, samplesAt(late, loop, position));
    if (finding.kind === 'endless' && (isInnerKnown || loop.isInfinite)) {
      const isProven =
        finding.isConstant !== true || isRepeated || hasIterated({ loop, position }, loops, late);
      if (!isProven) return { endless: undefined, progress: undefined };
      const head = oneLine(loop.head, 100);
      const text = `Probable endless loop at line ${loop.line}: ${head} (${oneLine(finding.evidence, 200)})`;
      return { endless: { kind: 'probably_endless', text, fix: finding.fix }, progress: undefined };
    }
    // The progress of an inner loop does not show how much work the loops around it have left.
    progress = finding.kind === 'progressing' ? finding.progress : undefined;
    // While an inner loop makes progress, unchanged variables of an outer loop prove nothing.
    if (finding.kind === 'restarting') isRepeated = true;
    else isInnerKnown = false;
  }
  const nested = found
    .map(({ loop, position }) => ({ loop, samples: samplesAt(late, loop, position) }))
    .reverse();
  return { endless: undefined, progress: nestedProgress(nested) ?? progress };
}

/**
 * Whether a loop whose variables stay the same has completed an iteration between samples. It may still be in its first
 * iteration while the functions of the program that it calls run: then the only evidence is that the loop returned to an
 * earlier line, or that a function was called again.
 */
function hasIterated(
  { loop, position }: Candidate,
  loops: readonly SourceLoop[],
  late: readonly ProgramState[],
): boolean {
  const frames = late.flatMap(({ stack }) => {
    const index = stack.length - 1 - position;
    return index < 0 ? [] : [{ line: stack[index]!.line, isInner: index > 0 }];
  });
  if (frames.filter(({ isInner }) => isInner).length < frames.length / 2) return true;
  const inner = loops.filter(({ line, lastLine }) => line > loop.line && lastLine <= loop.lastLine);
  const share = (a: number, b: number) =>
    inner.some(({ line, lastLine }) => line <= Math.min(a, b) && Math.max(a, b) <= lastLine);
  return frames.some(({ line, isInner }, i) => {
    const next = frames[i + 1];
    if (next === undefined) return false;
    if (next.line < line && !share(line, next.line)) return true;
    const again = frames.slice(i + 2).find((later) => later.isInner);
    return isInner && !next.isInner && again?.line === line && !share(line, line);
  });
}

function samplesAt(
  late: readonly ProgramState[],
  { isAwaiting = false, isExpression = false }: SourceLoop,
  position: number,
): LoopSample[] {
  return late.flatMap(({ fuel, stack, variables }) => {
    const index = stack.length - 1 - position;
    const own = variables[index] ?? (isAwaiting ? {} : undefined);
    const outermost = stack.at(-1)!;
    const globals = isMain(outermost) ? variables[stack.length - 1] : {};
    const inner = stack[index - 1];
    const nested = isExpression && inner !== undefined && isNested(inner) ? variables[index - 1] : {};
    return own === undefined ? [] : [{ fuel, own, variables: { ...globals, ...own, ...nested } }];
  });
}

/** Samples that must be in a loop that awaits. In the others, its function is not on the stack. */
const MIN_AWAITING = 2;

/** The loops in which the program was at every late sample, innermost first. */
function candidates(
  loops: readonly SourceLoop[],
  { programFile, states }: RunProfile,
  late: readonly ProgramState[],
): Candidate[] {
  const paths = late.map(({ stack }) => [...stack].reverse());
  const found: Candidate[] = [];
  for (let position = 0; position < 20; position++) {
    const frames = paths.flatMap((path) => path[position] ?? []);
    const [first] = frames;
    if (first === undefined || first.file !== programFile) break;
    const isComplete = frames.length === paths.length;
    if (frames.some((frame) => functionKey(frame) !== functionKey(first))) break;
    for (const loop of loops) {
      if (loop.isExpression && isNested(first)) continue;
      if (!isComplete && (!loop.isAwaiting || frames.length < MIN_AWAITING)) continue;
      const isInside = frames.every(({ line }) => line >= loop.line && line <= loop.lastLine);
      if (isInside && !found.some((other) => other.loop === loop)) found.push({ loop, position });
    }
  }
  // An infinite loop that only awaits does not end after any sample, so all samples count, not only the late ones.
  for (const loop of loops) {
    if (!loop.isAwaiting || !loop.isInfinite || found.some((other) => other.loop === loop)) continue;
    const positions = states
      .map(({ stack }) =>
        [...stack]
          .reverse()
          .findIndex(({ file, line }) => file === programFile && line >= loop.line && line <= loop.lastLine),
      )
      .filter((position) => position >= 0);
    if (positions.length > 0) found.push({ loop, position: positions[0]! });
  }
  return found.reverse();
}
