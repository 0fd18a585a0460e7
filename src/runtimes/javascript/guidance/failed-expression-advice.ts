/**
 * Advice about the expression that failed. QuickJS reports the column at which the expression of a failed read starts,
 * and the column of the name of a failed call or of one of its arguments, so both expressions can be quoted. The variables
 * where the program stopped show what an object contains.
 */
import type { AnalysisInput } from '../../../analysis/input.ts';
import { failedStatement, messageMatch, oneLine } from '../../../analysis/quote-guest-text.ts';
import type { GuestError } from '../../../schema.ts';

const LINE_MAX = 2_000;
const CHAIN_MAX = 200;
/** A variable, followed by properties and simple indices. */
const MEMBERS = `[A-Za-z_$][\\w$]{0,60}(?:\\??\\.[A-Za-z_$#][\\w$]{0,60}|\\[[\\w$.'"+ -]{1,40}\\])`;
const CHAIN =
  /(?<![\w$.\])])[A-Za-z_$][\w$]{0,60}(?:\??\.[A-Za-z_$#][\w$]{0,60}|\[[\w$.'"+ -]{1,40}\]){0,8}$/;

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

/** The expression whose property is at the reported column, as in `user.address` for `user.address.city`. */
function objectExpression(error: GuestError, source: string): string | undefined {
  const before = textToColumn(error, source)?.slice(-CHAIN_MAX);
  const owner = before === undefined ? undefined : /^(.*?)\??\.?$/.exec(before)?.[1];
  return owner === undefined ? undefined : CHAIN.exec(owner)?.[0];
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

const NUMBER_METHODS: ReadonlySet<string> = new Set(['toFixed', 'toPrecision', 'toExponential']);

/** What `Intl` of the guest has. */
const INTL_MEMBERS = [
  'Collator',
  'DateTimeFormat',
  'DisplayNames',
  'ListFormat',
  'Locale',
  'NumberFormat',
  'PluralRules',
  'RelativeTimeFormat',
  'Segmenter',
  'getCanonicalLocales',
  'supportedValuesOf',
];

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

const NEW = /\bnew\s{1,9}$/;
/** A name that is called. */
const CALL = /^(?!(?:async|function)\b)[A-Za-z_$][\w$]{0,60}\s{0,9}(?:\?\.\s{0,9})?[(`]/;
const LAST_NAME = /(?<![\w$])[A-Za-z_$][\w$]{0,60}\s{0,9}$/;
/** Words before a parenthesis that does not start the arguments of a call. */
const KEYWORDS: ReadonlySet<string> = new Set(
  'async await case catch delete for function if in of return switch throw typeof void while yield'.split(
    ' ',
  ),
);
const TEXT_LITERALS = /'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\.|[^`\\])*`/g;

/** The position of the parenthesis that is open at the end of the text; undefined if another bracket is. */
function openParenthesis(text: string): number | undefined {
  const code = text.replace(TEXT_LITERALS, (literal) => ' '.repeat(literal.length));
  let closed = 0;
  for (let i = code.length - 1; i >= 0; i--) {
    if (')]}'.includes(code[i]!)) closed++;
    else if ('([{'.includes(code[i]!) && closed-- === 0) return code[i] === '(' ? i : undefined;
  }
  return undefined;
}

/** The error with the column of the called name, if the reported column is that of an argument. */
function atCalledName(error: GuestError, source: string): GuestError | undefined {
  const before = textToColumn(error, source);
  if (before === undefined) return undefined;
  if (NEW.test(before) || CALL.test(lineRest(error, source))) return error;
  const open = openParenthesis(before);
  const name = open === undefined ? null : LAST_NAME.exec(before.slice(0, open));
  return name === null || KEYWORDS.has(name[0].trimEnd()) ? undefined : { ...error, column: name.index + 1 };
}

/** Advice for a call to a value that is not a function. */
export function notCallableLines(reported: GuestError, input: AnalysisInput): (string | undefined)[] {
  const { source, stoppedAt } = input;
  const error = atCalledName(reported, source);
  if (error === undefined) return missingIntlLines(usedIntlMembers(input)) ?? [];
  const before = textToColumn(error, source)!;
  const rest = lineRest(error, source);
  const name = /^[A-Za-z_$][\w$]{0,60}/.exec(rest)?.[0];
  if (name === undefined || name === 'new') return missingIntlLines(usedIntlMembers(input)) ?? [];
  // For `new`, the column is that of the whole expression.
  const constructed = NEW.test(before) ? /^[\w$]{1,60}\.[\w$.]{1,120}/.exec(rest)?.[0] : undefined;
  const owner = before.endsWith('.') ? objectExpression(error, source) : undefined;
  const isVariable =
    name !== 'Intl' && owner === undefined && constructed === undefined && !before.endsWith('.');
  const intlMembers = isVariable
    ? destructuredIntlMembers(name, input)
    : name === 'Intl' || owner === 'Intl'
      ? usedIntlMembers(input)
      : [];
  const intlLines = missingIntlLines(intlMembers);
  if (intlLines !== undefined) return intlLines;
  if (constructed !== undefined)
    return [`${oneLine(constructed, 120)} is not a constructor: it does not exist or is not a class`];
  const value = owner === undefined ? undefined : stoppedAt?.variables[owner];
  const isGenerator =
    owner !== undefined && new RegExp(`\\bfunction\\s{0,9}\\*\\s{0,9}${escaped(owner)}\\b`).test(source);
  if (before.endsWith('.') && owner === undefined) return [`${name} is not a function`];
  const called = owner === undefined ? name : `${owner}.${name}`;
  return [
    `${oneLine(called, 120)} is not a function${value === undefined ? '' : `: ${oneLine(owner!, 60)} is ${oneLine(value, 80)}`}`,
    NUMBER_METHODS.has(name) && value?.startsWith('"')
      ? `${name} is a method of numbers, and the value is text: convert it with Number(${oneLine(owner!, 60)}) first`
      : undefined,
    isGenerator
      ? `${owner} is a generator function: call it first, as in const iterator = ${owner}()`
      : undefined,
  ];
}

/** The text of the failed line from the reported column on. */
function lineRest({ line, column }: GuestError, source: string): string {
  return source.split('\n')[line! - 1]!.slice(column! - 1, column! + CHAIN_MAX);
}

/** Advice for a call to Promise.all with separate arguments. */
export function promiseListLine(statement: string): string | undefined {
  const [, name] = /\bPromise\.(all|allSettled|any|race)\((?!\s*\[)/.exec(statement) ?? [];
  return name && `Promise.${name} takes one array: Promise.${name}([first, second])`;
}
