/** The locales that Intl has data for. Other locales throw a RangeError, because their output would be wrong. */
import { defineHidden, defineTag } from '../../../define.js';

/** `name` is the name of the data; `tags` are other tags with the same conventions. */
export const LOCALES =
  `en en-US|en-GB|en-AU|en-CA|en-IN|de de-DE|de-AT|de-CH|fr fr-FR|fr-CA|fr-CH|es es-ES|es-MX|it it-IT|pt pt-BR|pt-PT|ja ja-JP|zh zh-CN zh-Hans zh-Hans-CN|zh-Hant zh-TW zh-Hant-TW`
    .split('|')
    .map((row) => row.split(' '))
    .map(([name, ...tags]) => ({ name, tags }));

export const DEFAULT_LOCALE = 'en-US';
/** A tag that is not a locale. Programs use it to print large numbers with all digits, in the default locale. */
const NO_LOCALE = 'fullwide';
const names = new Map(LOCALES.flatMap(({ name, tags = [] }) => [name, ...tags].map((tag) => [tag, name])));
const TAG =
  /^(?<language>[a-z]{2,3}|[a-z]{5,8})(?:-(?<script>[a-z]{4}))?(?:-(?<region>[a-z]{2}|\d{3}))?(?<variants>(?:-(?:[a-z\d]{5,8}|\d[a-z\d]{3}))*)(?<extensions>(?:-[a-wyz\d](?:-[a-z\d]{2,8})+)*)(?:-x(?:-[a-z\d]{1,8})+)?$/i;
const MAX_TAG = 200;

/** The canonical form of a language tag: the case of its parts and the order of its Unicode extension. */
export function canonicalTag(tag) {
  const text = `${tag}`;
  const match = text.length > MAX_TAG ? null : TAG.exec(text);
  if (match === null) throw new RangeError(`Incorrect locale information provided`);
  const { language, script, region, variants, extensions } = match.groups;
  const parts = [language.toLowerCase()];
  if (script) parts.push(script[0].toUpperCase() + script.slice(1).toLowerCase());
  if (region) parts.push(region.toUpperCase());
  return parts.join('-') + variants.toLowerCase() + extensions.toLowerCase();
}

export function getCanonicalLocales(locales) {
  if (locales === undefined) return [];
  if (locales === null) throw new TypeError('Cannot convert undefined or null to object');
  const list = typeof locales === 'string' || locales instanceof Locale ? [locales] : Array.from(locales);
  const found = [];
  for (const one of list) {
    if (typeof one !== 'string' && (typeof one !== 'object' || one === null)) {
      throw new TypeError('Incorrect locale information provided');
    }
    const tag = canonicalTag(one);
    if (!found.includes(tag)) found.push(tag);
  }
  return found;
}

/** The keywords of the Unicode extension of a tag, such as `{ nu: 'latn' }`. */
export function keywords(tag) {
  const found = {};
  const extension = /-u((?:-[a-z\d]{2,8})+)/.exec(tag)?.[1] ?? '';
  let key;
  for (const part of extension.split('-').slice(1)) {
    if (part.length === 2) {
      key = part;
      found[key] = '';
    } else if (key !== undefined) found[key] += found[key] === '' ? part : `-${part}`;
  }
  return found;
}

const withoutExtension = (tag) => tag.replace(/-[a-wyz\d]-.*$/, '').replace(/-x-.*$/, '');
const dataName = (tag) => names.get(withoutExtension(tag));

export const supportedTags = (locales) => getCanonicalLocales(locales).filter((tag) => dataName(tag));

/**
 * The locale to use: its tag without the extension, the name of its data, and the keywords of the extension. The first
 * requested locale must have data. Keywords other than `supported` throw.
 */
export function resolveLocale(locales, supported) {
  const [first = DEFAULT_LOCALE] = getCanonicalLocales(locales);
  const requested = first === NO_LOCALE ? DEFAULT_LOCALE : first;
  const name = dataName(requested);
  if (name === undefined) {
    const known = [...names.keys()].filter((tag) => tag.length <= 5).join(', ');
    throw new RangeError(`The sandbox has no data for the locale ${requested}. Available: ${known}`);
  }
  const found = keywords(requested);
  for (const [key, value] of Object.entries(found)) {
    if (supported[key] !== undefined && (supported[key] === true || supported[key].includes(value))) continue;
    throw new RangeError(`The sandbox does not support the keyword ${key}-${value} of ${requested}`);
  }
  return { tag: withoutExtension(requested), name, keywords: found };
}

/** Part of Intl.Locale: the parts of a tag. */
export class Locale {
  #tag;
  constructor(tag, options = {}) {
    if (typeof tag !== 'string' && !(tag instanceof Locale))
      throw new TypeError("First argument to Intl.Locale constructor can't be empty or missing");
    const { language, script, region } = TAG.exec(canonicalTag(tag)).groups;
    const base = [options.language ?? language, options.script ?? script, options.region ?? region];
    this.#tag = canonicalTag(
      base.filter((part) => part !== undefined).join('-') + (/-u-.*$/.exec(canonicalTag(tag))?.[0] ?? ''),
    );
  }
  get baseName() {
    return withoutExtension(this.#tag);
  }
  get language() {
    return TAG.exec(this.#tag).groups.language;
  }
  get script() {
    return TAG.exec(this.#tag).groups.script;
  }
  get region() {
    return TAG.exec(this.#tag).groups.region;
  }
  toString() {
    return this.#tag;
  }
}
defineTag(Locale.prototype, 'Intl.Locale');

/** Reads an option as ECMA-402 does. */
export function option(options, name, values, fallback) {
  const value = options[name];
  if (value === undefined) return fallback;
  const text = `${value}`;
  if (values !== undefined && !values.includes(text))
    throw new RangeError(`Value ${text} out of range for Intl options property ${name}`);
  return text;
}

/** Gives a class methods for ranges, which throw: the sandbox has no data for them. */
export function refuseRanges({ prototype, name }, methods) {
  for (const method of methods) {
    const value = () => {
      throw new RangeError(
        `${name}.${method} is not available in the sandbox: format both values and join them`,
      );
    };
    defineHidden(prototype, { [method]: value });
  }
}
