/** Intl.NumberFormat, PluralRules, RelativeTimeFormat and ListFormat: the implementations of FormatJS with data on demand. */

import List from '@formatjs/intl-listformat';
import { NumberFormat as Numbers } from '@formatjs/intl-numberformat';
import { PluralRules as Plurals } from '@formatjs/intl-pluralrules';
import RelativeTimes from '@formatjs/intl-relativetimeformat';
import { defineHidden } from '../../../define.js';
import { load } from '../../../node-modules.js';
import { refuseRanges, resolveLocale, supportedTags } from './locales.js';

/** Wraps an implementation: resolves the locale, adds its data, and rejects what the data does not cover. */
function define(Original, name, kind, isCallable = false) {
  const known = new Set();
  function construct(target, locales, options) {
    if (target === undefined && !isCallable) throw new TypeError(`Constructor Intl.${name} requires 'new'`);
    const { tag, name: data } = resolveLocale(locales, { nu: ['latn'] });
    if (options?.numberingSystem !== undefined && options.numberingSystem !== 'latn')
      throw new RangeError(`The sandbox does not support numberingSystem: '${options.numberingSystem}'`);
    if (options?.notation === 'compact') {
      if (options.style === 'percent')
        throw new RangeError('The sandbox does not support compact percentages');
      const { minimumFractionDigits, maximumFractionDigits } = options;
      if (minimumFractionDigits !== undefined && maximumFractionDigits === undefined)
        throw new RangeError(
          "The sandbox requires maximumFractionDigits if minimumFractionDigits is used with notation: 'compact'",
        );
    }
    if (!known.has(tag)) {
      const module = load(`node:internal/locale-data/${kind}-${data.toLowerCase()}`);
      Original.__addLocaleData({ data: module, locale: tag });
      known.add(tag);
    }
    return new Original(tag, options);
  }
  const Wrapped = function (locales = undefined, options = undefined) {
    return construct(new.target, locales, options);
  };
  Object.defineProperty(Wrapped, 'name', { value: name, configurable: true });
  Object.defineProperty(Wrapped, 'length', { value: 0, configurable: true });
  Wrapped.prototype = Original.prototype;
  defineHidden(Original.prototype, { constructor: Wrapped });
  Wrapped.supportedLocalesOf = supportedTags;
  return Wrapped;
}

export const NumberFormat = define(Numbers, 'NumberFormat', 'number', true);
export const PluralRules = define(Plurals, 'PluralRules', 'plural');
refuseRanges(NumberFormat, ['formatRange', 'formatRangeToParts']);
refuseRanges(PluralRules, ['selectRange']);
export const RelativeTimeFormat = define(RelativeTimes, 'RelativeTimeFormat', 'relative');
export const ListFormat = define(List, 'ListFormat', 'list');
