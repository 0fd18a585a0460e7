/**
 * Advice about the expression that failed. QuickJS reports the column at which the expression of a failed read starts, so it
 * can be quoted; failed-call.ts finds a failed call. The variables where the program stopped show what an object contains.
 */
import type { AnalysisInput } from '../../../analysis/input.ts';
import { failedStatement, messageMatch, oneLine } from '../../../analysis/quote-guest-text.ts';
import { similarNames } from '../../../schema/similar-names.ts';
import type { GuestError } from '../../../schema.ts';
import { METHODS } from './advice.ts';
import { type FailedCall, failedCall, functionsOf, kindWithMethod } from './failed-call.ts';

const LINE_MAX = 2_000;
const CHAIN_MAX = 200;
/** A variable, followed by properties and simple indices. */
const MEMBERS = `[A-Za-z_$][\\w$]{0,60}(?:\\??\\.[A-Za-z_$#][\\w$]{0,60}|\\[[\\w$.'"+ -]{1,40}\\])`;

/** The text of the failed line up to the reported column; undefined if the position is unknown. */
function textToColumn({ line, column, file }: GuestError, source: string): string | undefined {
  if (typeof line !== 'number' || typeof column !== 'number' || file != null) return undefined;
  const text = source.split('\n')[line - 1];
  return text === undefined || column > Math.min(text.length, LINE_MAX)
    ? undefined
    : text.slice(0, column - 1);
}

/**
 * The expression that has no value, as in `user.address` if the read of `user.address.city` fails: the one at the reported
 * column, or the only one on the line.
 */
function undefinedExpression(error: GuestError, input: AnalysisInput, property: string): string | undefined {
  if (!/^[\w$]{1,80}$/.test(property)) return undefined;
  const read = `(${MEMBERS}{0,8}?)\\??\\.${property.replaceAll('$', '\\$')}(?![\\w$])`;
  if (textToColumn(error, input.source) !== undefined) {
    const found = new RegExp(`^${read}`).exec(lineRest(error, input.source))?.[1];
    if (found !== undefined) return found;
  }
  const statement = failedStatement(input);
  const all = [...statement.matchAll(new RegExp(`(?<![\\w$.\\])])${read}`, 'g'))].map(([, one]) => one);
  return new Set(all).size === 1 ? all[0] : undefined;
}

/** The names of the properties that a short form such as `{db: {1 item}, port: 1}` shows. */
const shownKeys = (text: string) =>
  /^\{.*\}$/.test(text)
    ? [...text.matchAll(/(?:^\{|, )([A-Za-z_$][\w$]{0,60}):/g)].map(([, key]) => key!)
    : [];

/** Advice for a property of null or undefined. */
export function undefinedValueLines(error: GuestError, input: AnalysisInput): (string | undefined)[] {
  const { source, stoppedAt } = input;
  const statement = failedStatement(input);
  const property = messageMatch(error, /property '([^']{1,80})' of/);
  const members = [...statement.matchAll(/\bthis\.([\w$]{1,80})/g)];
  if (/ of undefined$/.test(error.message) && members.some(([, name]) => name === property))
    return [
      `this is undefined: the function was called without its object. Call it as object.method(), or pass object.method.bind(object); in a callback use an arrow function, which keeps this`,
    ];
  const expression = undefinedExpression(error, input, property ?? '');
  if (expression === undefined && property === 'Symbol.iterator') {
    const [, list] = /\bof ([\w$.[\]]{1,100})\)/.exec(statement) ?? [];
    if (list !== undefined)
      return [`${list} is null or undefined`, `Check where it is set, or loop over ${list} ?? []`];
  }
  if (expression === undefined) return ['Check the value first, or use optional chaining: value?.property'];
  const shown = oneLine(expression, 100);
  const [, root, member] = /^([\w$]+)\.([\w$]+)$/.exec(expression) ?? [];
  const keys = root === undefined ? [] : shownKeys(stoppedAt?.variables[root] ?? '');
  const isMissing = member !== undefined && keys.length > 0 && !keys.includes(member);
  const [, list, index] = /^([\w$.]+)\[([\w$]+)\]$/.exec(expression) ?? [];
  const isPastEnd =
    list !== undefined && new RegExp(`\\b${index}\\s*<=\\s*${escaped(list)}\\.length`).test(source);
  return [
    `${shown} is null or undefined`,
    isMissing ? `${root} has the properties: ${keys.slice(0, 10).join(', ')}` : undefined,
    isPastEnd ? `The last index is ${list}.length - 1: use ${index} < ${list}.length` : undefined,
    ASYNC_FOR_EACH.test(source)
      ? 'forEach does not wait for an async callback: use for...of with await, or await Promise.all(items.map(...))'
      : undefined,
    isPastEnd
      ? undefined
      : `Check the value first, or use optional chaining: ${shown}?.${property ?? 'property'}`,
  ];
}

const ASYNC_FOR_EACH = /\.forEach\(\s{0,9}async\b/;
const escaped = (text: string) => text.replace(/[$.]/g, '\\$&');

/** What `Intl` of the guest has. */
const INTL_MEMBERS =
  'Collator DateTimeFormat DisplayNames ListFormat Locale NumberFormat PluralRules RelativeTimeFormat Segmenter getCanonicalLocales supportedValuesOf'.split(
    ' ',
  );

/** What programs can use instead of members that the guest does not have. */
const INTL_ALTERNATIVES: ReadonlyMap<string, string> = new Map([
  [
    'DurationFormat',
    "Format each unit with Intl.NumberFormat and { style: 'unit', unit: 'hour' }, and join the results with Intl.ListFormat and { type: 'unit' }",
  ],
  ['v8BreakIterator', 'Use Intl.Segmenter'],
]);
/** A member of `Intl` that is constructed or called. */
const INTL_USE =
  /\bnew\s{1,9}\(?Intl(?:\.([A-Za-z_$][\w$]{0,60})|\[['"]([\w$]{1,60})['"]\])|\bIntl\.([A-Za-z_$][\w$]{0,60})\(/g;
const INTL_DESTRUCTURED = /\{([\w$\s,:]{1,400})\}\s{0,9}=\s{0,9}Intl\b(?!\.)/g;

/** The members of `Intl` that the failed statement uses. */
const usedIntlMembers = (input: AnalysisInput) =>
  [...failedStatement(input).matchAll(INTL_USE)].map(([, a, b, c]) => a ?? b ?? c!);

/** The members of `Intl` that a variable may contain, as in `const { DurationFormat } = Intl`. */
const destructuredIntlMembers = (variable: string, input: AnalysisInput) =>
  [...input.source.matchAll(INTL_DESTRUCTURED)]
    .flatMap(([, names]) => names!.split(','))
    .map((one) => one.split(':').map((part) => part.trim()))
    .flatMap(([member, local = member]) => (local === variable ? [member!] : []));

/** Advice if one of these members of `Intl` does not exist in the guest. */
function missingIntlLines(members: readonly string[]): string[] | undefined {
  const missing = members.find((member) => !INTL_MEMBERS.includes(member));
  if (missing === undefined) return undefined;
  const alternative = INTL_ALTERNATIVES.get(missing);
  return [
    `Intl.${oneLine(missing, 60)} is not available in the sandbox`,
    ...(alternative === undefined ? [] : [alternative]),
    `Intl has: ${INTL_MEMBERS.join(', ')}`,
  ];
}

/** What a program can call on a value, if a method does not exist. */
function methodLine({ name, owner, kind }: FailedCall): string | undefined {
  if (name === undefined || kind === undefined) return undefined;
  const similar = similarNames(name, functionsOf(kind), 1)[0];
  if (similar !== undefined) return `Did you mean ${oneLine(owner!, 60)}.${similar}()?`;
  const other = kindWithMethod(name);
  if (other === undefined) return undefined;
  const conversion =
    other.plural === 'numbers' ? `: convert it with Number(${oneLine(owner!, 60)}) first` : '';
  return `${name} is a method of ${other.plural}, and the value is ${kind.title}${conversion}`;
}

const isGeneratorFunction = (name: string, source: string) =>
  /^[\w$]{1,60}$/.test(name) && new RegExp(`\\bfunction\\s{0,9}\\*\\s{0,9}${escaped(name)}\\b`).test(source);

/** The class after `new` at the reported column, as in `Math.Foo`. */
function constructedName(error: GuestError, source: string): string | undefined {
  if (!/\bnew\s{1,9}$/.test(textToColumn(error, source) ?? '')) return undefined;
  return /^[\w$]{1,60}(?:\.[\w$]{1,60}){0,8}/.exec(lineRest(error, source))?.[0];
}

/** Advice for a method of arrays that is called on a plain object, whose short form is `{a: 1}`. */
function objectMethodLine({ name, owner }: FailedCall, value: string | undefined): string | undefined {
  if (owner === undefined || name === undefined || !/^\{.*\}$/s.test(value ?? '')) return undefined;
  if (kindWithMethod(name)?.plural !== 'arrays') return undefined;
  const shown = oneLine(owner, 60);
  return `${shown} is an object, not an array: use Object.values(${shown}).${name}(...) or Object.entries(${shown})`;
}

/** Advice for a call to a value that is not a function. */
export function notCallableLines(error: GuestError, input: AnalysisInput): (string | undefined)[] {
  const { source, stoppedAt } = input;
  const constructed = constructedName(error, source);
  const call = constructed === undefined ? failedCall(error, input) : undefined;
  const name = constructed ?? call?.callee;
  const isIntl = name === undefined || /^Intl(?![\w$])/.test(name);
  const intlLines = missingIntlLines(isIntl ? usedIntlMembers(input) : destructuredIntlMembers(name, input));
  if (intlLines !== undefined) return intlLines;
  if (constructed !== undefined)
    return [`${oneLine(constructed, 120)} is not a constructor: it does not exist or is not a class`];
  if (call === undefined) return [SPELLING];
  const called = oneLine(call.callee, 120);
  if (call.isArgument) return [`An argument of ${called} must be a function, and is none`];
  const { owner, kind } = call;
  const value = stoppedAt?.variables[owner ?? call.callee];
  const shown = value === undefined ? '' : `: ${oneLine(owner ?? call.callee, 60)} is ${oneLine(value, 80)}`;
  const entries = objectMethodLine(call, value);
  const other = METHODS.get(call.name ?? '');
  const generator = owner !== undefined && isGeneratorFunction(owner, source) ? owner : undefined;
  return [
    `${called} is not a function${shown}`,
    entries ?? (other && `Instead of ${call.name}() use ${other}`) ?? methodLine(call),
    generator && `${generator} is a generator function: call it first, as in const iterator = ${generator}()`,
    kind === undefined && generator === undefined && entries === undefined ? SPELLING : undefined,
  ];
}

const SPELLING =
  'Check the spelling of the method and the type of the value (strings and objects have no array methods)';

/** The text of the failed line from the reported column on. */
function lineRest({ line, column }: GuestError, source: string): string {
  return source.split('\n')[line! - 1]!.slice(column! - 1, column! + CHAIN_MAX);
}

/** Advice for a call to Promise.all with separate arguments. */
export function promiseListLine(statement: string): string | undefined {
  const [, name] = /\bPromise\.(all|allSettled|any|race)\((?!\s*\[)/.exec(statement) ?? [];
  return name && `Promise.${name} takes one array: Promise.${name}([first, second])`;
}
