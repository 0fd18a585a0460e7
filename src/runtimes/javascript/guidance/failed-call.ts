/**
 * Finds the call that failed with "not a function". QuickJS reports the position of the last name that it read before the
 * call: that of the function or of an argument. So the calls around the position are candidates, from the innermost outwards,
 * except those whose function exists. Linear in the length of the program, which is limited.
 */
import type { AnalysisInput } from '../../../analysis/input.ts';
import type { GuestError } from '../../../schema.ts';
import { endsOperand, type Token, tokenize } from '../tokenizer.ts';

const SOURCE_MAX = 100_000;
const MAX_CANDIDATES = 20;
/** Words before a parenthesis that does not start the arguments of a call. */
const KEYWORDS: ReadonlySet<string> = new Set(
  'async await case catch delete do else for function if in of return super switch throw typeof void while with yield'.split(
    ' ',
  ),
);

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

export interface FailedCall {
  /** The called expression, as in `Math.rnd`. */
  readonly callee: string;
  /** Its last name, as in `rnd`; undefined for an expression such as `items[0]`. */
  readonly name: string | undefined;
  /** The object of a method, as in `Math`. */
  readonly owner: string | undefined;
  /** What the object is, if it is known. */
  readonly kind: ValueKind | undefined;
  /** The calls exist: an argument of the innermost one must be a function and is none. */
  readonly isArgument: boolean;
}

/** Tokens of a called expression. */
interface Callee {
  readonly start: number;
  readonly end: number;
}

const isDot = (token: Token | undefined) => token?.text === '.' || token?.text === '?.';
const isWord = (token: Token | undefined): token is Token => token?.kind === 'word';

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

/** The index of the token at the reported position. */
function tokenAt(tokens: readonly Token[], { line, column }: GuestError, source: string): number {
  let start = 0;
  for (let i = 1; i < line!; i++) {
    start = source.indexOf('\n', start) + 1;
    if (start === 0) return -1;
  }
  const at = start + column! - 1;
  const exact = tokens.findIndex((token) => token.start === at);
  // On the first line, the columns of called names are one too small.
  if (line !== 1 || (exact >= 0 && tokens[exact]!.kind !== 'punctuator')) return exact;
  return tokens.findIndex((token) => token.start === at + 1);
}

/** The index of the bracket that opens the one at `close`. */
function openingOf(tokens: readonly Token[], close: number): number {
  const { depth } = tokens[close]!;
  let at = close - 1;
  while (at > 0 && tokens[at]!.depth > depth) at--;
  return at;
}

/** The index of the bracket that closes the one at `open`. */
function closingOf(tokens: readonly Token[], open: number): number {
  const { depth } = tokens[open]!;
  let at = open + 1;
  while (at < tokens.length - 1 && tokens[at]!.depth > depth) at++;
  return at;
}

/** The first token of the chain of names, calls and indices that ends at `end`. */
function chainStart(tokens: readonly Token[], end: number): number {
  let at = end;
  for (;;) {
    const isGroup = tokens[at]!.text === ')' || tokens[at]!.text === ']';
    if (isGroup) at = openingOf(tokens, at);
    const previous = tokens[at - 1];
    if (isDot(previous) && at >= 2) at -= 2;
    else if (isGroup && isOperand(tokens, at)) at--;
    else return at;
  }
}

/** Whether the tokens before `i` end an operand, so that a bracket at `i` belongs to it. */
const isOperand = (tokens: readonly Token[], i: number) =>
  i > 0 && endsOperand(tokens.slice(Math.max(0, i - 2), i)) && !KEYWORDS.has(tokens[i - 1]!.text);

/** The called expression that contains token `i`, if it is called. */
function calleeAt(tokens: readonly Token[], i: number): Callee | undefined {
  if (!isWord(tokens[i]) || KEYWORDS.has(tokens[i]!.text)) return undefined;
  let end = i;
  for (;;) {
    if (isDot(tokens[end + 1]) && isWord(tokens[end + 2])) end += 2;
    else if (tokens[end + 1]?.text === '[') end = closingOf(tokens, end + 1);
    else break;
  }
  const next = tokens[end + 1];
  const isCalled =
    next?.text === '(' || next?.kind === 'template' || (isDot(next) && tokens[end + 2]?.text === '(');
  return isCalled ? { start: chainStart(tokens, i), end } : undefined;
}

/** The calls in whose arguments token `i` is, innermost first, up to the function that contains them. */
function enclosingCalls(tokens: readonly Token[], i: number): Callee[] {
  const found: Callee[] = [];
  let { depth } = tokens[i]!;
  for (let at = i - 1; at >= 0 && depth > 0 && found.length < MAX_CANDIDATES; at--) {
    const token = tokens[at]!;
    if (token.depth === depth && token.text === '=>') break;
    if (token.depth >= depth) continue;
    depth = token.depth;
    if (token.text === '{' && tokens[closingOf(tokens, at)]!.endsBlock) break;
    if (token.text !== '(') continue;
    const end = tokens[at - 1]?.text === '?.' ? at - 2 : at - 1;
    if (isOperand(tokens, end + 1)) found.push({ start: chainStart(tokens, end), end });
  }
  return found;
}

/** What the operand of these tokens is, as far as the program and its variables show. */
function kindOf(
  tokens: readonly Token[],
  { start, end }: Callee,
  input: AnalysisInput,
): ValueKind | undefined {
  const { kind, text } = tokens[start]!;
  if (text === '[' && closingOf(tokens, start) === end) return ARRAY;
  if (start !== end) return undefined;
  if (kind === 'string' || kind === 'template') return TEXT;
  if (kind === 'number') return NUMBER;
  if (kind === 'regex') return REGEX;
  const value = input.stoppedAt?.variables[text];
  if (value !== undefined) return KINDS_BY_FORM.find(([form]) => form.test(value))?.[1];
  return Object.hasOwn(GLOBAL_OBJECTS, text)
    ? { title: `the object ${text}`, methods: GLOBAL_OBJECTS[text]! }
    : undefined;
}

/** Whether the program declares a function or a class with this name. */
function declaresFunction(tokens: readonly Token[], name: string): boolean {
  return tokens.some(({ text }, i) => {
    if (text !== name || isDot(tokens[i - 1])) return false;
    const before = tokens[tokens[i - 1]?.text === '*' ? i - 2 : i - 1]?.text;
    if (before === 'function' || before === 'class') return true;
    const value = i + 2;
    if (tokens[i + 1]?.text !== '=' || tokens[value] === undefined) return false;
    if (['function', 'async', 'class'].includes(tokens[value]!.text)) return true;
    const after = tokens[value]!.text === '(' ? closingOf(tokens, value) : value;
    return tokens[after + 1]?.text === '=>';
  });
}

type Described = Omit<FailedCall, 'isArgument'> & { readonly exists: boolean | undefined };

function describe(tokens: readonly Token[], callee: Callee, input: AnalysisInput): Described {
  const { start, end } = callee;
  const textOf = (from: number, to: number) => input.source.slice(tokens[from]!.start, tokens[to]!.end);
  const name = isWord(tokens[end]) ? tokens[end]!.text : undefined;
  const ownerEnd = name !== undefined && isDot(tokens[end - 1]) ? end - 2 : undefined;
  const kind = ownerEnd === undefined ? undefined : kindOf(tokens, { start, end: ownerEnd }, input);
  let exists: boolean | undefined;
  if (kind !== undefined) exists = hasFunction(kind.methods, name!);
  else if (ownerEnd === undefined && name !== undefined) {
    const isData = input.stoppedAt?.variables[name] !== undefined;
    const isKnown = GLOBAL_FUNCTIONS.has(name) || Object.hasOwn(GLOBAL_OBJECTS, name);
    exists = isData ? false : isKnown || declaresFunction(tokens, name) ? true : undefined;
  }
  const owner = ownerEnd === undefined ? undefined : textOf(start, ownerEnd);
  return { callee: textOf(start, end), name, owner, kind, exists };
}

/** The call that failed; undefined if the position is unknown or several calls are possible. */
export function failedCall(error: GuestError, input: AnalysisInput): FailedCall | undefined {
  if (typeof error.line !== 'number' || typeof error.column !== 'number' || error.file != null)
    return undefined;
  const tokens = tokenize(input.source, { maxLength: SOURCE_MAX });
  const at = tokens === undefined ? -1 : tokenAt(tokens, error, input.source);
  if (tokens === undefined || at < 0) return undefined;
  const own = calleeAt(tokens, at);
  const calls = [...(own === undefined ? [] : [own]), ...enclosingCalls(tokens, at)].map((callee) =>
    describe(tokens, callee, input),
  );
  const taking = error.thrower ? calls.find(({ name }) => name === error.thrower) : undefined;
  if (taking !== undefined) return { ...taking, isArgument: true };
  const failed =
    calls.find(({ exists }) => exists === false) ?? calls.find(({ exists }) => exists === undefined);
  return failed && { ...failed, isArgument: false };
}
