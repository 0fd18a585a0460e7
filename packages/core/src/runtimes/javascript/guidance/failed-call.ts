/**
 * Which call failed with "not a function": one of the calls around the reported position, from the innermost outwards,
 * except those whose function exists.
 */
import type { AnalysisInput } from '../../../analysis/input.ts';
import type { CalledExpression } from '../../../analysis/program-facts.ts';
import type { GuestError } from '../../../schema.ts';

/** A kind of values, with what texts call one and many of them, and an object that has the methods. */
interface ValueKind {
  readonly title: string;
  readonly plural?: string;
  readonly methods: object;
}

const TEXT: ValueKind = { title: 'text', plural: 'text', methods: String.prototype };
const ARRAY: ValueKind = { title: 'an array', plural: 'arrays', methods: Array.prototype };
const NUMBER: ValueKind = { title: 'a number', plural: 'numbers', methods: Number.prototype };
const MAP: ValueKind = { title: 'a Map', plural: 'Maps', methods: Map.prototype };
const SET: ValueKind = { title: 'a Set', plural: 'Sets', methods: Set.prototype };
const PROMISE: ValueKind = { title: 'a promise', plural: 'promises', methods: Promise.prototype };
const REGEX: ValueKind = {
  title: 'a regular expression',
  plural: 'regular expressions',
  methods: RegExp.prototype,
};
const DATE: ValueKind = { title: 'a Date', plural: 'Dates', methods: Date.prototype };
export const KINDS = [TEXT, ARRAY, NUMBER, MAP, SET, PROMISE, REGEX, DATE];
const LITERALS = { array: ARRAY, text: TEXT, number: NUMBER, regex: REGEX };
/** Kinds by the start of the short form of a value. */
const KINDS_BY_FORM: readonly (readonly [RegExp, ValueKind])[] = [
  [/^(?:"|<string)/, TEXT],
  [/^(?:\[|<sparse array)/, ARRAY],
  [/^(?:-?[\d.]+(?:e[+-]?\d+)?|NaN|-?Infinity)$/, NUMBER],
  [/^<Map\b/, MAP],
  [/^<Set\b/, SET],
  [/^<Promise\b/, PROMISE],
  [/^<RegExp\b/, REGEX],
  [/^<Date\b/, DATE],
];
/** Global objects that the guest and the host have in common. */
const GLOBAL_OBJECTS: Readonly<Record<string, object>> = {
  Array,
  BigInt,
  Date,
  JSON,
  Map,
  Math,
  Number,
  Object,
  Promise,
  Reflect,
  String,
  Symbol,
  console,
};
const GLOBAL_FUNCTIONS: ReadonlySet<string> = new Set(
  'Boolean Error RegExp Set isFinite isNaN parseFloat parseInt print queueMicrotask require setInterval setTimeout structuredClone'.split(
    ' ',
  ),
);
/** Methods of text that create HTML, which nobody means. */
const HTML_METHODS: ReadonlySet<string> = new Set(
  'anchor big blink bold fixed fontcolor fontsize italics link small strike sub sup'.split(' '),
);

export interface FailedCall extends CalledExpression {
  /** What the object of the method is, if it is known. */
  readonly kind: ValueKind | undefined;
  /** The calls exist: an argument of the innermost one must be a function and is none. */
  readonly isArgument: boolean;
}

/** Whether an object has a function of this name. Accessors are not called: those of a prototype throw. */
function hasFunction(object: object, name: string): boolean {
  for (let at: object | null = object; at !== null; at = Object.getPrototypeOf(at) as object | null) {
    const found = Object.getOwnPropertyDescriptor(at, name);
    if (found !== undefined) return typeof found.value === 'function';
  }
  return false;
}

/** Names of the functions that an object has itself. */
export const functionsOf = ({ methods }: ValueKind): string[] =>
  Object.getOwnPropertyNames(methods).filter(
    (name) =>
      /^[a-z]/.test(name) && name !== 'constructor' && !HTML_METHODS.has(name) && hasFunction(methods, name),
  );

/** The first kind of values that has this method. */
export const kindWithMethod = (name: string): ValueKind | undefined =>
  KINDS.find((kind) => functionsOf(kind).includes(name));

/** What the object of a method is, as far as the program and its variables show. */
function kindOf({ owner, ownerLiteral }: CalledExpression, input: AnalysisInput): ValueKind | undefined {
  if (ownerLiteral !== undefined) return LITERALS[ownerLiteral];
  if (owner === undefined) return undefined;
  const value = input.stoppedAt?.variables[owner];
  if (value !== undefined) return KINDS_BY_FORM.find(([form]) => form.test(value))?.[1];
  return Object.hasOwn(GLOBAL_OBJECTS, owner)
    ? { title: `the object ${owner}`, methods: GLOBAL_OBJECTS[owner]! }
    : undefined;
}

/** Whether the called function exists; undefined if that is unknown. */
function existence(
  { owner, name, isDeclared }: CalledExpression,
  kind: ValueKind | undefined,
  input: AnalysisInput,
): boolean | undefined {
  if (kind !== undefined) return hasFunction(kind.methods, name!);
  if (owner !== undefined || name === undefined) return undefined;
  if (input.stoppedAt?.variables[name] !== undefined) return false;
  return GLOBAL_FUNCTIONS.has(name) || Object.hasOwn(GLOBAL_OBJECTS, name) || isDeclared ? true : undefined;
}

/** The call that failed; undefined if the position is unknown or several calls are possible. */
export function failedCall({ thrower }: GuestError, input: AnalysisInput): FailedCall | undefined {
  const calls = (input.program?.calls ?? []).map((call) => {
    const kind = kindOf(call, input);
    return { ...call, kind, exists: existence(call, kind, input) };
  });
  const taking = thrower ? calls.find(({ name }) => name === thrower) : undefined;
  if (taking !== undefined) return { ...taking, isArgument: true };
  const failed =
    calls.find(({ exists }) => exists === false) ?? calls.find(({ exists }) => exists === undefined);
  return failed && { ...failed, isArgument: false };
}
