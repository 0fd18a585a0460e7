/**
 * Intl.Collator: compares strings on three levels, as the Unicode Collation Algorithm does: letters, accents, and case.
 * The order of ASCII characters is part of this file; the data for all others is loaded on first use.
 */
import { defineHidden, defineTag } from '../../../define.js';
import { load } from '../../../node-modules.js';
import { option, resolveLocale, supportedTags } from './locales.js';

/** ASCII in the order of the Unicode collation. The case of a letter is its tertiary difference. */
const ASCII = '\t\n\v\f\r _-,;:!?.\'"()[]{}@*/\\&#%`^+<=>|~$0123456789abcdefghijklmnopqrstuvwxyz';
const LOWER_A = ASCII.indexOf('a');
const asciiWeights = new Uint8Array(128);
for (let i = 0; i < ASCII.length; i++) {
  asciiWeights[ASCII.charCodeAt(i)] = i + 1;
  if (i >= LOWER_A) asciiWeights[ASCII.charCodeAt(i) - 32] = i + 1;
}
const IS_ASCII = /^[\x00-\x7f]*$/;

/** Compares ASCII strings on the first and the third level, the only ones on which they differ. */
function compareAscii(x, y, hasCase, upperFirst) {
  let [i, j] = [0, 0];
  let byCase = 0;
  for (;;) {
    let [a, b] = [0, 0];
    while (i < x.length && a === 0) a = asciiWeights[x.charCodeAt(i++)];
    while (j < y.length && b === 0) b = asciiWeights[y.charCodeAt(j++)];
    if (a !== b) return a < b ? -1 : 1;
    if (a === 0) return hasCase ? byCase : 0;
    if (byCase === 0 && a > LOWER_A) {
      const [p, q] = [x.charCodeAt(i - 1), y.charCodeAt(j - 1)];
      if (p !== q) byCase = p > q === !upperFirst ? -1 : 1;
    }
  }
}

const HAN = /\p{Script=Han}/u;
/** Weights: those of characters that are not letters, then Latin, Kana in Japanese, Han in Chinese and Japanese, and others. */
const GROUP = 0x100000;

let root;
/** Primary, secondary and tertiary weight of each character of the data. */
function rootWeights() {
  if (root !== undefined) return root;
  const data = load('node:internal/locale-data/collation');
  const weights = new Map();
  let [primary, secondary, tertiary] = [0, 0, 0];
  for (const text of data.order) {
    if (text === '\u0001') {
      primary++;
      secondary = 0;
      tertiary = -1;
    } else if (text === '\u0002') {
      secondary++;
      tertiary = -1;
    } else weights.set(text, [primary, secondary, ++tertiary]);
  }
  const marks = new Map();
  // The secondary weights of letters are below those of marks.
  let mark = 1000;
  for (const text of data.marks) {
    if (text === '\u0002') mark++;
    else marks.set(text, mark);
  }
  root = {
    weights,
    marks,
    ignored: new Set(data.ignored),
    expansions: data.expansions,
    firstLetter: weights.get('a')[0],
    lastLatin: weights.get('α')[0] - 1,
    kana: [weights.get('ぁ')?.[0] ?? weights.get('あ')[0], weights.get('ん')[0]],
  };
  return root;
}

const hanOrders = new Map();
/** The position of each Han character in the order of a locale. */
function hanOrder(name) {
  if (!hanOrders.has(name)) {
    const { han } = load(`node:internal/locale-data/collation-${name}`);
    hanOrders.set(name, new Map(Array.from(han, (text, i) => [text, i])));
  }
  return hanOrders.get(name);
}

/** How each language differs from the order of the Unicode collation. */
const TAILORING = {
  ja: { han: 'ja' },
  zh: { han: 'zh' },
  'zh-Hant': { han: 'zh-hant' },
  es: { hasEnye: true },
};
const HAN_AFTER_CODE_POINTS = 30_000;

function hanWeight(text, tailoring) {
  const point = text.codePointAt(0);
  const found = tailoring?.han === undefined ? undefined : hanOrder(tailoring.han).get(text);
  const isCore = (point >= 0x4e00 && point <= 0x9fff) || (point >= 0xfa0e && point <= 0xfa29);
  const position = found ?? HAN_AFTER_CODE_POINTS + (isCore ? point : 0x20000 + point);
  const group = tailoring?.han === undefined ? 9 : tailoring.han === 'ja' ? 4 : 1;
  return group * GROUP + position;
}

function groupOf(primary, tailoring) {
  const { firstLetter, lastLatin, kana } = root;
  if (primary < firstLetter) return 0;
  if (primary <= lastLatin) return 2;
  return tailoring?.han === 'ja' && primary >= kana[0] && primary <= kana[1] ? 3 : 5;
}

const LIGATURE = /[ßẞæÆœŒ]/;
const unsupportedText = (text) =>
  new RangeError(`Intl.Collator of the sandbox cannot compare the character ${JSON.stringify(text)}`);

/** The weights of a string on the three levels. */
function weightsOf(source, tailoring, isNumeric) {
  const { weights, marks, ignored, expansions } = rootWeights();
  const [first, second, third] = [[], [], []];
  const text = Array.from(source.normalize('NFD'));
  const add = (primary, secondary, tertiary) => {
    first.push(primary);
    second.push(secondary);
    third.push(tertiary);
  };
  for (let i = 0; i < text.length; i++) {
    const one = text[i];
    if (isNumeric && one >= '0' && one <= '9') {
      let digits = '';
      while (text[i] >= '0' && text[i] <= '9') digits += text[i++];
      i--;
      const value = digits.replace(/^0+(?=.)/, '');
      // A longer number is larger, so its length precedes its digits.
      add(weights.get('0')[0] + value.length / 1e6, 0, 0);
      for (const digit of value) add(weights.get(digit)[0], 0, 0);
      continue;
    }
    const mark = marks.get(one);
    if (mark !== undefined) {
      if (tailoring?.hasEnye && one === '\u0303' && /^n$/i.test(text[i - 1] ?? ''))
        first[first.length - 1] += 0.5;
      else {
        second.push(mark);
        third.push(0);
      }
      continue;
    }
    if (ignored.has(one)) continue;
    if (HAN.test(one) && !weights.has(one)) {
      add(hanWeight(one, tailoring), 0, 0);
      continue;
    }
    const long = expansions[one];
    for (const part of long === undefined ? [one] : Array.from(long)) {
      const found = weights.get(part);
      if (found === undefined) throw unsupportedText(one);
      if (tailoring?.han === 'ja' && /[ー々ゝゞヽヾ]/.test(one)) throw unsupportedText(one);
      add(
        groupOf(found[0], tailoring) * GROUP + found[0],
        // A ligature differs from its letters like an accent, a compatibility character like the case.
        found[1] + (LIGATURE.test(one) ? 0.5 : 0),
        found[2] + (long === undefined ? 0 : 100),
      );
    }
  }
  return [first, second, third];
}

function compareLevel(a, b) {
  for (let i = 0; i < a.length && i < b.length; i++) if (a[i] !== b[i]) return a[i] < b[i] ? -1 : 1;
  return Math.sign(a.length - b.length);
}

const LEVELS = { base: 1, accent: 2, case: 3, variant: 3 };

function compareStrings({ tailoring, sensitivity, isNumeric, caseFirst, ignorePunctuation }, x, y) {
  if (x === y) return 0;
  const level = LEVELS[sensitivity];
  if (IS_ASCII.test(x) && IS_ASCII.test(y) && !isNumeric && !ignorePunctuation)
    return compareAscii(x, y, level === 3, caseFirst === 'upper');
  const clean = (text) => (ignorePunctuation ? text.replace(/[\p{P}\s]/gu, '') : text);
  const [a, b] = [clean(x), clean(y)].map((text) => weightsOf(text, tailoring, isNumeric));
  const byLetter = compareLevel(a[0], b[0]);
  if (byLetter !== 0 || level === 1) return byLetter;
  const byAccent = sensitivity === 'case' ? 0 : compareLevel(a[1], b[1]);
  if (byAccent !== 0 || level === 2) return byAccent;
  return (caseFirst === 'upper' ? -1 : 1) * compareLevel(a[2], b[2]);
}

function initialize(locales, given) {
  const options = given === undefined ? {} : Object(given);
  if (given === null) throw new TypeError('Cannot convert undefined or null to object');
  const { tag, name, keywords } = resolveLocale(locales, {
    kn: true,
    kf: ['upper', 'lower', 'false', ''],
    co: ['standard', 'default'],
  });
  if (name === 'fr-CA') throw new RangeError('The sandbox has no collation data for fr-CA. Use fr');
  const numeric =
    options.numeric === undefined
      ? keywords.kn !== undefined && keywords.kn !== 'false'
      : Boolean(options.numeric);
  return {
    tag,
    tailoring: TAILORING[name] ?? TAILORING[name.split('-')[0]],
    usage: option(options, 'usage', ['sort', 'search'], 'sort'),
    sensitivity: option(options, 'sensitivity', Object.keys(LEVELS), 'variant'),
    isNumeric: numeric,
    caseFirst: option(options, 'caseFirst', ['upper', 'lower', 'false'], keywords.kf || 'false'),
    ignorePunctuation: Boolean(options.ignorePunctuation),
  };
}

const slots = new WeakMap();
function slotsOf(collator, method) {
  const found = slots.get(collator);
  if (found === undefined)
    throw new TypeError(
      `Method Intl.Collator.prototype.${method} called on incompatible receiver ${collator}`,
    );
  return found;
}

export function Collator(locales = undefined, options = undefined) {
  const collator = new.target === undefined ? Object.create(Collator.prototype) : this;
  slots.set(collator, initialize(locales, options));
  return collator;
}

const methods = {
  get compare() {
    const state = slotsOf(this, 'compare');
    state.compare ??= (x, y) => compareStrings(state, `${x}`, `${y}`);
    return state.compare;
  },
  resolvedOptions() {
    const { tag, usage, sensitivity, ignorePunctuation, isNumeric, caseFirst } = slotsOf(
      this,
      'resolvedOptions',
    );
    return {
      locale: tag,
      usage,
      sensitivity,
      ignorePunctuation,
      collation: 'default',
      numeric: isNumeric,
      caseFirst,
    };
  },
};
defineHidden(Collator.prototype, methods);
defineTag(Collator.prototype, 'Intl.Collator');
Collator.supportedLocalesOf = supportedTags;

const cache = new Map();

/** String.prototype.localeCompare. */
export function localeCompare(x, y, locales, options) {
  const key =
    options === undefined && (locales === undefined || typeof locales === 'string')
      ? `${locales}`
      : undefined;
  let state = key === undefined ? undefined : cache.get(key);
  if (state === undefined) {
    state = initialize(locales, options);
    if (key !== undefined) cache.set(key, state);
  }
  return compareStrings(state, x, y);
}
