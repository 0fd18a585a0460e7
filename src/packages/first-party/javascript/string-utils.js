/** String functions. Lengths are counted in characters, not in UTF-16 code units. */

const text = (value) => (value === undefined || value === null ? '' : `${value}`);
const WORD = /\p{Lu}+(?=\p{Lu}\p{Ll})|\p{Lu}?\p{Ll}+|\p{Lu}+|\p{N}+|[\p{Lo}\p{Lm}]+/gu;
/** Combining marks, such as accents after normalization to NFD. */
const MARK = /\p{M}/gu;

/** Splits a text into words; recognises camelCase, snake_case and kebab-case. */
export const words = (value) => text(value).match(WORD) ?? [];

/** Counts words separated by white space. */
export const wordCount = (value) => text(value).match(/\S+/g)?.length ?? 0;

export function upperFirst(value) {
  const [first = '', ...rest] = text(value);
  return first.toUpperCase() + rest.join('');
}

export function lowerFirst(value) {
  const [first = '', ...rest] = text(value);
  return first.toLowerCase() + rest.join('');
}

export const capitalize = upperFirst;

const lowerWords = (value) => words(value).map((word) => word.toLowerCase());

export const camelCase = (value) =>
  lowerWords(value)
    .map((word, i) => (i === 0 ? word : upperFirst(word)))
    .join('');
export const snakeCase = (value) => lowerWords(value).join('_');
export const kebabCase = (value) => lowerWords(value).join('-');

/** Converts a text to lower case without accents, with hyphens between words, for URLs and file names. */
export function slugify(value) {
  const plain = text(value).normalize('NFD').replace(MARK, '').replaceAll('ß', 'ss').toLowerCase();
  return plain.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '');
}

/** Shortens a text to at most `length` characters, including the suffix. */
export function truncate(value, length, suffix = '...') {
  const all = [...text(value)];
  if (all.length <= length) return all.join('');
  const end = [...suffix].slice(0, length);
  return all.slice(0, length - end.length).join('') + end.join('');
}

function padding(count, chars) {
  const unit = [...text(chars)];
  return unit.length === 0 ? '' : Array.from({ length: count }, (_, i) => unit[i % unit.length]).join('');
}

const missing = (value, length) => Math.max(0, length - [...text(value)].length);

export const padStart = (value, length, chars = ' ') => padding(missing(value, length), chars) + text(value);
export const padEnd = (value, length, chars = ' ') => text(value) + padding(missing(value, length), chars);

/** Pads a text on both sides. An odd character goes to the end. */
export function pad(value, length, chars = ' ') {
  const count = missing(value, length);
  return padding(Math.floor(count / 2), chars) + text(value) + padding(Math.ceil(count / 2), chars);
}

/** Whether a text reads the same in both directions, ignoring everything but letters and digits. */
export function isPalindrome(value) {
  const letters = [...text(value).toLowerCase()].filter((one) => /[\p{L}\p{N}]/u.test(one));
  return letters.every((one, i) => one === letters[letters.length - 1 - i]);
}

export default {
  words,
  wordCount,
  upperFirst,
  lowerFirst,
  capitalize,
  camelCase,
  snakeCase,
  kebabCase,
  slugify,
  truncate,
  pad,
  padStart,
  padEnd,
  isPalindrome,
};
