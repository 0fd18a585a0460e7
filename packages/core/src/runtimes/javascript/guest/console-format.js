/** util.format: a format string and its values, or only values. */
import { inspect } from './inspect.js';
import { formatNumber } from './inspect-text.js';
import { isProxy } from './value-types.js';

const SPECIFIER = /%[sdifjoOc%]/g;
const BUILT_IN = new Set(
  Object.getOwnPropertyNames(globalThis).filter((name) => /^[A-Z][a-zA-Z0-9]+$/.test(name)),
);
const PLAIN = { colors: false };

/** Whether the text of an object comes from a built-in `toString`, which shows less than its inspection. */
function hasBuiltInToString(value) {
  if (isProxy(value)) return true;
  if (typeof value.toString !== 'function') return true;
  if (Object.hasOwn(value, 'toString')) return false;
  let owner = value;
  do owner = Object.getPrototypeOf(owner);
  while (!Object.hasOwn(owner, 'toString'));
  const constructor = Object.getOwnPropertyDescriptor(owner, 'constructor')?.value;
  return typeof constructor === 'function' && BUILT_IN.has(constructor.name);
}

function toText(value) {
  if (typeof value === 'number') return formatNumber(PLAIN, value);
  if (typeof value === 'bigint') return `${value}n`;
  if (typeof value !== 'object' || value === null || !hasBuiltInToString(value)) return String(value);
  return inspect(value, { depth: 0, colors: false, compact: 3 });
}

function toJson(value) {
  try {
    return JSON.stringify(value);
  } catch (error) {
    if (/circular/i.test(error.message)) return '[Circular]';
    throw error;
  }
}

const number = (convert) => (value) =>
  typeof value === 'bigint'
    ? `${value}n`
    : typeof value === 'symbol'
      ? 'NaN'
      : formatNumber(PLAIN, convert(value));

const CONVERSIONS = {
  s: toText,
  d: number((value) => Number(value)),
  i: number((value) => Number.parseInt(value, 10)),
  f: (value) => (typeof value === 'symbol' ? 'NaN' : formatNumber(PLAIN, Number.parseFloat(value))),
  j: toJson,
  o: (value, options) => inspect(value, { ...options, showHidden: true, showProxy: true, depth: 4 }),
  O: (value, options) => inspect(value, options),
  c: () => '',
};

export function formatWithOptions(options, ...args) {
  return formatArguments(options, args);
}

/** Whether `String` gives the text of a value, whatever the options. Using it saves most of the cost. */
const isPlain = (value) => (typeof value === 'number' && value !== 0) || typeof value === 'boolean';

function formatArguments(options, args) {
  if (args.length === 1 && typeof args[0] === 'string') return args[0];
  let next = 0;
  let text = '';
  if (typeof args[0] === 'string' && args.length > 1) {
    next = 1;
    text = args[0].replace(SPECIFIER, (specifier) => {
      const conversion = specifier[1];
      if (conversion === '%') return '%';
      return next < args.length ? CONVERSIONS[conversion](args[next++], options) : specifier;
    });
  }
  for (; next < args.length; next++) {
    const value = args[next];
    text += next === 0 ? '' : ' ';
    text +=
      typeof value === 'string'
        ? value
        : isPlain(value) && options.colors !== true && options.numericSeparator !== true
          ? String(value)
          : inspect(value, options);
  }
  return text;
}

const NO_OPTIONS = {};
export const format = (args, options = NO_OPTIONS) => formatArguments(options, args);
