/**
 * Writes the data of Intl.DisplayNames to src/runtimes/javascript/guest/locale-data, from the ICU of the Node.js that runs
 * this script: `names` lists the codes, and `names-LOCALE` has the name of each code in the same order.
 */
import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { LOCALES } from '../src/runtimes/javascript/guest/node/internal/intl/locales.js';

const folder = fileURLToPath(new URL('../src/runtimes/javascript/guest/locale-data/', import.meta.url));
const write = (name, data) => writeFileSync(`${folder}${name}.json`, `${JSON.stringify(data)}\n`);
const LETTERS = [...'abcdefghijklmnopqrstuvwxyz'];
const pairs = LETTERS.flatMap((a) => LETTERS.map((b) => a + b));
const triples = pairs.flatMap((a) => LETTERS.map((b) => a + b));
const numbers = Array.from({ length: 1000 }, (_, i) => String(i).padStart(3, '0'));
const FIELDS =
  'era year quarter month weekOfYear weekday day dayPeriod hour minute second timeZoneName'.split(' ');
const STYLES = ['long', 'short', 'narrow'];

/** Names the code, or returns undefined. Some codes are not valid. */
function nameOf(names, code) {
  try {
    return names.of(code);
  } catch {
    return undefined;
  }
}
const namesOf = (locale, type, style = 'long', languageDisplay = 'standard') =>
  new Intl.DisplayNames(locale, {
    type,
    style,
    fallback: 'none',
    ...(type === 'language' && { languageDisplay }),
  });

const known = (type, codes) => {
  const english = namesOf('en', type);
  return codes.filter((code) => nameOf(english, code) !== undefined);
};

const CODES = {
  region: known('region', [...pairs.map((pair) => pair.toUpperCase()), ...numbers]),
  language: known('language', [...pairs, ...triples]),
  currency: known(
    'currency',
    triples.map((code) => code.toUpperCase()),
  ),
  // Four letters, of which ICU knows the registered ones.
  script: known('script', triples.flatMap((triple) => LETTERS.map((letter) => triple + letter)).map(title)),
  calendar: known('calendar', Intl.supportedValuesOf('calendar')),
  dateTimeField: FIELDS,
};

function title(code) {
  return code[0].toUpperCase() + code.slice(1);
}

/** Languages of which some varieties have names of their own. */
const VARIETIES = 'ar az de en es fa fr hi nds nl pt ro sr sw zh'
  .split(' ')
  .flatMap((language) => [
    ...CODES.region.map((region) => `${language}-${region}`),
    ...CODES.script.map((script) => `${language}-${script}`),
    ...['Hans', 'Hant'].flatMap((script) => CODES.region.map((region) => `${language}-${script}-${region}`)),
  ]);

/** Names of varieties such as "American English", by tag. */
function dialects(locale, style) {
  const [dialect, standard] = ['dialect', 'standard'].map((display) =>
    namesOf(locale, 'language', style, display),
  );
  const found = {};
  for (const tag of [...CODES.language, ...VARIETIES]) {
    const name = nameOf(dialect, tag);
    if (name !== nameOf(standard, tag)) found[tag] = name;
  }
  return found;
}

/** How the name of a language is combined with those of a script and a region. */
function patterns(locale) {
  const name = namesOf(locale, 'language');
  const [language, script, region] = [
    name.of('it'),
    namesOf(locale, 'script').of('Latn'),
    namesOf(locale, 'region').of('IT'),
  ];
  return Object.fromEntries(
    [
      ['S', 'it-Latn'],
      ['R', 'it-IT'],
      ['SR', 'it-Latn-IT'],
    ].map(([key, tag]) => {
      // The names of the script and the region may contain that of the language.
      const [head, tail] = [name.of(tag).slice(0, language.length), name.of(tag).slice(language.length)];
      if (head !== language) throw new Error(`${locale}: ${tag} is ${name.of(tag)}`);
      return [key, `{L}${tail.replace(region, '{R}').replace(script, '{S}')}`];
    }),
  );
}

const dataOf = (locale) => {
  const data = { patterns: patterns(locale), dialects: {} };
  for (const [type, codes] of Object.entries(CODES)) {
    data[type] = {};
    for (const style of STYLES) {
      const names = namesOf(locale, type, style);
      const long = data[type].long;
      const list = codes.map((code) => nameOf(names, code) ?? 0);
      // Most short names are the same as the long ones.
      data[type][style] = long === undefined ? list : list.map((name, i) => (name === long[i] ? 1 : name));
      if (style !== 'long' && data[type][style].every((name) => name === 1)) delete data[type][style];
      else if (style !== 'long')
        data[type][style] = Object.fromEntries(
          data[type][style].flatMap((name, i) => (name === 1 ? [] : [[codes[i], name]])),
        );
    }
  }
  for (const style of STYLES) data.dialects[style] = dialects(locale, style);
  return data;
};

/** Languages and regions that have a new code, which language tags use instead. */
const ALIASES = Object.fromEntries(
  [
    ...CODES.language.map((language) => [language, new Intl.Locale(language).language]),
    ...CODES.region.map((region) => [region, new Intl.Locale(`und-${region}`).region]),
  ].filter(([code, current]) => code !== current),
);

write('names', { ...CODES, aliases: ALIASES });
for (const { name } of LOCALES) write(`names-${name.toLowerCase()}`, dataOf(name));
