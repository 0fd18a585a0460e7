/**
 * Writes the data of Intl.Collator to packages/core/src/runtimes/javascript/guest/locale-data, from the ICU of the Node.js that runs this script:
 * the characters in their order, with a mark before each that differs from the one before in more than its case.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const folder = fileURLToPath(
  new URL('../packages/core/src/runtimes/javascript/guest/locale-data/', import.meta.url),
);
const write = (name, data) => writeFileSync(`${folder}${name}.json`, `${JSON.stringify(data)}\n`);
const collator = (locale, sensitivity = 'variant') => new Intl.Collator(locale, { sensitivity }).compare;
const [base, accent, variant] = ['base', 'accent', 'variant'].map((level) => collator('en', level));

const isHan = (text) => /^\p{Script=Han}$/u.test(text);
/** Ligatures and letters that are sorted like several letters, besides those with a compatibility decomposition. */
const LIGATURES = { ß: 'ss', ẞ: 'SS', æ: 'ae', Æ: 'AE', œ: 'oe', Œ: 'OE' };

const singles = [];
const marks = [];
const ignored = [];
const expansions = {};
for (let point = 0; point < 0xffff; point++) {
  const text = String.fromCodePoint(point);
  if (!/^\p{Assigned}$/u.test(text) || /^[\p{Cs}\p{Co}]$/u.test(text)) continue;
  if (text.normalize('NFD') !== text || (isHan(text) && /\p{Lo}/u.test(text))) continue;
  if (point >= 0xac00 && point <= 0xd7a3) continue;
  if (variant(text, '') === 0) {
    ignored.push(text);
    continue;
  }
  if (/^\p{M}$/u.test(text) && base(`a${text}`, 'a') === 0) {
    marks.push(text);
    continue;
  }
  const long = LIGATURES[text] ?? text.normalize('NFKD');
  if ([...long].length > 1) {
    if (base(text, long) !== 0) continue;
    expansions[text] = long;
  } else singles.push(text);
}
singles.sort(variant);
let order = '';
let previous = '';
for (const text of singles) {
  // \u0001 begins a new primary weight, \u0002 a new secondary weight.
  const level =
    previous === '' || base(previous, text) !== 0 ? '\u0001' : accent(previous, text) !== 0 ? '\u0002' : '';
  order += level + text;
  previous = text;
}
marks.sort((a, b) => variant(`a${a}`, `a${b}`));
let markOrder = '';
previous = '';
for (const text of marks) {
  markOrder += (previous !== '' && accent(`a${previous}`, `a${text}`) === 0 ? '' : '\u0002') + text;
  previous = text;
}
write('collation', { order, marks: markOrder, ignored: ignored.join(''), expansions });

const han = [];
for (let point = 0x4e00; point <= 0x9fff; point++) {
  const text = String.fromCodePoint(point);
  if (/^\p{Assigned}$/u.test(text)) han.push(text);
}
for (const locale of ['ja', 'zh', 'zh-Hant']) {
  const compare = collator(locale);
  const sorted = [...han].sort(compare);
  // Characters that the locale does not order follow in the order of their code points.
  let end = sorted.length;
  while (end > 1 && sorted[end - 2] < sorted[end - 1]) end--;
  write(`collation-${locale.toLowerCase()}`, { han: sorted.slice(0, end).join('') });
}
