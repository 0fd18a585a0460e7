/**
 * What the samples of a run show about one of its loops: whether its variables approach the end of the loop. Values are
 * texts from guest memory, so they are compared as texts and parsed as numbers only if they are plain numbers.
 */
import type { LoopBody, SourceLoop } from './program-facts.ts';
import type { Variables } from './run-profile-schema.ts';

/** The variables of the loop's frame at a sample, and the fuel consumed by then. */
export interface LoopSample {
  readonly fuel: number;
  readonly own: Variables;
  /** With the global variables. */
  readonly variables: Variables;
}

/** A variable that approaches a bound. */
export interface LoopProgress {
  readonly name: string;
  readonly value: number;
  readonly bound: number;
  /** Fuel until the bound is reached, at the rate of the samples. */
  readonly remainingFuel: number;
  /** The position of the loop directly inside, if the estimate depends on it. */
  readonly inner?: { readonly name: string; readonly value: number; readonly bound: number };
}

type LoopFinding =
  /** The loop does not approach its end. If the variables only stay the same, it may be in its first iteration. */
  | {
      readonly kind: 'endless';
      readonly evidence: string;
      readonly fix?: string;
      readonly isConstant?: boolean;
    }
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
/** A list may have this many times the results that the fuel accounts for at the rate of the samples. */
const EARLIER_RESULTS = 1.5;
/** A bound that rises with the variable counts as approached only if the distance shrinks by 1 in this many steps. */
const PUSHED_STEPS = 1_000;

/** Conclusions from variables need at least four samples, in the order of the run. */
export function examineLoop(loop: SourceLoop, samples: readonly LoopSample[]): LoopFinding {
  const { body } = loop;
  if (loop.isInfinite) {
    const { items } = loop;
    const reason = items ? `${items.collection} never ends` : 'its condition is always true';
    const evidence = `${reason}, and no statement leaves the loop`;
    return items
      ? { kind: 'endless', evidence, fix: limitItems(items.collection) }
      : { kind: 'endless', evidence };
  }
  if (samples.length < 4) return UNKNOWN;
  if (loop.items !== undefined) return examineItems(loop.items, body, samples);
  if (loop.range !== undefined) {
    const { name, bound } = loop.range;
    return examineNumber({ name, operator: '<', bound }, body, samples) ?? RESTARTING;
  }
  const comparison = comparisonIn(loop.condition);
  const finding = comparison && examineNumber(comparison, body, samples);
  if (finding !== undefined && finding.kind !== 'restarting') return finding;
  // Only its own variable shows the progress of an expression.
  if (loop.isExpression) return finding ?? UNKNOWN;
  return (
    examineLinks(loop.condition, body, samples) ??
    examineRepetition(loop.condition, samples) ??
    finding ??
    UNKNOWN
  );
}

const limitItems = (collection: string) =>
  `Take a limited number of items from ${collection}, or leave the loop with break or return`;
const copyOf = (collection: string) =>
  `Iterate over a copy of ${collection}, or collect the new items in another list and add them after the loop`;

/** Whether every iteration adds items. A search adds them too, but only those that it has not seen yet. */
const addsItems = ({ isConditional, grown }: LoopBody, collection: string) =>
  !isConditional && grown.includes(collection);

/**
 * Whether every iteration can move a variable away from its bound. One that the loop increases and decreases can approach
 * the bound later, as the size of a stack does. If the bound moves too, both must move in every iteration: a search moves
 * the end of its queue only for what it has not seen yet.
 */
function movesAway(body: LoopBody, name: string, movingBound: string | undefined): boolean {
  const { increased, decreased, isConditional } = body;
  if (increased.includes(name) && decreased.includes(name)) return false;
  if (movingBound === undefined) return true;
  const moved = [...increased, ...decreased];
  return !isConditional && moved.includes(name) && moved.includes(/^[\w$]*/.exec(movingBound)![0]);
}

function examineItems(
  { names, collection }: NonNullable<SourceLoop['items']>,
  body: LoopBody,
  samples: readonly LoopSample[],
): LoopFinding {
  const sizes = samples.map(({ variables }) => sizeOf(variables[collection]));
  if (isRising(sizes) && !addsItems(body, collection)) return { kind: 'progressing', progress: undefined };
  if (isRising(sizes))
    return {
      kind: 'endless',
      evidence: `${collection} grows while the loop iterates over it`,
      fix: copyOf(collection),
    };
  const values = samples.map(({ variables }) => namesIn(names).map((name) => variables[name]));
  if (isRepeating(values)) return RESTARTING;
  return { kind: 'progressing', progress: progressOfResults(sizes, body, samples) };
}

/** The progress of a loop over items that adds one result for each of them to a list. */
function progressOfResults(
  sizes: readonly (number | undefined)[],
  body: LoopBody,
  samples: readonly LoopSample[],
): LoopProgress | undefined {
  const bound = sizes[0];
  if (bound === undefined || sizes.some((size) => size !== bound) || body.isConditional) return undefined;
  for (const name of new Set(body.appended)) {
    const counts = samples.map(({ variables }) => sizeOf(variables[name]));
    if (body.appended.filter((other) => other === name).length > 1 || !isRising(counts)) continue;
    const [first, last] = [counts[0]!, counts.at(-1)!];
    const fuelPerItem = (samples.at(-1)!.fuel - samples[0]!.fuel) / (last - first);
    // A list with more results than the fuel accounts for was not empty at the start.
    if (last > bound || last * fuelPerItem > samples.at(-1)!.fuel * EARLIER_RESULTS) continue;
    return { name: `len(${name})`, value: last, bound, remainingFuel: (bound - last) * fuelPerItem };
  }
  return undefined;
}

/** A finding for a loop whose variable rises or falls; `restarting` if it does neither; undefined if it is not a number. */
function examineNumber(
  comparison: Comparison,
  body: LoopBody,
  samples: readonly LoopSample[],
): LoopFinding | undefined {
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
  // A bound that moves with the variable is not approached, even if the last sample was taken between a step of the variable
  // and that of the bound.
  const isPushed = isRising(bounds) && (before - after) * PUSHED_STEPS < Math.abs(last.value - first.value);
  if (after >= before || isPushed) {
    const measured = collectionIn(bound);
    if (measured !== undefined && isRising(bounds) && !addsItems(body, measured))
      return { kind: 'progressing', progress: undefined };
    if (measured !== undefined && isRising(bounds))
      return {
        kind: 'endless',
        evidence: `${measured} grows at least as fast as ${name}, which went from ${first.value} to ${last.value}`,
        fix: copyOf(measured),
      };
    const isMoving = bounds.some((value) => value !== bounds[0]);
    if (!movesAway(body, name, isMoving ? bound : undefined))
      return { kind: 'progressing', progress: undefined };
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
  body: LoopBody,
  samples: readonly LoopSample[],
): LoopFinding | undefined {
  const [name, ...others] = namesIn(condition);
  if (name === undefined || others.length > 0 || CALL.test(condition)) return undefined;
  const objects = samples.map(({ variables }) => [variables[name] ?? '']);
  if (!objects.every(([text]) => /^<.* #\d+>$/.test(text!)) || !isRepeating(objects)) return undefined;
  if (!body.followed.includes(name)) return undefined;
  return { kind: 'endless', evidence: `${name} returns to objects that the loop has already visited` };
}

/**
 * Endless if the variables of the condition repeat their values, or all variables if those are only flags. Unknown if the
 * condition depends on something that the samples do not show.
 */
function examineRepetition(condition: string, samples: readonly LoopSample[]): LoopFinding | undefined {
  const names = namesIn(condition);
  const isShown = (name: string) => samples.every(({ variables }) => variables[name] !== undefined);
  if (!names.every(isShown)) return UNKNOWN;
  const values = samples.map(({ variables }) => names.map((name) => variables[name]!));
  if (values.flat().some((value) => INCOMPLETE.test(value))) return UNKNOWN;
  const isInformative = values.some((row) => row.some((value) => !FLAG.test(value)));
  if (isInformative) return isRepeating(values) ? repeats(names, values) : undefined;
  const all = samples.map(({ own }) => Object.entries(own).flat());
  const isHidden = all.flat().length === 0 || all.flat().some((value) => INCOMPLETE.test(value));
  if (CALL.test(condition) || isHidden) return UNKNOWN;
  // All variables together repeat by chance less often than some of them.
  return isRepeating(all, 0.75) ? repeats(names, values) : UNKNOWN;
}

function repeats(names: readonly string[], values: readonly (readonly string[])[]): LoopFinding {
  const distinct = [...new Set(values.map((row) => row.join(', ')))];
  if (names.length === 0)
    return { kind: 'endless', evidence: 'its variables repeat the same values', isConstant: true };
  const shown = names.join(', ');
  const evidence =
    distinct.length === 1
      ? `${shown} ${names.length === 1 ? 'stays' : 'stay'} at ${distinct[0]}`
      : `${shown} ${names.length === 1 ? 'repeats' : 'repeat'} the values ${distinct.slice(0, MAX_SHOWN_VALUES).join('; ')}${distinct.length > MAX_SHOWN_VALUES ? '; …' : ''}`;
  return { kind: 'endless', evidence, isConstant: distinct.length === 1 };
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

/** The collection whose size a bound is. */
function collectionIn(bound: string): string | undefined {
  const measured = /^len\((\w+)\)$|^([\w$]+)\.length$/.exec(bound);
  return measured?.[1] ?? measured?.[2];
}

function boundOf(bound: string, variables: Variables): number | undefined {
  const power = /^([\d_.]+)\s*\*\*\s*(\d+)$/.exec(bound);
  if (power !== null) return Number(power[1]!.replaceAll('_', '')) ** Number(power[2]);
  const measured = collectionIn(bound);
  if (measured !== undefined) return sizeOf(variables[measured]);
  const sum = /^([\w$]+)\s*([-+])\s*(\d{1,9})$/.exec(bound);
  const added = sum === null ? undefined : numberOf(variables[sum[1]!]);
  if (added !== undefined) return added + Number(`${sum![2]}${sum![3]}`);
  return numberOf(bound) ?? numberOf(variables[bound]);
}

/** The position of a loop that counts upwards; undefined if it does not count or its variables are unknown. */
function positionOf(loop: SourceLoop, variables: Variables): Position | undefined {
  const counted = loop.range
    ? { ...loop.range, operator: '<' as const }
    : loop.start === undefined
      ? undefined
      : comparisonIn(loop.condition);
  if (counted === undefined || !counted.operator.startsWith('<')) return undefined;
  const value = numberOf(variables[counted.name]);
  const start = boundOf(loop.start ?? '0', variables);
  const bound = boundOf(counted.bound, variables);
  if (value === undefined || start === undefined || bound === undefined) return undefined;
  const steps = bound - start + (counted.operator === '<=' ? 1 : 0);
  return steps > 0 && value >= start ? { name: counted.name, value, start, bound, steps } : undefined;
}

interface Position {
  readonly name: string;
  readonly value: number;
  readonly start: number;
  readonly bound: number;
  readonly steps: number;
}

/**
 * The progress of nested loops, outermost first, each with its samples, as one count: the position of an inner loop is
 * a part of a step of the loop around it. Undefined unless at least two of them count.
 */
export function nestedProgress(
  loops: readonly { readonly loop: SourceLoop; readonly samples: readonly LoopSample[] }[],
): LoopProgress | undefined {
  const at = (index: number) => {
    const found = loops.map(({ loop, samples }) => positionOf(loop, samples.at(index)?.variables ?? {}));
    const end = found.indexOf(undefined);
    return (end < 0 ? found : found.slice(0, end)) as Position[];
  };
  const [first, last] = [at(0), at(-1)];
  const depth = Math.min(first.length, last.length);
  if (depth < 2) return undefined;
  const shareOf = (positions: readonly Position[]) => {
    let [share, unit] = [0, 1];
    for (const { value, start, steps } of positions.slice(0, depth)) {
      unit /= steps;
      share += Math.min(value - start, steps - 1) * unit;
    }
    return share;
  };
  const fuel = loops[0]!.samples.at(-1)!.fuel - loops[0]!.samples[0]!.fuel;
  const [before, after] = [shareOf(first), shareOf(last)];
  if (after <= before) return undefined;
  const { name, value, bound } = last[0]!;
  const inner = last[1]!;
  return {
    name,
    value,
    bound,
    remainingFuel: ((1 - after) * fuel) / (after - before),
    inner: { name: inner.name, value: inner.value, bound: inner.bound },
  };
}

export interface Comparison {
  readonly name: string;
  readonly operator: '<' | '<=' | '>' | '>=' | '!=' | '==';
  readonly bound: string;
}

const COMPARISON =
  /(?<![\w.$)\]])([\p{L}_$][\w$]*)\s*(<=|>=|<|>|!==?|===?)\s*(-?[\d_.]+(?:e\d+|\s*\*\*\s*\d+)?n?|[\p{L}_$][\w$.]*(?:\([\w$]*\))?)(?![\w$([.]|\s*[-+*/%])/u;

/** The comparison of a variable in a condition, if the condition has a simple one. */
function comparisonIn(condition: string): Comparison | undefined {
  const found = COMPARISON.exec(condition);
  if (found === null) return undefined;
  const operator = found[2]!.slice(0, 2).replace('===', '==') as Comparison['operator'];
  return { name: found[1]!, operator, bound: found[3]! };
}

const WORDS = new Set(
  'while for not and or is in if else True False None true false null undefined len let const var of new typeof this self'.split(
    ' ',
  ),
);

/** Names in an expression that can be variables: no keywords, no functions that are called, no attributes. */
export function namesIn(expression: string): string[] {
  const found = expression.matchAll(/(?<![\w.$'"])[\p{L}_$][\w$]*(?!\s*\()/gu);
  return [...new Set([...found].map(([name]) => name))].filter((name) => !WORDS.has(name));
}
