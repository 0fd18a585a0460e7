/** Intl.DisplayNames. The names are data, as ICU has them; variants of languages throw a RangeError. */
import { load } from '../../../node-modules.js';
import { canonicalTag, option, resolveLocale, supportedTags } from './locales.js';

/** The form of the codes of each type. */
const FORMS = {
  language: /^(?:[a-z]{2,3}|[a-z]{5,8})(?:-|$)/i,
  region: /^(?:[a-z]{2}|\d{3})$/i,
  script: /^[a-z]{4}$/i,
  currency: /^[a-z]{3}$/i,
  calendar: /^[a-z\d]{3,8}(?:-[a-z\d]{3,8})*$/i,
  dateTimeField: /^[a-zA-Z]+$/,
};
const TAG = /^(?<language>[a-z]+)(?:-(?<script>[A-Z][a-z]{3}))?(?:-(?<region>[A-Z]{2}|\d{3}))?(?<rest>-.*)?$/;
/** Values of the options, in the order in which they are read. */
const OPTIONS = {
  style: ['narrow', 'short', 'long'],
  type: Object.keys(FORMS),
  fallback: ['code', 'none'],
  languageDisplay: ['dialect', 'standard'],
};

const slots = new WeakMap();

function slotsOf(value, name) {
  const found = slots.get(value);
  if (found === undefined)
    throw new TypeError(
      `Method Intl.DisplayNames.prototype.${name} called on incompatible receiver ${value}`,
    );
  return found;
}

const invalid = () => new RangeError('invalid_argument');

function lookUp({ data, style }, type, code) {
  const index = load('node:internal/locale-data/names')[type].indexOf(code);
  if (index < 0) return undefined;
  const { long, ...others } = data[type];
  return others[style]?.[code] || long[index] || undefined;
}

/** A name inside the name of a language: its parentheses become brackets. */
const nested = (name) => name.replace(/[()（）]/g, (sign) => '[]［］'['()（）'.indexOf(sign)]);

function languageName(state, code) {
  const tag = canonicalTag(code).replace(/-[a-wyz\d]-.*$/, '');
  const { language, script, region: given, rest } = TAG.exec(tag)?.groups ?? {};
  const region = load('node:internal/locale-data/names').aliases[given] ?? given;
  if (rest !== undefined)
    throw new RangeError(`The sandbox does not support the variant ${rest.slice(1)} in Intl.DisplayNames`);
  const { data, style, languageDisplay } = state;
  if (languageDisplay === 'dialect' && data.dialects[style][tag] !== undefined)
    return data.dialects[style][tag];
  const name = lookUp(state, 'language', language);
  if (script === undefined && region === undefined) return name;
  if (name === undefined && state.fallback === 'none') return undefined;
  const part = (type, value) => nested(lookUp(state, type, value) ?? value);
  const pattern = data.patterns[`${script === undefined ? '' : 'S'}${region === undefined ? '' : 'R'}`];
  return pattern.replace(/\{(\w)\}/g, (_, letter) =>
    letter === 'L'
      ? nested(name ?? language)
      : letter === 'S'
        ? part('script', script)
        : part('region', region),
  );
}

export class DisplayNames {
  constructor(locales, options) {
    const { tag, name } = resolveLocale(locales, {});
    if (options === undefined) throw new TypeError('invalid_argument');
    if (typeof options !== 'object' || options === null)
      throw new TypeError('Incorrect options information provided');
    const read = Object.fromEntries(
      Object.entries(OPTIONS).map(([key, values]) => [
        key,
        option(options, key, values, undefined, 'Intl.DisplayNames'),
      ]),
    );
    if (read.type === undefined) throw new TypeError('invalid_argument');
    const { style = 'long', type, fallback = 'code', languageDisplay = 'dialect' } = read;
    const data = load(`node:internal/locale-data/names-${name.toLowerCase()}`);
    slots.set(this, { tag, style, type, fallback, languageDisplay, data });
  }

  of(code) {
    const state = slotsOf(this, 'of');
    const text = `${code}`;
    if (!FORMS[state.type].test(text)) throw invalid();
    const { type, fallback } = state;
    if (type === 'calendar' && load('node:internal/locale-data/names').calendar.indexOf(text) < 0)
      throw new RangeError(`The sandbox has no name for the calendar ${text}`);
    const name = type === 'language' ? languageName(state, text) : lookUp(state, type, text);
    if (type === 'dateTimeField' && name === undefined) throw invalid();
    if (name !== undefined || fallback === 'none') return name;
    return type === 'language' ? (load('node:internal/locale-data/names').aliases[text] ?? text) : text;
  }

  resolvedOptions() {
    const { tag: locale, style, type, fallback, languageDisplay } = slotsOf(this, 'resolvedOptions');
    return { locale, style, type, fallback, ...(type === 'language' && { languageDisplay }) };
  }

  static supportedLocalesOf(locales) {
    return supportedTags(locales);
  }
}
Object.defineProperty(DisplayNames.prototype, Symbol.toStringTag, {
  value: 'Intl.DisplayNames',
  configurable: true,
});
