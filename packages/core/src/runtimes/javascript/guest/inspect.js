/**
 * util.inspect: formats a value as Node.js prints it. Getters and proxy traps are not run. The total number of entries
 * is limited, so that printing a huge object does not exhaust the fuel or the memory of a program.
 */
import { BOXES, boxedBase, functionBase } from './inspect-boxes-and-functions.js';
import {
  formatArray,
  formatBytes,
  formatIterator,
  formatMap,
  formatNothing,
  formatPromise,
  formatSet,
  formatTypedArray,
  formatWeak,
  sizeOf,
} from './inspect-entries.js';
import { formatError } from './inspect-error.js';
import {
  escapeName,
  escapeSymbol,
  formatNumber,
  formatPrimitive,
  joinEntries,
  quote,
  style,
} from './inspect-text.js';
import { classOf, proxyHandler, withoutProxy } from './value-types.js';

export const customInspect = Symbol.for('nodejs.util.inspect.custom');
export const defaultOptions = {
  showHidden: false,
  depth: 2,
  colors: false,
  customInspect: true,
  showProxy: false,
  maxArrayLength: 100,
  maxStringLength: 10_000,
  breakLength: 80,
  compact: 3,
  sorted: false,
  getters: false,
  numericSeparator: false,
};
/** Entries of all objects together. */
const MAX_ENTRIES = 6000;
const OBJECT = 0;
export const ARRAY = 1;
const ARRAY_EXTRA = 2;
const IDENTIFIER = /^[a-zA-Z_][a-zA-Z_0-9]*$/;
export const INDEX = /^(0|[1-9][0-9]*)$/;

const { InternalError } = globalThis;
const {
  getOwnPropertyDescriptor,
  getOwnPropertyNames,
  getOwnPropertySymbols,
  getPrototypeOf,
  hasOwn,
  keys: enumerableKeys,
} = Object;
const isEnumerable = (value, key) => Object.prototype.propertyIsEnumerable.call(value, key);

export function typeName(value) {
  if (value === null) return 'null';
  if (typeof value !== 'object') return typeof value;
  for (let object = value; object !== null; object = getPrototypeOf(object)) {
    const descriptor = getOwnPropertyDescriptor(object, 'constructor');
    if (typeof descriptor?.value === 'function' && descriptor.value.name)
      return String(descriptor.value.name);
  }
  return 'Object';
}

function isInstance(value, type) {
  try {
    return value instanceof type;
  } catch {
    return false;
  }
}

const objectPrototype = Object.prototype;
const arrayPrototype = Array.prototype;
const isOriginal = (prototype, type) => prototype.constructor === type;

function constructorName(ctx, object, recurseTimes) {
  // Most objects are plain.
  const prototype = getPrototypeOf(object);
  if (prototype === arrayPrototype && isOriginal(prototype, Array) && !hasOwn(object, 'constructor'))
    return 'Array';
  if (prototype === objectPrototype && isOriginal(prototype, Object) && !hasOwn(object, 'constructor'))
    return 'Object';
  let first;
  for (let current = object; current !== null; ) {
    const descriptor = getOwnPropertyDescriptor(current, 'constructor');
    const type = descriptor?.value;
    if (typeof type === 'function' && type.name !== '' && isInstance(object, type)) return String(type.name);
    current = getPrototypeOf(current);
    if (first === undefined) first = current;
  }
  if (first === null) return null;
  const name = classOf(object) ?? 'Object';
  if (ctx.depth !== null && recurseTimes > ctx.depth) return `${name} <Complex prototype>`;
  const parent = constructorName(ctx, first, recurseTimes + 1);
  return `${name} <${parent === null ? inspect(first, { ...ctx, customInspect: false, depth: -1 }) : parent}>`;
}

export function prefixOf(constructor, tag, fallback, size = '') {
  if (constructor === null) {
    const label = `[${fallback}${size}: null prototype] `;
    return tag !== '' && fallback !== tag ? `${label}[${tag}] ` : label;
  }
  return tag !== '' && constructor !== tag ? `${constructor}${size} [${tag}] ` : `${constructor}${size} `;
}

function keysOf(value, showHidden) {
  const symbols = getOwnPropertySymbols(value);
  if (showHidden) return [...getOwnPropertyNames(value), ...symbols];
  const keys = enumerableKeys(value);
  return symbols.length === 0 ? keys : [...keys, ...symbols.filter((key) => isEnumerable(value, key))];
}

/** Arrays above this length are printed without properties other than their elements, to save the cost of listing them. */
const MAX_LISTED = 10_000;

/** The keys of an array that are not indices. Indices are first in the list of keys. */
function nonIndexKeys(value, showHidden) {
  if (value.length > MAX_LISTED) return [];
  const keys = keysOf(value, showHidden);
  let start = keys.length;
  while (start > 0 && (typeof keys[start - 1] === 'symbol' || !INDEX.test(keys[start - 1]))) start--;
  return keys.slice(start);
}

/** Counts an entry. False if there are too many in all objects together. */
export function isWithinLimit(ctx) {
  return ctx.entries++ < MAX_ENTRIES;
}

function formatAccessor(ctx, value, recurseTimes, { get, set }) {
  const label = set === undefined ? 'Getter' : 'Getter/Setter';
  const isWanted =
    ctx.getters === true ||
    (ctx.getters === 'get' && set === undefined) ||
    (ctx.getters === 'set' && set !== undefined);
  if (!isWanted) return style(ctx, `[${label}]`, 'special');
  try {
    const found = get.call(value);
    ctx.indentationLvl += 2;
    const text = formatValue(ctx, found, recurseTimes);
    ctx.indentationLvl -= 2;
    const isNested = typeof found === 'object' && found !== null;
    return isNested
      ? `${style(ctx, `[${label}]`, 'special')} ${text}`
      : `${style(ctx, `[${label}:`, 'special')} ${text}${style(ctx, ']', 'special')}`;
  } catch (error) {
    return style(ctx, `[${label}: <Inspection threw (${error.message})>]`, 'special');
  }
}

export function formatProperty(ctx, value, recurseTimes, key, type) {
  const descriptor = getOwnPropertyDescriptor(value, key) ?? {
    value: value[key],
    configurable: true,
    enumerable: true,
  };
  let text;
  let space = ' ';
  if (descriptor.value !== undefined) {
    const indentation = ctx.compact !== true || type !== OBJECT ? 2 : 3;
    ctx.indentationLvl += indentation;
    text = formatValue(ctx, descriptor.value, recurseTimes);
    if (indentation === 3 && ctx.breakLength < text.length) space = `\n${' '.repeat(ctx.indentationLvl)}`;
    ctx.indentationLvl -= indentation;
  } else if (descriptor.get !== undefined) text = formatAccessor(ctx, value, recurseTimes, descriptor);
  else if (descriptor.set !== undefined) text = style(ctx, '[Setter]', 'special');
  else text = style(ctx, 'undefined', 'undefined');
  if (type === ARRAY) return text;
  return `${propertyName(ctx, key, descriptor.enumerable)}:${space}${text}`;
}

function propertyName(ctx, key, enumerable) {
  if (typeof key === 'symbol') return `[${style(ctx, escapeSymbol(key), 'symbol')}]`;
  if (key === '__proto__') return "['__proto__']";
  if (enumerable === false) return `[${escapeName(String(key))}]`;
  return IDENTIFIER.test(key) ? `${key}` : style(ctx, quote(String(key)), 'string');
}

/** The parts of an object's text, or its whole text. */
function describeIterable(ctx, value, kind, constructor, tag) {
  if (kind === 'Array') {
    const prefix =
      constructor !== 'Array' || tag !== '' ? prefixOf(constructor, tag, 'Array', `(${value.length})`) : '';
    const keys = nonIndexKeys(value, ctx.showHidden);
    if (value.length === 0 && keys.length === 0) return `${prefix}[]`;
    return { braces: [`${prefix}[`, ']'], keys, format: formatArray, isArray: true };
  }
  if (kind === 'Set' || kind === 'Map') {
    const size = sizeOf(value, kind === 'Set' ? Set : Map);
    const prefix = prefixOf(constructor, tag, kind, `(${size})`);
    const keys = keysOf(value, ctx.showHidden);
    if (size === 0 && keys.length === 0) return `${prefix}{}`;
    return { braces: [`${prefix}{`, '}'], keys, format: kind === 'Set' ? formatSet : formatMap };
  }
  if (ArrayBuffer.isView(value) && kind !== 'DataView') {
    const keys = nonIndexKeys(value, ctx.showHidden).filter(
      (key) => !ctx.showHidden || typeof key === 'symbol',
    );
    const prefix = prefixOf(constructor, tag, kind, `(${value.length})`);
    if (value.length === 0 && keys.length === 0 && !ctx.showHidden) return `${prefix}[]`;
    return { braces: [`${prefix}[`, ']'], keys, format: formatTypedArray, isArray: true };
  }
  if (kind === 'Map Iterator' || kind === 'Set Iterator') {
    const { label, format } = formatIterator(value, kind);
    const ownTag = tag !== '' && !tag.startsWith(kind.slice(0, 3)) ? `[${tag}] ` : '';
    return { braces: [`[${label}] ${ownTag}{`, '}'], keys: keysOf(value, ctx.showHidden), format };
  }
  return undefined;
}

function describeObject(ctx, value, kind, constructor, tag, isNested) {
  const keys = keysOf(value, ctx.showHidden);
  const braces = ['{', '}'];
  const parts = (base, format = formatNothing) => ({ braces, keys, base, format });
  if (constructor === 'Object' && kind !== 'Error') {
    if (kind === 'Arguments') braces[0] = '[Arguments] {';
    else if (tag !== '') braces[0] = `${prefixOf(constructor, tag, 'Object')}{`;
    return keys.length === 0 ? `${braces[0]}}` : parts('');
  }
  const named = (fallback) => {
    braces[0] = `${prefixOf(constructor, tag, fallback)}{`;
    return braces[0].slice(0, -1);
  };
  const withBase = (base, type) =>
    keys.length === 0 ? style(ctx, base, type) : parts(style(ctx, base, type));
  if (typeof value === 'function') return withBase(functionBase(value, constructor, tag), 'special');
  if (kind === 'RegExp') {
    const prefix = prefixOf(constructor, tag, 'RegExp');
    const text = RegExp.prototype.toString.call(value);
    return withBase(prefix === 'RegExp ' ? text : `${prefix}${text}`, 'regexp');
  }
  if (kind === 'Date') {
    const time = Date.prototype.getTime.call(value);
    const prefix = prefixOf(constructor, tag, 'Date');
    const text = Number.isNaN(time) ? 'Invalid Date' : Date.prototype.toISOString.call(value);
    return withBase(prefix === 'Date ' ? text : `${prefix}${text}`, 'date');
  }
  if (kind === 'Error' || value instanceof Error)
    return withBase(formatError(ctx, value, constructor, tag, keys), undefined);
  if (kind === 'ArrayBuffer' || kind === 'SharedArrayBuffer') {
    const prefix = named(kind);
    if (isNested) return `${prefix}{ byteLength: ${formatNumber(ctx, value.byteLength)} }`;
    keys.unshift('byteLength');
    return parts('', formatBytes);
  }
  if (kind === 'DataView') {
    named(kind);
    keys.unshift('byteLength', 'byteOffset', 'buffer');
    return parts('');
  }
  if (kind === 'Promise') return named(kind) && parts('', formatPromise);
  if (kind === 'WeakSet' || kind === 'WeakMap') return named(kind) && parts('', formatWeak);
  if (kind === 'Module' || (tag === 'Module' && constructor === null)) return named('Module') && parts('');
  if (Object.hasOwn(BOXES, kind)) {
    const base = boxedBase(ctx, value, kind, keys, constructor, tag);
    return keys.length === 0 ? base : parts(base);
  }
  const prefix = prefixOf(constructor, tag, 'Object');
  if (keys.length === 0) return `${prefix}{}`;
  braces[0] = `${prefix}{`;
  return parts('');
}

function formatRaw(ctx, value, kind, recurseTimes, isNested) {
  const constructor = constructorName(ctx, value, recurseTimes);
  let tag = value[Symbol.toStringTag];
  if (
    typeof tag !== 'string' ||
    (tag !== '' && (ctx.showHidden ? hasOwn : isEnumerable)(value, Symbol.toStringTag))
  )
    tag = '';
  const isIterable = constructor === null || Symbol.iterator in value;
  const found =
    (isIterable ? describeIterable(ctx, value, kind, constructor, tag) : undefined) ??
    describeObject(ctx, value, kind, constructor, tag, isNested);
  if (typeof found === 'string') return found;
  if (ctx.depth !== null && recurseTimes > ctx.depth) {
    const label = prefixOf(constructor, tag, kind === 'Array' ? 'Array' : 'Object').slice(0, -1);
    return style(ctx, constructor === null ? label : `[${label}]`, 'special');
  }
  ctx.seen.push(value);
  ctx.currentDepth = recurseTimes + 1;
  const output = found.format(ctx, value, recurseTimes + 1);
  let shown = 0;
  for (const key of found.keys) {
    if (!isWithinLimit(ctx)) {
      output.push(`... ${found.keys.length - shown} more`);
      break;
    }
    shown++;
    output.push(formatProperty(ctx, value, recurseTimes + 1, key, found.isArray ? ARRAY_EXTRA : OBJECT));
  }
  let base = found.base ?? '';
  const index = ctx.circular?.get(value);
  if (index !== undefined) {
    const reference = style(ctx, `<ref *${index}>`, 'special');
    if (ctx.compact === true) found.braces[0] = `${reference} ${found.braces[0]}`;
    else base = base === '' ? reference : `${reference} ${base}`;
  }
  ctx.seen.pop();
  if (ctx.sorted && !found.isArray) output.sort(ctx.sorted === true ? undefined : ctx.sorted);
  return joinEntries(ctx, output, base, found.braces, found.isArray === true, recurseTimes + 1, value);
}

function formatProxy(ctx, value, recurseTimes) {
  if (ctx.depth !== null && recurseTimes > ctx.depth) return style(ctx, 'Proxy [Array]', 'special');
  ctx.indentationLvl += 2;
  const parts = [withoutProxy(value), proxyHandler(value)].map((part) =>
    formatValue(ctx, part, recurseTimes + 1),
  );
  ctx.indentationLvl -= 2;
  return joinEntries(ctx, parts, '', ['Proxy [', ']'], true, recurseTimes + 1);
}

export function formatValue(ctx, input, recurseTimes, isNested = false) {
  if ((typeof input !== 'object' && typeof input !== 'function') || input === null)
    return formatPrimitive(ctx, input);
  let value = input;
  let kind = classOf(input);
  if (kind === 'Proxy') {
    if (ctx.showProxy) return formatProxy(ctx, input, recurseTimes);
    value = withoutProxy(input);
    if (value === null) return style(ctx, '<Revoked Proxy>', 'special');
    kind = classOf(value);
  }
  const custom = ctx.customInspect ? value[customInspect] : undefined;
  if (typeof custom === 'function' && custom !== inspect && value.constructor?.prototype !== value) {
    const depth = ctx.depth === null ? null : ctx.depth - recurseTimes;
    const answer = custom.call(input, depth, userOptions(ctx), inspect);
    if (answer !== input) {
      if (typeof answer !== 'object')
        return `${String(answer)}`.replaceAll('\n', `\n${' '.repeat(ctx.indentationLvl)}`);
      return formatValue(ctx, answer, recurseTimes).replaceAll('\n', `\n${' '.repeat(ctx.indentationLvl)}`);
    }
  }
  if (ctx.seen.includes(value)) {
    ctx.circular ??= new Map();
    if (!ctx.circular.has(value)) ctx.circular.set(value, ctx.circular.size + 1);
    return style(ctx, `[Circular *${ctx.circular.get(value)}]`, 'special');
  }
  return formatRaw(ctx, value, kind, recurseTimes, isNested);
}

/** The options that a custom inspection function receives. */
function userOptions(ctx) {
  const options = { stylize: (text, type) => style(ctx, `${text}`, type) };
  for (const key of Object.keys(defaultOptions)) options[key] = ctx[key];
  return options;
}

/** `inspect(value, options)` or the older `inspect(value, showHidden, depth, colors)`. */
export function inspect(value, options, ...older) {
  const ctx = {
    seen: [],
    entries: 0,
    indentationLvl: 0,
    currentDepth: 0,
    circular: undefined,
    ...defaultOptions,
  };
  if (typeof options === 'boolean') ctx.showHidden = options;
  else if (typeof options === 'object' && options !== null) {
    for (const key in options)
      if (key in defaultOptions && options[key] !== undefined) ctx[key] = options[key];
  }
  if (older.length > 0 && older[0] !== undefined) ctx.depth = older[0];
  if (older.length > 1 && older[1] !== undefined) ctx.colors = older[1];
  if (ctx.maxArrayLength === null) ctx.maxArrayLength = Number.POSITIVE_INFINITY;
  if (ctx.maxStringLength === null) ctx.maxStringLength = Number.POSITIVE_INFINITY;
  return formatValue(ctx, value, 0);
}
inspect.custom = customInspect;
inspect.defaultOptions = defaultOptions;

/** Like `inspect`, but never throws: for reports, which must not fail because of what a program defined. */
export function safeInspect(value, options) {
  try {
    return inspect(value, options);
  } catch (error) {
    if (error instanceof RangeError || error instanceof InternalError) return '[Object nested too deeply]';
    return '[Object that cannot be inspected]';
  }
}
