/**
 * What the samples of a run show about one of its loops: whether its variables approach the end of the loop. Values are
 * texts from guest memory, so they are compared as texts and parsed as numbers only if they are plain numbers.
 */
import { type Comparison, comparisonIn, namesIn, type SourceLoop } from './loops.ts';
import type { Variables } from './run-profile.ts';

/** The variables of the loop's frame at a sample, and the fuel consumed by then. */
export interface LoopSample {
  readonly fuel: number;
  readonly variables: Variables;
}

/** A variable that approaches a bound. */
export interface LoopProgress {
  readonly name: string;
  readonly value: number;
  readonly bound: number;
  /** Fuel until the bound is reached, at the rate of the samples. */
  readonly remainingFuel: number;
}

type LoopFinding =
  /** The loop does not approach its end. */
  | { readonly kind: 'endless'; readonly evidence: string }
  | { readonly kind: 'progressing'; readonly progress: LoopProgress | undefined }
  /** The loop ended and started again between samples. */
  | { readonly kind: 'restarting' }
  | { readonly kind: 'unknown' };

const UNKNOWN: LoopFinding = { kind: 'unknown' };
const RESTARTING: LoopFinding = { kind: 'restarting' };
/** Values that do not show the progress of a loop. */
const FLAG = /^(?:True|False|None|true|false|null|undefined)$/;
/** Texts of objects, long containers and long texts: they stay the same when the contents change. */
export const INCOMPLETE = /[<…]|\d (?:items?|characters)\b/;
/** A call: its result can depend on more than the variables of the frame. */
const CALL = /\w\(/;
const MAX_SHOWN_VALUES = 4;

/**
 * Conclusions from variables need at least four samples, in the order of the run. `body` is the source of the loop without
 * its head.
 */
export function examineLoop(loop: SourceLoop, body: string, samples: readonly LoopSample[]): LoopFinding {
  if (loop.isInfinite) {
    const reason = loop.items ? `${loop.items.collection} never ends` : 'its condition is always true';
    return { kind: 'endless', evidence: `${reason}, and no statement leaves the loop` };
  }
  if (samples.length < 4) return UNKNOWN;
  if (loop.items !== undefined) return examineItems(loop.items, samples);
  if (loop.range !== undefined) {
    const { name, bound } = loop.range;
    return examineNumber({ name, operator: '<', bound }, samples) ?? RESTARTING;
  }
  const comparison = comparisonIn(loop.condition);
  const finding = comparison && examineNumber(comparison, samples);
  if (finding !== undefined && finding.kind !== 'restarting') return finding;
  return (
    examineLinks(loop.condition, body, samples) ??
    examineRepetition(loop.condition, samples) ??
    finding ??
    UNKNOWN
  );
}

function examineItems(
  { names, collection }: NonNullable<SourceLoop['items']>,
  samples: readonly LoopSample[],
): LoopFinding {
  const sizes = samples.map(({ variables }) => sizeOf(variables[collection]));
  if (isRising(sizes))
    return { kind: 'endless', evidence: `${collection} grows while the loop iterates over it` };
  const values = samples.map(({ variables }) => namesIn(names).map((name) => variables[name]));
  return isRepeating(values) ? RESTARTING : { kind: 'progressing', progress: undefined };
}

/** A finding for a loop whose variable rises or falls; `restarting` if it does neither; undefined if it is not a number. */
function examineNumber(comparison: Comparison, samples: readonly LoopSample[]): LoopFinding | undefined {
  const { name, operator, bound } = comparison;
  const values = samples.map(({ variables }) => numberOf(variables[name]));
  const bounds = samples.map(({ variables }) => boundOf(bound, variables));
  if (values.includes(undefined)) return undefined;
  if (!isRising(values) && !isRising(values.map((value) => -value!))) {
    const isConstant = values.every((value) => value === values[0]);
    return isConstant ? undefined : RESTARTING;
  }
  const first = { value: values[0]!, bound: bounds[0] };
  const last = { value: values.at(-1)!, bound: bounds.at(-1) };
  if (first.bound === undefined || last.bound === undefined)
    return { kind: 'progressing', progress: undefined };
  const distance = (at: { value: number; bound: number | undefined }) => {
    if (operator === '<' || operator === '<=') return at.bound! - at.value;
    return operator === '!=' ? Math.abs(at.value - at.bound!) : at.value - at.bound!;
  };
  if (operator === '==') return UNKNOWN;
  const [before, after] = [distance(first), distance(last)];
  if (after >= before) {
    const evidence = `${name} moves away from ${bound}: it went from ${first.value} to ${last.value}`;
    return { kind: 'endless', evidence };
  }
  const fuelPerStep = (samples.at(-1)!.fuel - samples[0]!.fuel) / (before - after);
  const progress = { name, value: last.value, bound: last.bound, remainingFuel: after * fuelPerStep };
  return { kind: 'progressing', progress };
}

/** Endless if the loop follows links that it does not change, as in `node = node.next`, and returns to the same objects. */
function examineLinks(
  condition: string,
  body: string,
  samples: readonly LoopSample[],
): LoopFinding | undefined {
  const [name, ...others] = namesIn(condition);
  if (name === undefined || others.length > 0 || CALL.test(condition)) return undefined;
  const step = new RegExp(
    `(?<![\\w.$])${name.replaceAll('$', '\\$')} = ${name.replaceAll('$', '\\$')}\\.([\\w$]{1,60});?$`,
    'm',
  ).exec(body);
  if (step === null || /\.[\w$]{1,60} = /.test(body)) return undefined;
  const objects = samples.map(({ variables }) => [variables[name] ?? '']);
  if (!objects.every(([text]) => /^<.* #\d+>$/.test(text!)) || !isRepeating(objects)) return undefined;
  return { kind: 'endless', evidence: `${name} returns to objects that the loop has already visited` };
}

/**
 * Endless if the variables of the condition repeat their values, or all variables if those are only flags. Unknown if the
 * condition depends on something that the samples do not show.
 */
function examineRepetition(condition: string, samples: readonly LoopSample[]): LoopFinding | undefined {
  const names = namesIn(condition).filter((name) =>
    samples.every(({ variables }) => variables[name] !== undefined),
  );
  const values = samples.map(({ variables }) => names.map((name) => variables[name]!));
  if (values.flat().some((value) => INCOMPLETE.test(value))) return UNKNOWN;
  const isInformative = values.some((row) => row.some((value) => !FLAG.test(value)));
  if (isInformative) return isRepeating(values) ? repeats(names, values) : undefined;
  const all = samples.map(({ variables }) => Object.entries(variables).flat());
  if (CALL.test(condition) || all.flat().some((value) => INCOMPLETE.test(value))) return UNKNOWN;
  // All variables together repeat by chance less often than some of them.
  return isRepeating(all, 0.75) ? repeats(names, values) : UNKNOWN;
}

function repeats(names: readonly string[], values: readonly (readonly string[])[]): LoopFinding {
  const distinct = [...new Set(values.map((row) => row.join(', ')))];
  if (names.length === 0) return { kind: 'endless', evidence: 'its variables repeat the same values' };
  const shown = names.join(', ');
  const evidence =
    distinct.length === 1
      ? `${shown} ${names.length === 1 ? 'stays' : 'stay'} at ${distinct[0]}`
      : `${shown} ${names.length === 1 ? 'repeats' : 'repeat'} the values ${distinct.slice(0, MAX_SHOWN_VALUES).join('; ')}${distinct.length > MAX_SHOWN_VALUES ? '; …' : ''}`;
  return { kind: 'endless', evidence };
}

/** Whether at most this share of the rows is distinct. */
function isRepeating(rows: readonly (readonly unknown[])[], share = 0.5): boolean {
  return new Set(rows.map((row) => JSON.stringify(row))).size <= rows.length * share;
}

/** Whether the values never fall and are higher at the end. */
function isRising(values: readonly (number | undefined)[]): boolean {
  if (values.includes(undefined)) return false;
  return values.every((value, i) => i === 0 || value! >= values[i - 1]!) && values.at(-1)! > values[0]!;
}

/** The value of a plain number; undefined for anything else. */
function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^-?\d[\d_]*(?:\.\d+)?(?:e[-+]?\d+)?n?$/.test(text)
    ? Number(text.replaceAll('_', '').replace('n', ''))
    : undefined;
}

/** The number of items of a container, or of characters of a text, as its short form shows it. */
export function sizeOf(text: string | undefined): number | undefined {
  const found = text === undefined ? null : /(\d+) (?:items?|characters)[\])}>]*$/.exec(text);
  if (found !== null) return Number(found[1]);
  // Short containers show all their items.
  return text !== undefined && /^[[({].*[\])}]$/.test(text) ? text.split(', ').length : undefined;
}

function boundOf(bound: string, variables: Variables): number | undefined {
  const power = /^([\d_.]+)\s*\*\*\s*(\d+)$/.exec(bound);
  if (power !== null) return Number(power[1]!.replaceAll('_', '')) ** Number(power[2]);
  const measured = /^len\((\w+)\)$|^([\w$]+)\.length$/.exec(bound);
  if (measured !== null) return sizeOf(variables[measured[1] ?? measured[2]!]);
  return numberOf(bound) ?? numberOf(variables[bound]);
}
