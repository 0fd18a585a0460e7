/** The global `Intl` and the methods of other built-in objects that depend on a locale. Each part is loaded on first use. */
import { defineHidden, defineLazily, defineTag } from '../../define.js';
import { load } from '../../node-modules.js';
import { getCanonicalLocales, Locale, resolveLocale } from './intl/locales.js';

/** Module of each constructor. */
const CONSTRUCTORS = {
  Collator: 'collator',
  DateTimeFormat: 'date-time-format',
  ListFormat: 'number-format',
  NumberFormat: 'number-format',
  PluralRules: 'number-format',
  RelativeTimeFormat: 'number-format',
  Segmenter: 'segmenter',
};

const part = (name) => load(`node:internal/intl/${name}`);

function supportedValuesOf(key) {
  if (key === 'timeZone') return part('time-zones').timeZones();
  if (key === 'calendar') return ['gregory'];
  if (key === 'numberingSystem') return ['latn'];
  throw new RangeError(`The sandbox cannot list the values of ${key}`);
}

class DisplayNames {
  constructor() {
    throw new RangeError(
      'The sandbox has no data for Intl.DisplayNames. Use a table of the names that the program needs',
    );
  }
  static supportedLocalesOf() {
    return [];
  }
}

export const Intl = {};
defineHidden(Intl, { getCanonicalLocales, supportedValuesOf, Locale, DisplayNames });
for (const [name, module] of Object.entries(CONSTRUCTORS)) defineLazily(Intl, name, () => part(module)[name]);
defineTag(Intl, 'Intl');

/** Languages with a dotted and a dotless i. */
const TURKIC = /^(?:tr|az)(?:-|$)/;
/** Other languages whose rules for upper and lower case differ from those of Unicode. */
const OWN_CASE = /^(?:lt|el|hy)(?:-|$)/;

/** What to replace before the engine changes the case of a Turkic text. An `I` with a dot above it becomes an `i`. */
const TURKIC_RULES = {
  toLocaleUpperCase: (text) => text.replaceAll('i', 'İ'),
  toLocaleLowerCase: (text) =>
    text
      .replace(/I(?=\p{Mn}*?\u0307)(?<between>(?:(?!\u0307)\p{Mn})*)\u0307/gu, 'i$<between>')
      .replaceAll('I', 'ı')
      .replaceAll('İ', 'i'),
};

const numberFormats = new Map();

/** The methods, by the name of their prototype. `base` is the engine's method. */
export const methods = {
  numberToLocaleString(value, locales, options) {
    const isSimple = options === undefined && (locales === undefined || typeof locales === 'string');
    let format = isSimple ? numberFormats.get(`${locales}`) : undefined;
    if (format === undefined) {
      format = new (part('number-format').NumberFormat)(locales, options);
      if (isSimple) numberFormats.set(`${locales}`, format);
    }
    return format.format(value);
  },
  dateToLocaleString: (...args) => part('date-time-format').dateToLocaleString(...args),
  localeCompare: (...args) => part('collator').localeCompare(...args),
  toLocaleCase(text, locales, base) {
    const [tag] = getCanonicalLocales(locales);
    if (tag !== undefined && TURKIC.test(tag)) return base.call(TURKIC_RULES[base.name](`${text}`));
    if (tag !== undefined && OWN_CASE.test(tag)) resolveLocale(tag, {});
    return base.call(text);
  },
};
